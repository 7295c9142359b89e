//! How a schedule that has been woken is run, and what is done with runs that were interrupted.

use std::convert::Infallible;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::{MutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::{CallPhase, PhaseTracker};

use super::decision::Interrupted;
use super::record::{RunOutcome, Schedule, run_key};
use super::status::{beginning, told};
use super::table::Live;
use super::time::{ScheduleTime, shown};
use super::{CANCEL_WAIT, Inner};
use crate::services::LEASE_TIME;
use crate::{Action, Change, Kind, StoreError};

/// How long it takes until something is tried again that another process or the store did not allow.
const RETRY: SignedDuration = SignedDuration::from_secs(15);

impl Inner {
    /// Looks at a schedule: starts what is due, counts what is not started, forgets what has been over for long.
    pub(super) async fn begin(self: Arc<Self>, id: String) {
        let permit = Semaphore::acquire_owned(Arc::clone(&self.permits));
        let Some(Ok(permit)) = self.services.closing().run_until_cancelled(permit).await else { return };
        let Some(live) = self.table.get(&id).filter(|_| !self.ending.is_cancelled()) else { return };
        let gate = live.gate.lock().await;
        if !self.take_over(&live).await {
            return self.wake_later(&live);
        }
        self.take_up(&live, &gate).await;
        let now = self.services.clock.now();
        let mut schedule = Schedule::clone(&live.schedule());
        let due = schedule.take_due(&live.time, now);
        let Some(due) = due else { return self.nothing_due(&live, schedule, now).await };
        let may_repeat = schedule.action.may_repeat(&self.services, &schedule.owner);
        schedule.start(&id, due, now, may_repeat);
        // It is kept before it starts, so that one that may not be repeated is not after a crash. What the store does not
        // know at all, nobody repeats.
        match self.services.store.apply(vec![schedule.put(&id)]).await {
            Ok(()) => live.was_kept(true),
            Err(error) if may_repeat || !live.is_stored() => {
                tracing::warn!(%error, %id, "a run of a schedule is started, and not kept");
                live.was_kept(false);
            }
            Err(error) => {
                tracing::warn!(%error, %id, "a run of a schedule waits, since it cannot be kept that it starts");
                self.let_go(&live).await;
                return self.wake_later(&live);
            }
        }
        live.set(schedule);
        self.wake(&live);
        self.spawn_run(&live, due, Some(permit));
    }

    /// Decides what becomes of the runs that the end of a program has interrupted. The gate is held.
    pub(super) async fn take_up(self: &Arc<Self>, live: &Arc<Live>, _gate: &MutexGuard<'_, ()>) {
        let now = self.services.clock.now();
        let mut schedule = Schedule::clone(&live.schedule());
        let interrupted = schedule.take_interrupted(|due| !live.runs_here(due), now);
        if interrupted.is_empty() {
            return;
        }
        let mut again = Vec::new();
        for found in interrupted {
            match found {
                Interrupted::Repeat(due) => again.push(due),
                Interrupted::Cancelled(due) => schedule.end(due, now, RunOutcome::Cancelled, None),
                Interrupted::Unknown(due) => {
                    let what = format!(
                        "was under way when the program ended: of its run of {} nobody knows what it has done; find out before you do it again",
                        shown(due, live.time.zone())
                    );
                    // Told before it is kept: rather twice than never.
                    self.tell(&live.id, &schedule, &what).await;
                    let detail = "the program ended while it was under way".to_owned();
                    schedule.end(due, now, RunOutcome::OutcomeUnknown, Some(detail));
                }
            }
        }
        schedule.settle(now);
        // That it cannot be kept is told in the log: what is made again may be repeated anyway.
        let _ = self.keep(live, schedule, Vec::new()).await;
        self.wake(live);
        for due in again {
            self.spawn_run(live, due, None);
        }
    }

    /// Keeps what was counted, or forgets what has been over for long.
    async fn nothing_due(&self, live: &Live, mut schedule: Schedule, now: Timestamp) {
        let is_old = |ended: Timestamp| now.duration_since(ended) >= self.retention();
        if !schedule.is_active() && schedule.running.is_empty() && schedule.ended.is_none_or(is_old) {
            self.table.remove(&live.id);
            let forgotten = vec![Change::remove(Kind::Schedule, live.id.as_str())];
            if let Err(error) = self.services.store.apply(forgotten).await {
                tracing::warn!(%error, id = live.id, "a schedule that is over is still kept");
            }
            return self.let_go(live).await;
        }
        schedule.settle(now);
        if schedule != *live.schedule() {
            let is_lost = !schedule.is_active() && schedule.runs == 0 && schedule.missed > 0;
            if is_lost && let ScheduleTime::Once(at) = &live.time {
                let due = shown(at.timestamp(), at.time_zone());
                let what = format!("was not run: it was due at {due}, and it is too late for it now");
                self.tell(&live.id, &schedule, &what).await;
            }
            let _ = self.keep(live, schedule, Vec::new()).await;
        }
        self.let_go(live).await;
        self.wake(live);
    }

    /// Starts a run that was written down as started. One that was so before waits for its turn.
    fn spawn_run(self: &Arc<Self>, live: &Arc<Live>, due: Timestamp, permit: Option<OwnedSemaphorePermit>) {
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

    /// Does what the schedule says, within its time.
    async fn run(
        self: &Arc<Self>,
        live: &Arc<Live>,
        due: Timestamp,
        cancel: &CancellationToken,
    ) -> Result<Value, ToolError> {
        let _renewal = self.services.is_shared().then(|| Renewal::start(self, live, cancel));
        let (services, schedule) = (Arc::clone(&self.services), live.schedule());
        let (key, token) = (run_key(&live.id, due), cancel.clone());
        let phase = PhaseTracker::new();
        let tracked = phase.clone();
        // In a task of its own, so that a panic is an error of this run.
        let mut work = tokio::spawn(async move {
            services.act(&schedule.owner, &schedule.action, &key, &token, &tracked).await
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
                return Err(ToolError::new(ErrorKind::Internal, format!("the run broke off: {error}")));
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

    /// Keeps whether the call of a run waits for a person, also for other processes, until it is dropped.
    async fn follow(&self, live: &Live, due: Timestamp, phase: &PhaseTracker) -> Infallible {
        loop {
            phase.wait_until(|phase| phase == CallPhase::WaitingForPerson).await;
            self.set_waiting(live, due, true).await;
            phase.wait_until(|phase| phase != CallPhase::WaitingForPerson).await;
            self.set_waiting(live, due, false).await;
        }
    }

    async fn set_waiting(&self, live: &Live, due: Timestamp, waits: bool) {
        let _gate = live.gate.lock().await;
        let mut schedule = Schedule::clone(&live.schedule());
        if schedule.set_waiting(due, waits) && self.still_has(live).await {
            // Where it cannot be kept, that is logged, and it holds in this process.
            let _ = self.keep(live, schedule, Vec::new()).await;
        }
    }

    /// Writes down what came of a run, and tells its session.
    async fn finish(&self, live: &Live, due: Timestamp, result: Result<Value, ToolError>) {
        let _gate = live.gate.lock().await;
        // What the end of the program cuts short is like what a crash does: the next start decides.
        let is_cut_short = result.is_err() && self.ending.is_cancelled();
        if is_cut_short || !self.still_has(live).await {
            live.end_run(due);
            return self.let_go(live).await;
        }
        let now = self.services.clock.now();
        let mut schedule = Schedule::clone(&live.schedule());
        let also = self.take_mark(live, &mut schedule, now).await;
        let (outcome, detail) = match &result {
            Ok(Value::Null) => (RunOutcome::Succeeded, None),
            Ok(result) => (RunOutcome::Succeeded, Some(beginning(&text(result)))),
            Err(error) if error.kind == ErrorKind::Cancelled && !schedule.is_active() => {
                (RunOutcome::Cancelled, None)
            }
            Err(error) => (RunOutcome::Failed, Some(beginning(&error.to_string()))),
        };
        let what = match (&outcome, &schedule.action) {
            (RunOutcome::Succeeded, Action::ToolCall { .. }) => {
                Some(format!("has run: {}", detail.as_deref().unwrap_or("null")))
            }
            (RunOutcome::Failed, _) => {
                Some(format!("has run, and failed: {}", detail.as_deref().unwrap_or_default()))
            }
            // What a notification and an answer say was told already.
            _ => None,
        };
        schedule.end(due, now, outcome, detail);
        schedule.settle(now);
        // It holds in this process also where it cannot be kept, and is kept before anybody is told.
        let _ = self.keep(live, schedule, also).await;
        live.end_run(due);
        if let Some(what) = what {
            self.tell(&live.id, &live.schedule(), &what).await;
        }
        self.let_go(live).await;
        self.wake(live);
    }

    /// Puts a change in the store and in place. It holds in this process also where it cannot be kept, which is tried again.
    pub(super) async fn keep(
        &self,
        live: &Live,
        schedule: Schedule,
        also: Vec<Change>,
    ) -> Result<(), StoreError> {
        let mut changes = vec![schedule.put(&live.id)];
        changes.extend(also);
        let kept = self.services.store.apply(changes).await;
        if let Err(error) = &kept {
            tracing::warn!(%error, id = live.id, "a change of a schedule is not kept");
        }
        live.was_kept(kept.is_ok());
        live.set(schedule);
        kept
    }

    async fn tell(&self, id: &str, schedule: &Schedule, what: &str) {
        let text = told(id, schedule, what);
        if let Err(error) = self.services.tell(&schedule.owner, None, &text, None).await {
            tracing::warn!(%error, %id, "what a schedule has done is told, and not kept");
        }
    }

    fn wake_later(&self, live: &Live) {
        let later = self.services.clock.now().checked_add(RETRY).unwrap_or(Timestamp::MAX);
        self.table.wake_at(&live.id, Some(later));
        self.woken.notify_one();
    }

    /// Sees to it that a schedule is looked at when it is time.
    pub(super) fn wake(&self, live: &Live) {
        self.table.wake_at(&live.id, live.schedule().wake(self.retention()));
        self.woken.notify_one();
    }
}

/// Keeps the lease of a schedule as long as it lives.
struct Renewal(tokio::task::JoinHandle<()>);

impl Renewal {
    fn start(inner: &Arc<Inner>, live: &Arc<Live>, cancel: &CancellationToken) -> Self {
        let (inner, live, cancel) = (Arc::clone(inner), Arc::clone(live), cancel.clone());
        Self(tokio::spawn(async move {
            loop {
                tokio::time::sleep(LEASE_TIME / 3).await;
                // A run that another process may make too, and one that another has cancelled, ends.
                if !inner.still_has(&live).await || inner.has_mark(&live.id).await {
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

/// A result as it is told.
fn text(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
