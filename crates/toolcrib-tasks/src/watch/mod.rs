//! Watchers: calls that are repeated at intervals, and notifications about their results.
//!
//! A watcher calls a tool at intervals on behalf of its owner. It sends a notification when the result changes, fails
//! or meets a condition, and then performs its follow-up actions. One Tokio task ([`timer`]) waits for all watchers.
//!
//! The store holds the watcher with its state, its last result, the result of its last notification, its metrics, and
//! the notification in progress. It is saved after each event and every five minutes otherwise; an uneventful check
//! writes nothing. A notification is saved before it is sent, so that a crash repeats it rather than loses it. A
//! follow-up action that may not be repeated is saved before it starts. If the program ends during the action, the
//! action is not repeated, and the owner is notified. The same applies to checks by a tool that may not be repeated.
//! The history of checks is not persisted.
//!
//! Intervals follow `tokio` time, so that setting the clock has no effect. After a restart each watcher resumes when
//! its interval has passed since the last saved check. Overdue watchers resume one after the other.
//!
//! If several processes share a store, one of them makes each check under a lease, and saves it.

mod concurrency;
mod firing;
mod leases;
mod request;
mod status;
mod table;
mod template;
mod timer;
mod tools;
mod turn;
mod watcher;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::CallContext;

use self::concurrency::CheckLimits;
use self::table::{Entry, Viewer, WatcherTable};
use self::turn::record;
use self::watcher::Watcher;
use crate::id::random_id;
use crate::owner::{Owner, WithOwner};
use crate::run_detached::run_detached;
use crate::{Change, Record, RecordKind, Services, StoreError};

pub use request::{
    DEFAULT_WATCH_INTERVAL, MAX_WATCH_ACTIONS, MAX_WATCH_INTERVAL, MAX_WATCH_LABEL_CHARS,
    MAX_WATCH_REQUEST_BYTES, MIN_WATCH_INTERVAL, NotifyWhen, WatchRequest,
};
pub use status::{CheckOutcome, WatcherCheck, WatcherMetrics, WatcherState, WatcherStatus};
pub use table::MAX_WATCH_HISTORY;
pub use watcher::{MAX_COMPARED_BYTES, MAX_SHOWN_BYTES, MAX_WATCH_BACKOFF, MAX_WATCHED_BYTES};

/// The maximum duration of a check.
const MAX_CHECK_TIME: Duration = Duration::from_mins(10);

/// The interval at which the changes of uneventful checks are saved.
const CHECKPOINT: Duration = Duration::from_mins(5);

/// The interval between the checks that are overdue at start.
const OVERDUE_SPACING: Duration = Duration::from_millis(25);

/// The time that a cancelled check has to end.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// The limits of watchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatcherSettings {
    /// The maximum number of watchers per session; 20. Ended watchers make room for new ones.
    pub max_per_session: usize,
    /// The maximum number of watchers of a client of the server in all its sessions; 200.
    pub max_per_client: usize,
    /// The maximum number of all watchers; 2,000.
    pub max_watchers: usize,
    /// The maximum number of concurrent checks; 64.
    pub max_checks_at_once: usize,
    /// The maximum number of concurrent checks by one tool; 16. A tool that hangs does not block the others.
    pub max_checks_of_tool: usize,
    /// The number of consecutive errors after which a watcher pauses itself; 10.
    pub max_errors: u32,
    /// The number of checks in a summary; 10.
    pub summary_checks: u64,
}

impl Default for WatcherSettings {
    fn default() -> Self {
        Self {
            max_per_session: 20,
            max_per_client: 200,
            max_watchers: 2_000,
            max_checks_at_once: 64,
            max_checks_of_tool: 16,
            max_errors: 10,
            summary_checks: 10,
        }
    }
}

/// The watchers of all sessions. Clones share them.
#[derive(Clone)]
pub struct Watchers {
    inner: Arc<WatchersInner>,
}

struct WatchersInner {
    services: Arc<Services>,
    settings: WatcherSettings,
    table: WatcherTable,
    check_limits: CheckLimits,
    /// The number of turns in progress.
    turns: watch::Sender<usize>,
    /// Wakes the timer when a watcher is due before all others, and when `self` is dropped.
    wake: Arc<Notify>,
    is_resumed: AtomicBool,
}

impl Drop for WatchersInner {
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}

