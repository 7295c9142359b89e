//! Execution of due runs, and recovery of interrupted runs.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::{MutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::{CallJournal, PhaseTracker};

use super::SchedulesInner;
use super::record::{RunOutcome, Schedule, run_key};
use super::status::{notification_text, result_excerpt};
use super::time::{ScheduleTime, format_moment};
use super::transitions::InterruptedRun;
use crate::Action;
use crate::action::unrecorded_start;
use crate::ledger::{CANCEL_WAIT, Ledger, Live, Policy, track_waiting};
use crate::store::StoreError;

type LiveSchedule = Live<Schedule, ScheduleTime>;

/// The time after which a run is retried that another process or the store has prevented.
const RETRY: SignedDuration = SignedDuration::from_secs(15);

impl Policy<Schedule, ScheduleTime, Timestamp> for SchedulesInner {
    fn ledger(&self) -> &Ledger<Schedule, ScheduleTime> {
        &self.ledger
    }

    fn process(self: &Arc<Self>, live: Arc<LiveSchedule>) {
        tokio::spawn(Arc::clone(self).process_due(live));
    }

    async fn maintain(self: Arc<Self>, was_set_back: bool) {
        if was_set_back {
            self.reset_all().await;
        }
        if self.ledger.services.is_shared() {
            self.wake_all();
        }
        self.ledger.save_unsaved().await;
    }
}

impl SchedulesInner {
    /// Processes a schedule that is due: starts a run, counts the others, or removes the schedule after its retention
    /// time.
    async fn process_due(self: Arc<Self>, live: Arc<LiveSchedule>) {
        let permit = Semaphore::acquire_owned(Arc::clone(&self.permits));
        let services = &self.ledger.services;
        let Some(Ok(permit)) = services.closing().run_until_cancelled(permit).await else { return };
        if live.is_removed() || self.ledger.is_ending() {
            return;
        }
        let change_lock = live.change_lock.lock().await;
        if !self.acquire(&live).await {
            return self.wake_later(&live);
        }
        self.resolve_interrupted(&live, &change_lock).await;
        let now = services.clock.now();
        let mut schedule = Schedule::clone(&live.task());
        let due = schedule.take_due(&live.local, now);
        let Some(due) = due else { return self.save_without_run(&live, schedule, now).await };
        let may_repeat = schedule.action.may_repeat(services, &schedule.owner);
        schedule.start(&live.id, due, now, may_repeat);
        // The start is persisted first, so that a run that may not be repeated is not repeated after a crash. A
        // schedule that the store does not contain is lost with a crash, so no run of it is repeated.
        let saved = self.ledger.persist(&live, &schedule, Vec::new()).await;
        if saved.is_err() && !may_repeat && live.is_stored() {
            self.ledger.release_if_idle(&live).await;
            return self.wake_later(&live);
        }
        live.set(schedule);
        self.wake(&live);
        self.spawn_run(&live, due, Some(permit));
    }

    /// Repeats or ends the runs that the end of a program has interrupted. The caller holds the change lock.
    pub(super) async fn resolve_interrupted(
        self: &Arc<Self>,
        live: &Arc<LiveSchedule>,
        _change_lock: &MutexGuard<'_, ()>,
    ) {
        let now = self.ledger.services.clock.now();
        let mut schedule = Schedule::clone(&live.task());
        let interrupted = schedule.take_interrupted(|due| !live.runs_here(due), now);
        if interrupted.is_empty() {
            return;
        }
        let mut again = Vec::new();
        for found in interrupted {
            match found {
                InterruptedRun::Repeat(due) => again.push(due),
                InterruptedRun::Cancelled(due) => schedule.end(due, now, RunOutcome::Cancelled, None),
                InterruptedRun::Unknown(due) => {
                    let what = format!(
                        "was running when the program ended: the effect of its run of {} is unknown; check it before you repeat it",
                        format_moment(due, live.local.zone())
                    );
                    // The notification comes first, since a duplicate is better than none.
                    self.notify(&live.id, &schedule, &what).await;
                    let detail = "the program ended during the run".to_owned();
                    schedule.end(due, now, RunOutcome::OutcomeUnknown, Some(detail));
                }
            }
        }
        schedule.complete_if_done(now);
        // A failure was logged, and is harmless: these runs may be repeated anyway.
        let _ = self.ledger.commit(live, schedule, Vec::new()).await;
        self.wake(live);
        for due in again {
            self.spawn_run(live, due, None);
        }
    }

