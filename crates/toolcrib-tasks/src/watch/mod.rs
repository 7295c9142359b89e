//! Calls that are made again and again, and what of their results is told.
//!
//! A [`Watchers`] calls a tool at intervals through the one entrance, in the name of whoever asked, and tells when its result
//! changes, fails or fits a condition; then it does what is to follow. One task knows when each watcher is due.
//!
//! What is kept: the watcher, its state, the last result and the one that was told last, its metrics, and what is being told
//! and followed up. It is written down when something happens, and every five minutes otherwise; a check that finds nothing
//! new writes nothing. What is told is written down before, so that after a crash it is told again rather than never. A
//! follow-up action that may not be repeated is written down before it begins; when the program ends while it is under way,
//! it is not done again, and that is told. The same holds for checks by a tool that may not be repeated. The history of checks
//! begins anew with the process.
//!
//! Intervals are those of `tokio` time: a clock that is set changes nothing. After a restart each watcher goes on when its
//! interval has passed since the last check that is written down, those that are overdue one after the other.
//!
//! Where processes share a store, each check is made by one of them, which holds a lease for it, and is written down.

mod firing;
mod request;
mod rooms;
mod sharing;
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

use self::rooms::Rooms;
use self::table::{Entry, Table, Viewer};
use self::turn::record;
use self::watcher::Watcher;
use crate::id::random_id;
use crate::owner::{Owned, Owner};
use crate::to_the_end::to_the_end;
use crate::{Change, Kind, Record, Services, StoreError};

pub use request::{
    DEFAULT_WATCH_INTERVAL, MAX_WATCH_ACTIONS, MAX_WATCH_INTERVAL, MAX_WATCH_LABEL_CHARS,
    MAX_WATCH_REQUEST_BYTES, MIN_WATCH_INTERVAL, NotifyWhen, WatchRequest,
};
pub use status::{CheckOutcome, WatcherCheck, WatcherMetrics, WatcherState, WatcherStatus};
pub use table::MAX_WATCH_HISTORY;
pub use watcher::{MAX_COMPARED_BYTES, MAX_SHOWN_BYTES, MAX_WATCH_BACKOFF, MAX_WATCHED_BYTES};

/// How long a check may take.
const MAX_CHECK_TIME: Duration = Duration::from_mins(10);

/// After how long what uneventful checks have changed is written down.
const CHECKPOINT: Duration = Duration::from_mins(5);

/// How long after each other checks are made that are overdue at start.
const OVERDUE_SPACING: Duration = Duration::from_millis(25);

/// How long a check that is cancelled may take to end.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// The bounds of watchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatcherSettings {
    /// How many watchers a session may have; 20. Those that have ended make room for others.
    pub max_per_session: usize,
    /// How many a client of the server may have in all its sessions; 200.
    pub max_per_client: usize,
    /// How many there may be in all; 2,000.
    pub max_watchers: usize,
    /// How many checks are made at once; 64.
    pub max_checks_at_once: usize,
    /// How many of them call the same tool; 16. One that hangs leaves room for others.
    pub max_checks_of_tool: usize,
    /// After how many errors in a row a watcher pauses itself; 10.
    pub max_errors: u32,
    /// How many checks a summary is made of; 10.
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
    inner: Arc<Inner>,
}

struct Inner {
    services: Arc<Services>,
    settings: WatcherSettings,
    table: Table,
    rooms: Rooms,
    /// How many turns there are.
    turns: watch::Sender<usize>,
    /// Told when one is due before all others, and when this is no longer there.
    wake: Arc<Notify>,
    is_resumed: AtomicBool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}

