//! Execution of due runs, and recovery of interrupted runs.

use std::convert::Infallible;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::{MutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::{CallPhase, PhaseTracker};

use super::record::{RunOutcome, Schedule, run_key};
use super::status::{notification_text, result_excerpt};
use super::table::LiveSchedule;
use super::time::{ScheduleTime, format_moment};
use super::transitions::InterruptedRun;
use super::{CANCEL_WAIT, SchedulesInner};
use crate::services::LEASE_TIME;
use crate::{Action, Change, RecordKind, StoreError};

/// The time after which a run is retried that another process or the store has prevented.
const RETRY: SignedDuration = SignedDuration::from_secs(15);

impl SchedulesInner {
    /// Processes a schedule that is due: starts a run, counts the others, or removes the schedule after its retention
    /// time.
    pub(super) async fn process_due(self: Arc<Self>, id: String) {
        let permit = Semaphore::acquire_owned(Arc::clone(&self.permits));
        let Some(Ok(permit)) = self.services.closing().run_until_cancelled(permit).await else { return };
        let Some(live) = self.table.get(&id).filter(|_| !self.ending.is_cancelled()) else { return };
        let change_lock = live.change_lock.lock().await;
        if !self.acquire(&live).await {
            return self.wake_later(&live);
        }
        self.resolve_interrupted(&live, &change_lock).await;
        let now = self.services.clock.now();
        let mut schedule = Schedule::clone(&live.schedule());
        let due = schedule.take_due(&live.time, now);
        let Some(due) = due else { return self.save_without_run(&live, schedule, now).await };
        let may_repeat = schedule.action.may_repeat(&self.services, &schedule.owner);
        schedule.start(&id, due, now, may_repeat);
        // The start is persisted first, so that a run that may not be repeated is not repeated after a crash. A
        // schedule that the store does not contain is lost with a crash, so no run of it is repeated.
        match self.services.store.apply(vec![schedule.put(&id)]).await {
            Ok(()) => live.set_saved(true),
            Err(error) if may_repeat || !live.is_stored() => {
                tracing::warn!(%error, %id, "a run of a schedule starts, and its start cannot be persisted");
                live.set_saved(false);
            }
            Err(error) => {
                tracing::warn!(%error, %id, "a run of a schedule is delayed, since its start cannot be persisted");
                self.release_if_idle(&live).await;
                return self.wake_later(&live);
            }
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
        let now = self.services.clock.now();
        let mut schedule = Schedule::clone(&live.schedule());
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
                        format_moment(due, live.time.zone())
                    );
                    // The notification comes first, since a duplicate is better than none.
                    self.notify(&live.id, &schedule, &what).await;
                    let detail = "the program ended during the run".to_owned();
                    schedule.end(due, now, RunOutcome::OutcomeUnknown, Some(detail));
                }
            }
        }
        schedule.complete_if_done(now);
        // `save` logs a failure, which is harmless: these runs may be repeated anyway.
        let _ = self.save(live, schedule, Vec::new()).await;
        self.wake(live);
        for due in again {
            self.spawn_run(live, due, None);
        }
    }

    /// Saves the counts of a schedule without a due run, or removes it after its retention time.
    async fn save_without_run(&self, live: &LiveSchedule, mut schedule: Schedule, now: Timestamp) {
        let is_old = |ended: Timestamp| now.duration_since(ended) >= self.retention();
        if !schedule.is_active() && schedule.running.is_empty() && schedule.ended.is_none_or(is_old) {
            self.table.remove(&live.id);
            let forgotten = vec![Change::remove(RecordKind::Schedule, live.id.as_str())];
            if let Err(error) = self.services.store.apply(forgotten).await {
                tracing::warn!(%error, id = live.id, "an ended schedule cannot be removed from the store");
            }
            return self.release_if_idle(live).await;
        }
        schedule.complete_if_done(now);
        if schedule != *live.schedule() {
            let is_lost = !schedule.is_active() && schedule.runs == 0 && schedule.missed > 0;
            if is_lost && let ScheduleTime::Once(at) = &live.time {
                let due = format_moment(at.timestamp(), at.time_zone());
                let what = format!("was not run: it was due at {due}, and it is too late for it now");
                self.notify(&live.id, &schedule, &what).await;
            }
            let _ = self.save(live, schedule, Vec::new()).await;
        }
        self.release_if_idle(live).await;
        self.wake(live);
    }

    /// Spawns a run whose start is recorded. A repeated run, which has no permit, waits for one.
    fn spawn_run(
        self: &Arc<Self>,
        live: &Arc<LiveSchedule>,
        due: Timestamp,
        permit: Option<OwnedSemaphorePermit>,
    ) {
        let cancel = self.ending.child_token();
        live.begin_run(due, cancel.clone());
        self.running.send_modify(|running| *running += 1);
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
            inner.running.send_modify(|running| *running -= 1);
        });
    }

    /// Performs the action of a schedule within the maximum duration.
    async fn run(
        self: &Arc<Self>,
        live: &Arc<LiveSchedule>,
        due: Timestamp,
        cancel: &CancellationToken,
    ) -> Result<Value, ToolError> {
        let _renewal = self.services.is_shared().then(|| Renewal::start(self, live, cancel));
        let (services, schedule) = (Arc::clone(&self.services), live.schedule());
        let (key, token) = (run_key(&live.id, due), cancel.clone());
        let phase = PhaseTracker::new();
        let tracked = phase.clone();
        // A separate task, so that a panic is an error of this run.
        let mut work = tokio::spawn(async move {
            services.perform(&schedule.owner, &schedule.action, &key, &token, &tracked).await
        });
        let watched = async {
            tokio::select! {
                biased;
                done = &mut work => done,
                never = self.follow(live, due, &phase) => match never {},
            }
        };
        let done = cancel.run_until_cancelled(watched);
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

    /// Records and persists, until dropped, whether the call of a run waits for a person.
    async fn follow(&self, live: &LiveSchedule, due: Timestamp, phase: &PhaseTracker) -> Infallible {
        loop {
            phase.wait_until(|phase| phase == CallPhase::WaitingForPerson).await;
            self.set_waiting(live, due, true).await;
            phase.wait_until(|phase| phase != CallPhase::WaitingForPerson).await;
            self.set_waiting(live, due, false).await;
        }
    }

    async fn set_waiting(&self, live: &LiveSchedule, due: Timestamp, waits: bool) {
        let _change_lock = live.change_lock.lock().await;
        let mut schedule = Schedule::clone(&live.schedule());
        if schedule.set_waiting(due, waits) && self.renew_lease(live).await {
            // `save` logs a failure, and the change is visible in this process.
            let _ = self.save(live, schedule, Vec::new()).await;
        }
    }

    /// Records the outcome of a run, and notifies its session.
    async fn finish(&self, live: &LiveSchedule, due: Timestamp, result: Result<Value, ToolError>) {
        let _change_lock = live.change_lock.lock().await;
        // A run that the end of the program cuts short is treated as interrupted by the next start.
        let is_cut_short = result.is_err() && self.ending.is_cancelled();
        if is_cut_short || !self.renew_lease(live).await {
            live.end_run(due);
            return self.release_if_idle(live).await;
        }
        let now = self.services.clock.now();
        let mut schedule = Schedule::clone(&live.schedule());
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
        let _ = self.save(live, schedule, also).await;
        live.end_run(due);
        if let Some(what) = what {
            self.notify(&live.id, &live.schedule(), &what).await;
        }
        self.release_if_idle(live).await;
        self.wake(live);
    }

    /// Applies a change to this process and to the store. A failed write is retried later.
    pub(super) async fn save(
        &self,
        live: &LiveSchedule,
        schedule: Schedule,
        also: Vec<Change>,
    ) -> Result<(), StoreError> {
        let mut changes = vec![schedule.put(&live.id)];
        changes.extend(also);
        let saved = self.services.store.apply(changes).await;
        if let Err(error) = &saved {
            tracing::warn!(%error, id = live.id, "a change of a schedule cannot be persisted");
        }
        live.set_saved(saved.is_ok());
        live.set(schedule);
        saved
    }

    async fn notify(&self, id: &str, schedule: &Schedule, what: &str) {
        let text = notification_text(id, schedule, what);
        if let Err(error) = self.services.notify(&schedule.owner, None, &text, None).await {
            tracing::warn!(%error, %id, "the notification about a schedule cannot be persisted");
        }
    }

    fn wake_later(&self, live: &LiveSchedule) {
        let later = self.services.clock.now().checked_add(RETRY).unwrap_or(Timestamp::MAX);
        self.table.wake_at(&live.id, Some(later));
        self.woken.notify_one();
    }

    /// Registers the time at which a schedule must be processed next.
    pub(super) fn wake(&self, live: &LiveSchedule) {
        self.table.wake_at(&live.id, live.schedule().wake(self.retention()));
        self.woken.notify_one();
    }
}

/// A guard that renews the lease of a schedule until it is dropped.
struct Renewal(tokio::task::JoinHandle<()>);

impl Renewal {
    fn start(inner: &Arc<SchedulesInner>, live: &Arc<LiveSchedule>, cancel: &CancellationToken) -> Self {
        let (inner, live, cancel) = (Arc::clone(inner), Arc::clone(live), cancel.clone());
        Self(tokio::spawn(async move {
            loop {
                tokio::time::sleep(LEASE_TIME / 3).await;
                // The run ends if another process may have started it, or has cancelled it.
                if !inner.renew_lease(&live).await || inner.has_cancel_marker(&live.id).await {
                    cancel.cancel();
                }
            }
        }))
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.0.abort();
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