    /// Saves the counts of a schedule without a due run, or removes it after its retention time.
    async fn save_without_run(&self, live: &LiveSchedule, mut schedule: Schedule, now: Timestamp) {
        let retention = self.retention();
        let is_old = |ended: Timestamp| now.duration_since(ended) >= retention;
        if !schedule.is_active() && schedule.running.is_empty() && schedule.ended.is_none_or(is_old) {
            // A failure was logged. The record is removed after the next start.
            let _ = self.ledger.forget(live).await;
            return self.ledger.release_if_idle(live).await;
        }
        schedule.complete_if_done(now);
        if schedule != *live.task() {
            let is_lost = !schedule.is_active() && schedule.runs == 0 && schedule.missed > 0;
            if is_lost && let ScheduleTime::Once(at) = &live.local {
                let due = format_moment(at.timestamp(), at.time_zone());
                let what = format!("was not run: it was due at {due}, and it is too late for it now");
                self.notify(&live.id, &schedule, &what).await;
            }
            let _ = self.ledger.commit(live, schedule, Vec::new()).await;
        }
        self.ledger.release_if_idle(live).await;
        self.wake(live);
    }

    /// Spawns a run whose start is recorded. A repeated run, which has no permit, waits for one.
    fn spawn_run(
        self: &Arc<Self>,
        live: &Arc<LiveSchedule>,
        due: Timestamp,
        permit: Option<OwnedSemaphorePermit>,
    ) {
        let cancel = self.ledger.run_token();
        let run = self.ledger.begin_run(live, due, cancel.clone());
        let (inner, live) = (Arc::clone(self), Arc::clone(live));
        tokio::spawn(async move {
            let turn = async {
                match permit {
                    Some(permit) => Some(permit),
                    None => Semaphore::acquire_owned(Arc::clone(&inner.permits)).await.ok(),
                }
            };
            let result = match cancel.run_until_cancelled(turn).await {
                Some(_permit) => inner.run(&live, due, &cancel).await,
                None => Err(cancelled()),
            };
            inner.finish(&live, due, result).await;
            drop(run);
        });
    }

