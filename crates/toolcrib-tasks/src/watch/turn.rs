//! The turn of one watcher: its check and the notification about it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::{CallJournal, PhaseTracker};

use super::local::{LiveWatcher, LocalWatcher, next_due};
use super::status::WatcherState;
use super::watcher::{CompletedCheck, Watcher};
use super::{CHECKPOINT, MAX_CHECK_TIME, WatchersInner};
use crate::action::RepeatableCall;
use crate::ledger::{Ledger, Policy, Run, track_waiting};

/// A guard that ends the turn of a watcher when it is dropped.
struct Turn {
    inner: Arc<WatchersInner>,
    live: Arc<LiveWatcher>,
    due: Timestamp,
    began: Instant,
    _run: Run<Watcher, LocalWatcher>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.live.end_run(self.due);
        let watcher = self.live.task();
        let due = (watcher.state == WatcherState::Active).then(|| next_due(&watcher, self.began));
        self.inner.ledger.set_due(&self.live, due);
    }
}

impl Policy<Watcher, LocalWatcher, Instant> for WatchersInner {
    fn ledger(&self) -> &Ledger<Watcher, LocalWatcher, Instant> {
        &self.ledger
    }

    fn process(self: &Arc<Self>, live: Arc<LiveWatcher>) {
        // The end of a turn sets the next due time.
        if live.is_running() {
            return;
        }
        let (cancel, due) = (self.ledger.run_token(), self.ledger.services.clock.now());
        let run = self.ledger.begin_run(&live, due, cancel.clone());
        let turn = Turn { inner: Arc::clone(self), live, due, began: Instant::now(), _run: run };
        tokio::spawn(turn.take(cancel));
    }

    async fn maintain(self: Arc<Self>, _was_set_back: bool) {
        if self.ledger.services.is_shared() {
            self.schedule_all();
        }
    }
}

impl Turn {
    /// Takes the turn when the concurrency limits permit it.
    async fn take(mut self, cancel: CancellationToken) {
        let (inner, live) = (Arc::clone(&self.inner), Arc::clone(&self.live));
        let tool = live.task().request.name.clone();
        let waiting = async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => None,
                () = inner.ledger.services.closing().cancelled() => None,
                permit = inner.check_limits.acquire(&tool) => permit,
            }
        };
        let Some(_permit) = waiting.await else { return };
        self.began = Instant::now();
        Box::pin(inner.turn(&live, &cancel)).await;
    }
}

/// The journal of a check whose call may be made again only while it has not begun.
struct CheckStart {
    watchers: Arc<WatchersInner>,
    live: Arc<LiveWatcher>,
}

#[async_trait]
impl CallJournal for CheckStart {
    async fn record_start(&self) -> Result<(), ToolError> {
        self.live.update(|watcher| watcher.is_under_way = true);
        self.watchers.save_or_warn(&self.live).await;
        Ok(())
    }
}