impl Watchers {
    /// Loads the watchers from the store. They check after [`resume`](Self::resume).
    pub async fn open(services: Arc<Services>, settings: WatcherSettings) -> Result<Self, StoreError> {
        let table = WatcherTable::default();
        for record in services.store.load(RecordKind::Watcher).await? {
            if let Some((id, entry)) = parse_entry(record) {
                table.insert(&id, entry);
            }
        }
        let inner = WatchersInner {
            services,
            settings,
            table,
            check_limits: CheckLimits::new(&settings),
            turns: watch::Sender::new(0),
            wake: Arc::default(),
            is_resumed: AtomicBool::new(false),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Resumes the active watchers. The tool caller must be set. Repeated calls have no effect.
    pub fn resume(&self) -> Result<(), ToolError> {
        let inner = &self.inner;
        inner.services.tool_caller()?;
        if inner.is_resumed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        inner.schedule_all();
        let closing = inner.services.closing().clone();
        tokio::spawn(timer::run(Arc::downgrade(inner), Arc::clone(&inner.wake), closing));
        Ok(())
    }

    /// Starts a watcher. Its first check is made at once.
    pub async fn start(
        &self,
        mut request: WatchRequest,
        context: &CallContext,
    ) -> Result<WatcherStatus, ToolError> {
        let inner = Arc::clone(&self.inner);
        request.max_checks = request.max_checks.filter(|most| *most > 0);
        let tool_caller = inner.services.tool_caller()?;
        let condition = request.check(&inner.services, tool_caller.catalogue(), context)?;
        let watcher = Watcher::new(Owner::of(context), request, inner.services.clock.now());
        run_detached(async move { inner.start(Entry::new(watcher, condition)).await }).await
    }

    /// Stops and removes a watcher, and cancels its current check.
    pub async fn stop(&self, id: &str, context: &CallContext) -> Result<WatcherStatus, ToolError> {
        self.inner.stop(id, Viewer::Owner(context)).await
    }

    /// Pauses a watcher until it is [unpaused](Self::unpause). A check in progress is not cancelled.
    pub async fn pause(&self, id: &str, context: &CallContext) -> Result<WatcherStatus, ToolError> {
        self.change(id, context, WatcherState::Paused).await
    }

    /// Resumes a paused watcher, with a check at once.
    pub async fn unpause(&self, id: &str, context: &CallContext) -> Result<WatcherStatus, ToolError> {
        self.change(id, context, WatcherState::Active).await
    }

    async fn change(
        &self,
        id: &str,
        context: &CallContext,
        state: WatcherState,
    ) -> Result<WatcherStatus, ToolError> {
        let inner = Arc::clone(&self.inner);
        let id = inner.table.find(id, Viewer::Owner(context))?;
        run_detached(async move { inner.change(&id, state).await }).await
    }

    /// Returns the status of a watcher.
    pub async fn status(&self, id: &str, context: &CallContext) -> Result<WatcherStatus, ToolError> {
        self.inner.remove_expired().await;
        self.inner.status(id, Viewer::Owner(context))
    }

    /// Returns the watchers of the caller, in the order in which they were started.
    pub async fn list(&self, context: &CallContext) -> Vec<WatcherStatus> {
        self.inner.remove_expired().await;
        self.inner.list(Viewer::Owner(context))
    }

    /// Returns up to [`MAX_WATCH_HISTORY`] checks of a watcher, the last one first.
    pub fn history(&self, id: &str, context: &CallContext) -> Result<Vec<WatcherCheck>, ToolError> {
        self.inner.history(id, Viewer::Owner(context))
    }

    /// Returns the watchers of all owners, in the order in which they were started. For operators.
    pub fn all(&self) -> Vec<WithOwner<WatcherStatus>> {
        let statuses = self.inner.list(Viewer::Operator).into_iter();
        statuses.filter_map(|status| self.inner.with_owner(status)).collect()
    }

    /// Returns the status of a watcher of any owner. For operators.
    pub fn status_of_any(&self, id: &str) -> Result<WithOwner<WatcherStatus>, ToolError> {
        let status = self.inner.status(id, Viewer::Operator)?;
        self.inner.with_owner(status).ok_or_else(|| no_longer_exists(id))
    }

    /// Stops and removes a watcher of any owner. For operators.
    pub async fn stop_any(&self, id: &str) -> Result<WatcherStatus, ToolError> {
        self.inner.stop(id, Viewer::Operator).await
    }

    /// Returns the checks of a watcher of any owner in this process, the last one first. For operators.
    pub fn history_of_any(&self, id: &str) -> Result<Vec<WatcherCheck>, ToolError> {
        self.inner.history(id, Viewer::Operator)
    }

    /// Stops and removes the watchers of a session that has ended, since no one reads their notifications. A session
    /// that resumes after a restart has not ended, and keeps its watchers.
    pub async fn end_session(&self, session: &str) {
        let inner = Arc::clone(&self.inner);
        let ids = inner.table.of_session(session);
        let removing = async move {
            for id in ids {
                if let Err(error) = inner.remove(&id).await {
                    tracing::warn!(%error, %id, "a watcher of a session that has ended comes back");
                }
            }
        };
        run_detached(removing).await;
    }

    /// Waits for the current checks to end, cancels them after the given time, and saves all watchers. No checks start
    /// after [`Services::stop_intake`].
    pub async fn close(&self, time: Duration) {
        let inner = &self.inner;
        let mut turns = inner.turns.subscribe();
        if tokio::time::timeout(time, turns.wait_for(|turns| *turns == 0)).await.is_err() {
            inner.table.cancel_turns();
            // The outcome of a check that does not end is unknown after the next start.
            let _ = tokio::time::timeout(CANCEL_WAIT, turns.wait_for(|turns| *turns == 0)).await;
        }
        let unsaved = inner.table.unsaved();
        let saved = futures::future::join_all(unsaved.iter().map(|id| inner.save(id))).await;
        if let Some(error) = saved.into_iter().find_map(Result::err) {
            tracing::warn!(%error, "the state of watchers cannot be persisted");
        }
    }
}

impl WatchersInner {
    /// Adds the owner to a status. Returns `None` if the watcher was removed meanwhile.
    fn with_owner(&self, status: WatcherStatus) -> Option<WithOwner<WatcherStatus>> {
        self.table
            .with(&status.watcher_id, |entry| entry.watcher.owner.clone())
            .map(|owner| owner.attach_to(status))
    }

    fn status(&self, id: &str, viewer: Viewer<'_>) -> Result<WatcherStatus, ToolError> {
        let (id, now) = (self.table.find(id, viewer)?, self.services.clock.now());
        self.table.with(&id, |entry| entry.status(&id, now)).ok_or_else(|| no_longer_exists(&id))
    }

    fn list(&self, viewer: Viewer<'_>) -> Vec<WatcherStatus> {
        let known = self.table.of(viewer);
        known.iter().filter_map(|id| Some(self.status(id, viewer).ok()?.without_value())).collect()
    }

    fn history(&self, id: &str, viewer: Viewer<'_>) -> Result<Vec<WatcherCheck>, ToolError> {
        let id = self.table.find(id, viewer)?;
        let checks =
            self.table.with(&id, |entry| entry.history.iter().rev().map(WatcherCheck::from).collect());
        checks.ok_or_else(|| no_longer_exists(&id))
    }

    async fn start(&self, entry: Entry) -> Result<WatcherStatus, ToolError> {
        self.remove_expired().await;
        let id =
            random_id("watch").map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        let id: Arc<str> = id.into();
        let mut changes = vec![record(&id, &entry.watcher)];
        let forgotten = self.table.begin(&id, entry, &self.settings)?;
        changes.extend(forgotten.into_iter().map(|id| Change::remove(RecordKind::Watcher, &*id)));
        let kept = self.services.store.apply(changes).await;
        if let Err(error) = &kept {
            tracing::warn!(%error, %id, "a watcher is not kept");
            self.table.with(&id, |entry| entry.unsaved = Some(Instant::now()));
        }
        self.schedule(&id, Some(Instant::now()));
        Ok(self.status(&id, Viewer::Operator)?.with_note(match kept {
            Ok(()) => "it checks in the background; you are told".to_owned(),
            Err(error) => format!("it checks, and is forgotten when the program ends: {error}"),
        }))
    }

    async fn stop(self: &Arc<Self>, id: &str, viewer: Viewer<'_>) -> Result<WatcherStatus, ToolError> {
        let inner = Arc::clone(self);
        let id = self.table.find(id, viewer)?;
        run_detached(async move { inner.stop_known(&id).await }).await
    }

    async fn stop_known(&self, id: &str) -> Result<WatcherStatus, ToolError> {
        let mut status = self.status(id, Viewer::Operator)?;
        self.take_lease(id).await?;
        let removed = self.remove(id).await;
        self.services.release(id).await;
        (status.status, status.next_check) = (WatcherState::Ended, None);
        Ok(status.with_note(match removed {
            Ok(()) => "it is stopped and removed".to_owned(),
            Err(error) => format!("it is stopped, but restarts with the program: {error}"),
        }))
    }

    /// Pauses or resumes a watcher.
    async fn change(&self, id: &Arc<str>, state: WatcherState) -> Result<WatcherStatus, ToolError> {
        self.take_lease(id).await?;
        let changed = self.table.with(id, |entry| {
            let watcher = &mut entry.watcher;
            if watcher.state == WatcherState::Ended {
                let message = format!("the watcher `{id}` has ended");
                return Err(ToolError::new(ErrorKind::InvalidArgs, message)
                    .with_hint("start another one with `watch_start`"));
            }
            let is_changed = watcher.state != state;
            if is_changed {
                (watcher.state, watcher.reason, watcher.errors_in_row) = (state, None, 0);
                entry.unsaved.get_or_insert_with(Instant::now);
            }
            Ok(is_changed)
        });
        let note = match changed.ok_or_else(|| no_longer_exists(id)) {
            Ok(Ok(true)) => {
                let saved = self.save(id).await;
                let is_active = state == WatcherState::Active;
                self.schedule(id, is_active.then(Instant::now));
                match saved {
                    Ok(()) => None,
                    Err(error) => Some(format!("this is lost when the program ends: {error}")),
                }
            }
            Ok(Ok(false)) => Some("it already had this state".to_owned()),
            Ok(Err(error)) | Err(error) => {
                self.release_lease(id).await;
                return Err(error);
            }
        };
        self.release_lease(id).await;
        let status = self.status(id, Viewer::Operator)?;
        Ok(match note {
            Some(note) => status.with_note(note),
            None => status,
        })
    }

    async fn remove(&self, id: &str) -> Result<(), StoreError> {
        let Some(writing) = self.table.writing(id) else { return Ok(()) };
        let _turn = writing.lock().await;
        self.table.remove(id);
        self.services.store.apply(vec![Change::remove(RecordKind::Watcher, id)]).await
    }

    async fn remove_expired(&self) {
        for id in self.table.expired(self.services.clock.now()) {
            if let Err(error) = self.remove(&id).await {
                tracing::warn!(%error, %id, "an ended watcher cannot be removed from the store");
            }
        }
    }

    fn schedule(&self, id: &Arc<str>, due: Option<Instant>) {
        if self.table.schedule(id, due) {
            self.wake.notify_one();
        }
    }

    /// Schedules all unscheduled watchers for the end of their intervals. Overdue watchers are scheduled one after the
    /// other.
    fn schedule_all(&self) {
        let (now, mut overdue) = (self.services.clock.now(), Duration::ZERO);
        for id in self.table.of(Viewer::Operator) {
            let left = self.table.with(&id, |entry| {
                let watcher = &entry.watcher;
                if entry.is_scheduled() || !watcher.has_work() {
                    return None;
                }
                let wait = watcher.wait();
                let since = watcher.last_check.map_or(wait, |last| {
                    // The clock may have been set back.
                    Duration::try_from(now.duration_since(last)).unwrap_or(Duration::ZERO)
                });
                let is_left = watcher.firing.is_some() || watcher.is_under_way;
                Some(if is_left { Duration::ZERO } else { wait.saturating_sub(since) })
            });
            let Some(Some(left)) = left else { continue };
            let left = if left.is_zero() {
                overdue += OVERDUE_SPACING;
                overdue
            } else {
                left
            };
            self.schedule(&id, Some(Instant::now() + left));
        }
    }
}

impl Watcher {
    /// Returns true if the watcher has work to do.
    fn has_work(&self) -> bool {
        self.state == WatcherState::Active || self.firing.is_some() || self.is_under_way
    }
}

/// Parses a stored watcher.
fn parse_entry(record: Record) -> Option<(Arc<str>, Entry)> {
    let Record { id, body, .. } = record;
    let read = serde_json::from_value::<Watcher>(body).map_err(|error| error.to_string());
    let read = read.and_then(|watcher| match watcher.request.parsed_condition() {
        Ok(condition) => Ok(Entry::new(watcher, condition)),
        Err(error) => Err(error.to_string()),
    });
    match read {
        Ok(entry) => Some((id.into(), entry)),
        Err(error) => {
            tracing::warn!(%error, %id, "a stored watcher cannot be read");
            None
        }
    }
}

/// Returns the error for a watcher that was removed meanwhile.
fn no_longer_exists(id: &str) -> ToolError {
    ToolError::new(ErrorKind::NotFound, format!("there is no watcher `{id}` any more"))
}
