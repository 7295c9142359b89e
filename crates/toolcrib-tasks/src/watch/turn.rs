//! The turn of one watcher: its check and the notification about it.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::{CallPhase, PhaseTracker};

use super::status::WatcherState;
use super::table::Entry;
use super::watcher::{CompletedCheck, Watcher};
use super::{CHECKPOINT, MAX_CHECK_TIME, WatchersInner};
use crate::{Change, Record, RecordKind, StoreError};

/// A guard that ends the turn of a watcher when it is dropped.
struct Turn {
    inner: Arc<WatchersInner>,
    id: Arc<str>,
    began: Instant,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.inner.table.end_turn(&self.id, self.began) {
            self.inner.wake.notify_one();
        }
        self.inner.turns.send_modify(|turns| *turns = turns.saturating_sub(1));
    }
}

impl WatchersInner {
    /// Spawns the turn of a watcher.
    pub(super) fn start_turn(self: &Arc<Self>, id: Arc<str>, cancel: CancellationToken) {
        self.turns.send_modify(|turns| *turns += 1);
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            let mut turn = Turn { inner: Arc::clone(&inner), id: Arc::clone(&id), began: Instant::now() };
            let tool = inner.table.with(&id, |entry| entry.watcher.request.name.clone());
            let Some(tool) = tool else { return };
            let waiting = async {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => None,
                    () = inner.services.closing().cancelled() => None,
                    permit = inner.check_limits.acquire(&tool) => permit,
                }
            };
            let Some(_permit) = waiting.await else { return };
            turn.began = Instant::now();
            Box::pin(inner.turn(&id, &cancel)).await;
        });
    }

    /// Runs a turn, under a lease if the store is shared.
    async fn turn(&self, id: &str, cancel: &CancellationToken) {
        if self.services.is_shared() {
            Box::pin(self.shared_turn(id, self.check_and_notify(id, cancel))).await;
        } else {
            self.check_and_notify(id, cancel).await;
        }
    }

    async fn check_and_notify(&self, id: &str, cancel: &CancellationToken) {
        // An approval that the last process waited for is requested again.
        self.table.with(id, |entry| entry.watcher.waits_for_person = false);
        // A notification in progress comes first.
        if !self.fire(id, cancel).await {
            return;
        }
        let Some(checked) = self.check(id, cancel).await else { return };
        let is_eventful = self.table.with(id, |entry| self.record_check(id, entry, checked));
        if is_eventful.is_some_and(|is_eventful| is_eventful || self.services.is_shared()) {
            self.save_or_warn(id).await;
        }
        self.fire(id, cancel).await;
    }

    /// Makes the call of a check. Returns `None` if the call is not made, or its result is not needed.
    async fn check(&self, id: &str, cancel: &CancellationToken) -> Option<CompletedCheck> {
        let now = self.services.clock.now();
        let began = Instant::now();
        let (call, owner, left) = self.table.with(id, |entry| {
            let watcher = &mut entry.watcher;
            // A watcher has one turn at a time, so an unfinished check is from before the program ended.
            let left = watcher.last_check.filter(|_| watcher.is_under_way);
            if watcher.state != WatcherState::Active && left.is_none() {
                return None;
            }
            if left.is_none() {
                watcher.last_check = Some(now);
            }
            Some((watcher.request.call(), watcher.owner.clone(), left))
        })??;
        if let Some(at) = left {
            let message = format!("the program ended while `{}` was running", call.name);
            let error = ToolError::new(ErrorKind::OutcomeUnknown, message);
            let key = Watcher::run_key(id, at);
            return Some(CompletedCheck { result: Err(error), at, took: began.elapsed(), key });
        }
        let key = Watcher::run_key(id, now);
        let mut context = owner.context().with_cancel(cancel.clone()).with_run_key(key.as_str());
        context.deadline = began.checked_add(MAX_CHECK_TIME);
        context.depth = 1;
        // The result is compared with others, so a preview would not do.
        context.full_results = true;
        let tool_caller = self.services.tool_caller().ok()?;
        if !tool_caller.catalogue().may_repeat(&call, &context) {
            self.table.with(id, |entry| entry.watcher.is_under_way = true);
            self.save_or_warn(id).await;
        }
        let phase = context.phase.clone();
        let result =
            self.track_approval(id, &phase, tool_caller.call(call.with_call_id(&key), &context)).await;
        let is_shortened = result.metadata.contains_key("truncated_bytes");
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
        id: &str,
        phase: &PhaseTracker,
        call: impl Future<Output = T>,
    ) -> T {
        let done = tokio::select! {
            biased;
            done = call => done,
            never = self.track_phase(id, phase) => match never {},
        };
        self.set_waiting(id, false).await;
        done
    }

    async fn track_phase(&self, id: &str, phase: &PhaseTracker) -> Infallible {
        loop {
            phase.wait_until(|phase| phase == CallPhase::WaitingForPerson).await;
            self.set_waiting(id, true).await;
            phase.wait_until(|phase| phase != CallPhase::WaitingForPerson).await;
            self.set_waiting(id, false).await;
        }
    }

    async fn set_waiting(&self, id: &str, waits: bool) {
        let set = |entry: &mut Entry| std::mem::replace(&mut entry.watcher.waits_for_person, waits) != waits;
        if self.table.with(id, set) == Some(true) {
            self.save_or_warn(id).await;
        }
    }

    fn is_over(&self, cancel: &CancellationToken) -> bool {
        cancel.is_cancelled() || self.services.closing().is_cancelled()
    }

    /// Records the outcome of a check, and returns true if the watcher must be saved now.
    fn record_check(&self, id: &str, entry: &mut Entry, checked: CompletedCheck) -> bool {
        let settled = entry.watcher.record_check(id, checked, entry.condition.as_ref(), &self.settings);
        entry.remember(settled.check);
        let since = *entry.unsaved.get_or_insert_with(Instant::now);
        settled.is_eventful || since.elapsed() >= CHECKPOINT
    }

    /// Saves the current state of a watcher.
    pub(super) async fn save(&self, id: &str) -> Result<(), StoreError> {
        let Some(writing) = self.table.writing(id) else { return Ok(()) };
        let _turn = writing.lock().await;
        let record = self.table.with(id, |entry| {
            entry.unsaved = None;
            record(id, &entry.watcher)
        });
        // A watcher that was stopped meanwhile is not saved.
        let Some(record) = record else { return Ok(()) };
        let saved = self.services.store.apply(vec![record]).await;
        if saved.is_err() {
            self.table.with(id, |entry| *entry.unsaved.get_or_insert_with(Instant::now));
        }
        saved
    }

    pub(super) async fn save_or_warn(&self, id: &str) {
        if let Err(error) = self.save(id).await {
            tracing::warn!(%error, %id, "the state of a watcher cannot be persisted");
        }
    }
}

pub(super) fn record(id: &str, watcher: &Watcher) -> Change {
    let (id, session) = (id.to_owned(), watcher.owner.session.clone());
    Change::Put(Record { kind: RecordKind::Watcher, id, session, body: serde_json::json!(watcher) })
}