impl WatchersInner {
    /// Runs a turn, under a lease if the store is shared.
    async fn turn(self: &Arc<Self>, live: &Arc<LiveWatcher>, cancel: &CancellationToken) {
        let change_lock = live.change_lock.lock().await;
        let acquired = self.ledger.acquire_for_run(live).await;
        drop(change_lock);
        match acquired {
            Ok(true) if self.is_due(live) => tokio::select! {
                biased;
                () = self.check_and_notify(live, cancel) => {}
                () = self.ledger.lease_lost(live) => {
                    tracing::warn!(id = %live.id, "another process has taken over the turn of a watcher");
                }
                () = self.interrupted(live) => {}
            },
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, id = %live.id, "a check is skipped, since the lease of its watcher cannot be acquired");
            }
        }
        self.ledger.services.release(&live.id).await;
    }

    /// Waits until the program ends while a call of the turn waits for a person, who is asked again after the next start.
    async fn interrupted(&self, live: &LiveWatcher) {
        self.ledger.services.closing().cancelled().await;
        live.wait_until(|watcher| watcher.waits_for_person).await;
    }

    /// Returns true if no other process has made the check that is due.
    fn is_due(&self, live: &LiveWatcher) -> bool {
        if !self.ledger.services.is_shared() {
            return true;
        }
        let (now, watcher) = (self.ledger.services.clock.now(), live.task());
        let since = watcher.last_check.and_then(|last| Duration::try_from(now.duration_since(last)).ok());
        // The timers of two processes differ slightly.
        let is_early = since.is_some_and(|since| since < watcher.wait() * 9 / 10);
        !is_early || watcher.is_interrupted()
    }

    async fn check_and_notify(self: &Arc<Self>, live: &Arc<LiveWatcher>, cancel: &CancellationToken) {
        // An approval that the last process waited for is requested again.
        live.update(|watcher| watcher.waits_for_person = false);
        // A notification in progress comes first.
        if !self.fire(live, cancel).await {
            return;
        }
        let Some(checked) = self.check(live, cancel).await else { return };
        if self.record_check(live, checked) || self.ledger.services.is_shared() {
            self.save_or_warn(live).await;
        }
        self.fire(live, cancel).await;
    }

    /// Makes the call of a check. Returns `None` if the call is not made, or its result is not needed.
    async fn check(
        self: &Arc<Self>,
        live: &Arc<LiveWatcher>,
        cancel: &CancellationToken,
    ) -> Option<CompletedCheck> {
        let now = self.ledger.services.clock.now();
        let began = Instant::now();
        let (call, left) = live.update(|watcher| {
            // A watcher has one turn at a time, so an unfinished check is from before the program ended.
            let left = watcher.last_check.filter(|_| watcher.is_under_way);
            if watcher.state != WatcherState::Active && left.is_none() {
                return None;
            }
            if left.is_none() {
                watcher.last_check = Some(now);
            }
            Some((watcher.request.call(), left))
        })?;
        if let Some(at) = left {
            let message = format!("the program ended while `{}` was running", call.name);
            let error = ToolError::new(ErrorKind::OutcomeUnknown, message);
            let key = Watcher::run_key(&live.id, at);
            return Some(CompletedCheck { result: Err(error), at, took: began.elapsed(), key });
        }
        let key = Watcher::run_key(&live.id, now);
        let mut context = live.owner.context().with_cancel(cancel.clone()).with_run_key(key.as_str());
        context.deadline = began.checked_add(MAX_CHECK_TIME);
        context.depth = 1;
        // The result is compared with others, so a preview would not do.
        context.full_results = true;
        let tool_caller = self.ledger.services.tool_caller().ok()?;
        context.journal = Some(if tool_caller.catalogue().may_repeat(&call, &context) {
            Arc::new(RepeatableCall)
        } else {
            Arc::new(CheckStart { watchers: Arc::clone(self), live: Arc::clone(live) })
        });
        let phase = context.phase.clone();
        let result =
            self.track_approval(live, &phase, tool_caller.call(call.with_call_id(&key), &context)).await;
        let is_shortened = result.is_preview();
        let result = match result.error {
            Some(error) if error.kind == ErrorKind::Cancelled && self.is_over(cancel) => return None,
            Some(error) => Err(error),
            None if is_shortened => {
                let message = "the result is too large to be watched";
                Err(ToolError::new(ErrorKind::LimitReached, message)
                    .with_hint("watch a tool that returns less, or with arguments by which it does"))
            }
            None => Ok(result.result),
        };
        Some(CompletedCheck { result, at: now, took: began.elapsed(), key })
    }

    /// Makes a call of a turn, and persists meanwhile whether it waits for a person.
    pub(super) async fn track_approval<T>(
        &self,
        live: &LiveWatcher,
        phase: &PhaseTracker,
        call: impl Future<Output = T>,
    ) -> T {
        let done = track_waiting(phase, call, |waits| Box::pin(self.set_waiting(live, waits))).await;
        self.set_waiting(live, false).await;
        done
    }

    async fn set_waiting(&self, live: &LiveWatcher, waits: bool) {
        if live.update(|watcher| std::mem::replace(&mut watcher.waits_for_person, waits)) != waits {
            self.save_or_warn(live).await;
        }
    }

    pub(super) fn is_over(&self, cancel: &CancellationToken) -> bool {
        cancel.is_cancelled() || self.ledger.services.closing().is_cancelled()
    }

    /// Records the outcome of a check, and returns true if the watcher must be saved now.
    fn record_check(&self, live: &LiveWatcher, checked: CompletedCheck) -> bool {
        let condition = live.local.condition.as_ref();
        let settled =
            live.update(|watcher| watcher.record_check(&live.id, checked, condition, &self.settings));
        live.local.remember(settled.check);
        settled.is_eventful || live.mark_unsaved().elapsed() >= CHECKPOINT
    }

    /// Saves a watcher. A failure is logged.
    pub(super) async fn save_or_warn(&self, live: &LiveWatcher) {
        let _ = self.ledger.save(live).await;
    }
}