impl Watchers {
    /// Takes up the watchers that are known from before. They check nothing before [`resume`](Self::resume).
    pub async fn open(services: Arc<Services>, settings: WatcherSettings) -> Result<Self, StoreError> {
        let table = Table::default();
        for record in services.store.load(Kind::Watcher).await? {
            if let Some((id, entry)) = entry(record) {
                table.insert(&id, entry);
            }
        }
        let inner = Inner {
            services,
            settings,
            table,
            rooms: Rooms::new(&settings),
            turns: watch::Sender::new(0),
            wake: Arc::default(),
            is_resumed: AtomicBool::new(false),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Lets the watchers that are active go on, once it is known where calls go in. A second time changes nothing.
    pub fn resume(&self) -> Result<(), ToolError> {
        let inner = &self.inner;
        inner.services.entrance()?;
        if inner.is_resumed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        inner.schedule_all();
        let closing = inner.services.closing().clone();
        tokio::spawn(timer::run(Arc::downgrade(inner), Arc::clone(&inner.wake), closing));
        Ok(())
    }

    /// Starts a watcher, whose first check is made at once.
    pub async fn start(
        &self,
        mut request: WatchRequest,
        context: &CallContext,
    ) -> Result<WatcherStatus, ToolError> {
        let inner = Arc::clone(&self.inner);
        request.max_checks = request.max_checks.filter(|most| *most > 0);
        let entrance = inner.services.entrance()?;
        let condition = request.check(&inner.services, entrance.as_ref(), context)?;
        let watcher = Watcher::new(Owner::of(context), request, inner.services.clock.now());
        to_the_end(async move { inner.start(Entry::new(watcher, condition)).await }).await
    }

    /// Stops a watcher, and forgets it. What it was at is cancelled.
    pub async fn stop(&self, id: &str, context: &CallContext) -> Result<WatcherStatus, ToolError> {
        self.inner.stop(id, Viewer::Owner(context)).await
    }

    /// Lets a watcher check no more until it is [unpaused](Self::unpause). A check that is under way ends as it does.
    pub async fn pause(&self, id: &str, context: &CallContext) -> Result<WatcherStatus, ToolError> {
        self.change(id, context, WatcherState::Paused).await
    }

    /// Lets a watcher go on that is paused, or has paused itself, with a check at once.
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
        to_the_end(async move { inner.change(&id, state).await }).await
    }

    /// How a watcher stands.
    pub async fn status(&self, id: &str, context: &CallContext) -> Result<WatcherStatus, ToolError> {
        self.inner.forget_old().await;
        self.inner.status(id, Viewer::Owner(context))
    }

    /// The watchers of whoever asks, in the order in which they were started.
    pub async fn list(&self, context: &CallContext) -> Vec<WatcherStatus> {
        self.inner.forget_old().await;
        self.inner.list(Viewer::Owner(context))
    }

    /// The last checks of a watcher, the last one first, at most [`MAX_WATCH_HISTORY`].
    pub fn history(&self, id: &str, context: &CallContext) -> Result<Vec<WatcherCheck>, ToolError> {
        self.inner.history(id, Viewer::Owner(context))
    }

    /// The watchers of everybody, in the order in which they were started. For whoever operates the program.
    pub fn all(&self) -> Vec<Owned<WatcherStatus>> {
        let statuses = self.inner.list(Viewer::Operator).into_iter();
        statuses.filter_map(|status| self.inner.owned(status)).collect()
    }

    /// How a watcher of anybody stands. For whoever operates the program.
    pub fn status_of_any(&self, id: &str) -> Result<Owned<WatcherStatus>, ToolError> {
        let status = self.inner.status(id, Viewer::Operator)?;
        self.inner.owned(status).ok_or_else(|| gone(id))
    }

    /// Stops a watcher of anybody, and forgets it. For whoever operates the program.
    pub async fn stop_any(&self, id: &str) -> Result<WatcherStatus, ToolError> {
        self.inner.stop(id, Viewer::Operator).await
    }

    /// The last checks of a watcher of anybody in this process, the last one first. For whoever operates the program.
    pub fn history_of_any(&self, id: &str) -> Result<Vec<WatcherCheck>, ToolError> {
        self.inner.history(id, Viewer::Operator)
    }

    /// Stops the watchers of a session that nobody goes on with, and forgets them: there would be nobody to tell. A session
    /// that goes on after a restart has not ended, and keeps its watchers.
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
        to_the_end(removing).await;
    }

    /// Gives the checks that are made so much time, cancels the others, and writes down how all watchers stand. No more are
    /// made once [`Services::stop_intake`] was called.
    pub async fn close(&self, time: Duration) {
        let inner = &self.inner;
        let mut turns = inner.turns.subscribe();
        if tokio::time::timeout(time, turns.wait_for(|turns| *turns == 0)).await.is_err() {
            inner.table.cancel_turns();
            // One that does not end is of unknown outcome the next time.
            let _ = tokio::time::timeout(CANCEL_WAIT, turns.wait_for(|turns| *turns == 0)).await;
        }
        let unsaved = inner.table.unsaved();
        let saved = futures::future::join_all(unsaved.iter().map(|id| inner.save(id))).await;
        if let Some(error) = saved.into_iter().find_map(Result::err) {
            tracing::warn!(%error, "how watchers stand is not kept");
        }
    }
}