    /// Performs the action of a schedule within the maximum duration.
    async fn run(
        self: &Arc<Self>,
        live: &Arc<LiveSchedule>,
        due: Timestamp,
        cancel: &CancellationToken,
    ) -> Result<Value, ToolError> {
        let (services, schedule) = (Arc::clone(&self.ledger.services), live.task());
        let (key, token) = (run_key(&live.id, due), cancel.clone());
        let phase = PhaseTracker::new();
        let tracked = phase.clone();
        let start = Arc::new(RunStart { schedules: Arc::clone(self), live: Arc::clone(live), due });
        // A separate task, so that a panic is an error of this run.
        let mut work = tokio::spawn(async move {
            services.perform(&schedule.owner, &schedule.action, &key, &token, &tracked, start).await
        });
        let set_waiting = |waits| -> BoxFuture<'_, ()> { Box::pin(self.set_waiting(live, due, waits)) };
        let tracked = async {
            tokio::select! {
                biased;
                done = track_waiting(&phase, &mut work, set_waiting) => Some(done),
                // Another process may have started the run, or has cancelled it.
                () = self.ledger.lease_lost(live) => None,
                () = self.ledger.services.interrupted(&phase) => None,
            }
        };
        let done = async { cancel.run_until_cancelled(tracked).await.flatten() };
        let stopped = match tokio::time::timeout(self.settings.max_duration, done).await {
            Ok(Some(Ok(result))) => return result,
            Ok(Some(Err(error))) => {
                return Err(ToolError::new(ErrorKind::Internal, format!("the run was aborted: {error}")));
            }
            Ok(None) => cancelled(),
            Err(_) => {
                let seconds = self.settings.max_duration.as_secs();
                ToolError::new(ErrorKind::Timeout, format!("the run had not ended after {seconds} s"))
            }
        };
        cancel.cancel();
        match tokio::time::timeout(CANCEL_WAIT, &mut work).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(_) => Err(stopped),
            Err(_) => {
                work.abort();
                Err(stopped)
            }
        }
    }

    /// Persists whether the call of a run waits for a person.
    async fn set_waiting(&self, live: &LiveSchedule, due: Timestamp, waits: bool) {
        let _change_lock = live.change_lock.lock().await;
        let mut schedule = Schedule::clone(&live.task());
        if schedule.set_waiting(due, waits) && self.ledger.renew_lease(live).await {
            // A failure was logged, and the change is visible in this process.
            let _ = self.ledger.commit(live, schedule, Vec::new()).await;
        }
    }

    /// Records the outcome of a run, and notifies its session.
    async fn finish(&self, live: &LiveSchedule, due: Timestamp, result: Result<Value, ToolError>) {
        let _change_lock = live.change_lock.lock().await;
        // A run that the end of the program cuts short is treated as interrupted by the next start.
        let is_cancelled = matches!(&result, Err(error) if error.kind == ErrorKind::Cancelled);
        let is_closing = self.ledger.services.closing().is_cancelled();
        let is_cut_short = result.is_err() && self.ledger.is_ending() || is_cancelled && is_closing;
        if is_cut_short || !self.ledger.renew_lease(live).await {
            live.end_run(due);
            return self.ledger.release_if_idle(live).await;
        }
        let now = self.ledger.services.clock.now();
        let mut schedule = Schedule::clone(&live.task());
        let also = self.apply_cancel_marker(live, &mut schedule, now).await;
        let (outcome, detail) = match &result {
            Ok(Value::Null) => (RunOutcome::Succeeded, None),
            Ok(result) => (RunOutcome::Succeeded, Some(result_excerpt(&text(result)))),
            Err(error) if error.kind == ErrorKind::Cancelled && !schedule.is_active() => {
                (RunOutcome::Cancelled, None)
            }
            Err(error) => (RunOutcome::Failed, Some(result_excerpt(&error.to_string()))),
        };
        let what = match (&outcome, &schedule.action) {
            (RunOutcome::Succeeded, Action::ToolCall { .. }) => {
                Some(format!("has run: {}", detail.as_deref().unwrap_or("null")))
            }
            (RunOutcome::Failed, _) => {
                Some(format!("has run, and failed: {}", detail.as_deref().unwrap_or_default()))
            }
            // Notifications and answers of agents were already sent.
            _ => None,
        };
        schedule.end(due, now, outcome, detail);
        schedule.complete_if_done(now);
        // The outcome is persisted before the session is notified. After a failure it is visible in this process.
        let _ = self.ledger.commit(live, schedule, also).await;
        live.end_run(due);
        if let Some(what) = what {
            self.notify(&live.id, &live.task(), &what).await;
        }
        self.ledger.release_if_idle(live).await;
        self.wake(live);
    }

    async fn notify(&self, id: &str, schedule: &Schedule, what: &str) {
        self.ledger.services.tell(&schedule.owner, &notification_text(id, schedule, what)).await;
    }

    fn retention(&self) -> SignedDuration {
        SignedDuration::try_from(self.settings.retention).unwrap_or(SignedDuration::MAX)
    }

    fn wake_later(&self, live: &LiveSchedule) {
        let later = self.ledger.services.clock.now().checked_add(RETRY).unwrap_or(Timestamp::MAX);
        self.ledger.set_due(live, Some(later));
    }

    /// Sets the time at which a schedule must be processed next.
    pub(super) fn wake(&self, live: &LiveSchedule) {
        self.ledger.set_due(live, live.task().wake(self.retention()));
    }

    /// Sets the times at which the schedules must be processed next, which is now if a run was interrupted.
    pub(super) fn wake_all(&self) {
        let now = self.ledger.services.clock.now();
        for live in self.ledger.all() {
            if live.task().running.iter().any(|started| !live.runs_here(started.due)) {
                self.ledger.set_due(&live, Some(now));
            } else {
                self.wake(&live);
            }
        }
    }

    /// Resets the schedules that a clock far ahead has left with a next run in the far future.
    pub(super) async fn reset_all(&self) {
        let now = self.ledger.services.clock.now();
        for live in self.ledger.matching(|schedule| schedule.is_stuck(now)) {
            let _change_lock = live.change_lock.lock().await;
            let mut schedule = Schedule::clone(&live.task());
            schedule.next = live.local.after(now);
            // A failed write is retried with the next run.
            let _ = self.ledger.commit(&live, schedule, Vec::new()).await;
            self.wake(&live);
        }
    }
}

/// The journal of a run whose call may be made again only while it has not begun.
struct RunStart {
    schedules: Arc<SchedulesInner>,
    live: Arc<LiveSchedule>,
    due: Timestamp,
}

#[async_trait]
impl CallJournal for RunStart {
    async fn record_start(&self) -> Result<(), ToolError> {
        let pause = RETRY.unsigned_abs();
        loop {
            match self.try_record().await {
                Ok(()) => return Ok(()),
                // A schedule that the store does not contain is lost with the program, and no run of it is repeated.
                Err(_) if !self.live.is_stored() => return Ok(()),
                Err(error @ StoreError::LeaseLost { .. }) => return Err(unrecorded_start(&error)),
                // The call waits for the store, since nothing has begun. The maximum duration of a run ends the wait.
                Err(_) => tokio::time::sleep(pause).await,
            }
        }
    }
}

impl RunStart {
    /// Persists that the run begins. After a failure it has not begun in this process either.
    async fn try_record(&self) -> Result<(), StoreError> {
        let Self { schedules, live, due } = self;
        let _change_lock = live.change_lock.lock().await;
        let mut schedule = Schedule::clone(&live.task());
        schedule.begin(*due);
        let saved = schedules.ledger.persist(live, &schedule, Vec::new()).await;
        if saved.is_ok() || !live.is_stored() {
            live.set(schedule);
        }
        saved
    }
}

fn cancelled() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "the run was cancelled")
}

/// Returns the text of a result.
fn text(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