impl Inner {
    /// With whose it is. None where it was forgotten meanwhile.
    fn owned(&self, status: WatcherStatus) -> Option<Owned<WatcherStatus>> {
        self.table
            .with(&status.watcher_id, |entry| entry.watcher.owner.clone())
            .map(|owner| owner.owning(status))
    }

    fn status(&self, id: &str, viewer: Viewer<'_>) -> Result<WatcherStatus, ToolError> {
        let (id, now) = (self.table.find(id, viewer)?, self.services.clock.now());
        self.table.with(&id, |entry| entry.status(&id, now)).ok_or_else(|| gone(&id))
    }

    fn list(&self, viewer: Viewer<'_>) -> Vec<WatcherStatus> {
        let known = self.table.of(viewer);
        known.iter().filter_map(|id| Some(self.status(id, viewer).ok()?.without_value())).collect()
    }

    fn history(&self, id: &str, viewer: Viewer<'_>) -> Result<Vec<WatcherCheck>, ToolError> {
        let id = self.table.find(id, viewer)?;
        let checks =
            self.table.with(&id, |entry| entry.history.iter().rev().map(WatcherCheck::from).collect());
        checks.ok_or_else(|| gone(&id))
    }

    async fn start(&self, entry: Entry) -> Result<WatcherStatus, ToolError> {
        self.forget_old().await;
        let id =
            random_id("watch").map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        let id: Arc<str> = id.into();
        let mut changes = vec![record(&id, &entry.watcher)];
        let forgotten = self.table.begin(&id, entry, &self.settings)?;
        changes.extend(forgotten.into_iter().map(|id| Change::remove(Kind::Watcher, &*id)));
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
        to_the_end(async move { inner.stop_known(&id).await }).await
    }

    async fn stop_known(&self, id: &str) -> Result<WatcherStatus, ToolError> {
        let mut status = self.status(id, Viewer::Operator)?;
        self.take_lease(id).await?;
        let removed = self.remove(id).await;
        self.services.release(id).await;
        (status.status, status.next_check) = (WatcherState::Ended, None);
        Ok(status.with_note(match removed {
            Ok(()) => "it is stopped and forgotten".to_owned(),
            Err(error) => format!("it is stopped, and comes back when the program starts again: {error}"),
        }))
    }

    /// Pauses a watcher, or lets it go on.
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
        let note = match changed.ok_or_else(|| gone(id)) {
            Ok(Ok(true)) => {
                let saved = self.save(id).await;
                let is_active = state == WatcherState::Active;
                self.schedule(id, is_active.then(Instant::now));
                match saved {
                    Ok(()) => None,
                    Err(error) => Some(format!("this is forgotten when the program ends: {error}")),
                }
            }
            Ok(Ok(false)) => Some("it was so already".to_owned()),
            Ok(Err(error)) | Err(error) => {
                self.give_lease(id).await;
                return Err(error);
            }
        };
        self.give_lease(id).await;
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
        self.services.store.apply(vec![Change::remove(Kind::Watcher, id)]).await
    }

    async fn forget_old(&self) {
        for id in self.table.old(self.services.clock.now()) {
            if let Err(error) = self.remove(&id).await {
                tracing::warn!(%error, %id, "a watcher that has ended is still kept");
            }
        }
    }

    fn schedule(&self, id: &Arc<str>, due: Option<Instant>) {
        if self.table.schedule(id, due) {
            self.wake.notify_one();
        }
    }

    /// Says when each watcher is due that is not scheduled: when its interval has passed, and those that are overdue one
    /// after the other.
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
                    // A clock that was set back says nothing.
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
    /// Whether there is anything to do for it.
    fn has_work(&self) -> bool {
        self.state == WatcherState::Active || self.firing.is_some() || self.is_under_way
    }
}

/// A watcher as it was kept.
fn entry(record: Record) -> Option<(Arc<str>, Entry)> {
    let Record { id, body, .. } = record;
    let read = serde_json::from_value::<Watcher>(body).map_err(|error| error.to_string());
    let read = read.and_then(|watcher| match watcher.request.parsed_condition() {
        Ok(condition) => Ok(Entry::new(watcher, condition)),
        Err(error) => Err(error.to_string()),
    });
    match read {
        Ok(entry) => Some((id.into(), entry)),
        Err(error) => {
            tracing::warn!(%error, %id, "a watcher is not understood");
            None
        }
    }
}

/// One that was there a moment ago.
fn gone(id: &str) -> ToolError {
    ToolError::new(ErrorKind::NotFound, format!("there is no watcher `{id}` any more"))
}
