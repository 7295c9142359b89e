//! Watchers: calls that are repeated at intervals, and notifications about their results.
//!
//! A watcher calls a tool at intervals on behalf of its owner. It sends a notification when the result changes, fails
//! or meets a condition, and then performs its follow-up actions.
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
mod follow_up;
mod local;
mod request;
mod status;
mod template;
mod tools;
mod turn;
mod watcher;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::CallContext;

use self::concurrency::CheckLimits;
use self::local::{LiveWatcher, LocalWatcher};
use self::watcher::Watcher;
use crate::Services;
use crate::ledger::{Ledger, Live, start_timer};
use crate::owner::{Owner, WithOwner};
use crate::run_detached::run_detached;
use crate::store::StoreError;

pub use local::MAX_WATCH_HISTORY;
pub use request::{NotifyWhen, WatchRequest};
pub use status::{CheckOutcome, WatcherCheck, WatcherMetrics, WatcherState, WatcherStatus};
pub use watcher::MAX_SHOWN_BYTES;

/// The maximum duration of a check.
const MAX_CHECK_TIME: Duration = Duration::from_mins(10);

/// The interval at which the changes of uneventful checks are saved.
const CHECKPOINT: Duration = Duration::from_mins(5);

/// The interval between the checks that are overdue at start.
const OVERDUE_SPACING: Duration = Duration::from_millis(25);

/// The time that a watcher is retained after it has ended by itself.
const ENDED_RETENTION: Duration = Duration::from_hours(24);

/// The time that a change waits for the check of another process.
const LEASE_WAIT: Duration = Duration::from_secs(5);

/// The interval at which a change polls for the lease.
const LEASE_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The limits of watchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    ledger: Ledger<Watcher, LocalWatcher, Instant>,
    settings: WatcherSettings,
    check_limits: CheckLimits,
}

impl Watchers {
    /// Loads the watchers from the store. They check after [`resume`](Self::resume).
    pub async fn open(services: Arc<Services>, settings: WatcherSettings) -> Result<Self, StoreError> {
        let (ledger, _) = Ledger::open(services, LocalWatcher::read).await?;
        let inner = WatchersInner { ledger, settings, check_limits: CheckLimits::new(&settings) };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Resumes the active watchers. The tool caller must be set. Repeated calls have no effect.
    pub fn resume(&self) -> Result<(), ToolError> {
        let inner = &self.inner;
        inner.ledger.services.tool_caller()?;
        if inner.ledger.begin_timer() {
            inner.schedule_all();
            start_timer(inner);
        }
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
        let services = &inner.ledger.services;
        let tool_caller = services.tool_caller()?;
        let condition = request.check(services, tool_caller.catalogue(), context)?;
        let watcher = Watcher::new(Owner::of(context), request, services.clock.now());
        run_detached(async move { inner.start(watcher, LocalWatcher::new(condition)).await }).await
    }

    /// Stops and removes a watcher, and cancels its current check.
    pub async fn stop(&self, id: &str, context: &CallContext) -> Result<WatcherStatus, ToolError> {
        let (inner, live) = (Arc::clone(&self.inner), self.inner.ledger.find_shared(id, context).await?);
        run_detached(async move { inner.stop(&live).await }).await
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
        let (inner, live) = (Arc::clone(&self.inner), self.inner.ledger.find_shared(id, context).await?);
        run_detached(async move {
            inner.take_lease(&live).await?;
            let changed = inner.change(&live, state).await;
            inner.ledger.release_if_idle(&live).await;
            changed
        })
        .await
    }

    /// Returns the status of a watcher.
    pub async fn status(&self, id: &str, context: &CallContext) -> Result<WatcherStatus, ToolError> {
        self.inner.ledger.remove_expired(ENDED_RETENTION).await;
        let live = self.inner.ledger.find_shared(id, context).await?;
        Ok(self.inner.status(&live))
    }

    /// Returns the watchers of the caller, in the order in which they were started.
    pub async fn list(&self, context: &CallContext) -> Vec<WatcherStatus> {
        self.inner.ledger.remove_expired(ENDED_RETENTION).await;
        let own = self.inner.ledger.of(context);
        own.iter().map(|live| self.inner.status(live).without_value()).collect()
    }

    /// Returns up to [`MAX_WATCH_HISTORY`] checks of a watcher, the last one first.
    pub fn history(&self, id: &str, context: &CallContext) -> Result<Vec<WatcherCheck>, ToolError> {
        let live = self.inner.ledger.find(id, context)?;
        Ok(live.local.history().iter().map(WatcherCheck::from).collect())
    }

    /// Returns the watchers of all owners, in the order in which they were started. For operators.
    pub fn all(&self) -> Vec<WithOwner<WatcherStatus>> {
        let all = self.inner.ledger.all();
        all.iter().map(|live| live.owner.attach_to(self.inner.status(live).without_value())).collect()
    }

    /// Returns the status of a watcher of any owner. For operators.
    pub fn status_of_any(&self, id: &str) -> Result<WithOwner<WatcherStatus>, ToolError> {
        let live = self.inner.ledger.get(id)?;
        Ok(live.owner.attach_to(self.inner.status(&live)))
    }

    /// Stops and removes a watcher of any owner. For operators.
    pub async fn stop_any(&self, id: &str) -> Result<WatcherStatus, ToolError> {
        let (inner, live) = (Arc::clone(&self.inner), self.inner.ledger.get(id)?);
        run_detached(async move { inner.stop(&live).await }).await
    }

    /// Returns the checks of a watcher of any owner in this process, the last one first. For operators.
    pub fn history_of_any(&self, id: &str) -> Result<Vec<WatcherCheck>, ToolError> {
        let live = self.inner.ledger.get(id)?;
        Ok(live.local.history().iter().map(WatcherCheck::from).collect())
    }

    /// Stops and removes the watchers of a session that has ended, since no one reads their notifications. A session
    /// that resumes after a restart has not ended, and keeps its watchers.
    pub async fn end_session(&self, session: &str) {
        let (inner, own) = (Arc::clone(&self.inner), self.inner.ledger.of_session(session));
        // A watcher that cannot be removed from the store comes back, which was logged.
        let removing = async move { inner.ledger.remove_all(&own).await };
        run_detached(removing).await;
    }

    /// Returns the names of those that run and do not wait for a person.
    pub(crate) fn in_progress(&self) -> Vec<String> {
        self.inner.ledger.in_progress()
    }

    /// Waits for the current checks to end, cancels them after the given time, and saves all watchers. No checks start
    /// after [`Services::stop_intake`].
    pub async fn close(&self, time: Duration) {
        // The outcome of a check that does not end is unknown after the next start.
        self.inner.ledger.close(time).await;
        self.inner.ledger.save_unsaved().await;
    }
}

impl WatchersInner {
    fn status(&self, live: &LiveWatcher) -> WatcherStatus {
        live.status(self.ledger.services.clock.now(), self.ledger.due(live))
    }

    async fn start(&self, watcher: Watcher, local: LocalWatcher) -> Result<WatcherStatus, ToolError> {
        self.ledger.remove_expired(ENDED_RETENTION).await;
        let live = Live::create(watcher, local)?;
        let saved = self.ledger.insert(&live, &self.settings.bounds()).await?;
        self.ledger.set_due(&live, Some(Instant::now()));
        Ok(self.status(&live).with_note(match saved {
            Ok(()) => "it checks in the background; you are told".to_owned(),
            Err(error) => format!("it checks, and is forgotten when the program ends: {error}"),
        }))
    }

    async fn stop(&self, live: &LiveWatcher) -> Result<WatcherStatus, ToolError> {
        let mut status = self.status(live);
        self.take_lease(live).await?;
        let removed = self.ledger.remove(live).await;
        self.ledger.services.release(&live.id).await;
        (status.status, status.next_check) = (WatcherState::Ended, None);
        Ok(status.with_note(match removed {
            Ok(()) => "it is stopped and removed".to_owned(),
            Err(error) => format!("it is stopped, but restarts with the program: {error}"),
        }))
    }

    /// Pauses or resumes a watcher. The caller holds its lease.
    async fn change(&self, live: &LiveWatcher, state: WatcherState) -> Result<WatcherStatus, ToolError> {
        let is_changed = live.update(|watcher| {
            let is_changed = watcher.state != state && watcher.state != WatcherState::Ended;
            if is_changed {
                (watcher.state, watcher.reason, watcher.errors_in_row) = (state, None, 0);
            }
            is_changed
        });
        if live.task().state == WatcherState::Ended {
            let message = format!("the watcher `{}` has ended", live.id);
            return Err(ToolError::new(ErrorKind::InvalidArgs, message)
                .with_hint("start another one with `watch_start`"));
        }
        if !is_changed {
            return Ok(self.status(live).with_note("it already had this state"));
        }
        live.mark_unsaved();
        let saved = self.ledger.save(live).await;
        self.ledger.set_due(live, (state == WatcherState::Active).then(Instant::now));
        let status = self.status(live);
        Ok(match saved {
            Ok(()) => status,
            Err(error) => status.with_note(format!("this is lost when the program ends: {error}")),
        })
    }

    /// Acquires the lease to change a watcher that other processes may be checking.
    async fn take_lease(&self, live: &LiveWatcher) -> Result<(), ToolError> {
        let end = Instant::now() + LEASE_WAIT;
        loop {
            let change_lock = live.change_lock.lock().await;
            let acquired = self.ledger.acquire(live).await;
            drop(change_lock);
            match acquired {
                Ok(true) => return Ok(()),
                // Another process has removed it.
                Ok(false) if live.is_removed() => return self.ledger.get(&live.id).map(drop),
                Ok(false) if Instant::now() < end => tokio::time::sleep(LEASE_POLL_INTERVAL).await,
                Ok(false) => {
                    let message = format!("another process is checking `{}`", live.id);
                    return Err(ToolError::new(ErrorKind::Unavailable, message).with_hint("try again"));
                }
                Err(error) => return Err(ToolError::new(ErrorKind::Unavailable, error.to_string())),
            }
        }
    }

    /// Schedules all unscheduled watchers for the end of their intervals. Overdue watchers are scheduled one after the
    /// other.
    fn schedule_all(&self) {
        let (now, mut overdue) = (self.ledger.services.clock.now(), Duration::ZERO);
        for live in self.ledger.all() {
            let watcher = live.task();
            if self.ledger.due(&live).is_some() || live.is_running() || !watcher.has_work() {
                continue;
            }
            let wait = watcher.wait();
            let since = watcher.last_check.map_or(wait, |last| {
                // The clock may have been set back.
                Duration::try_from(now.duration_since(last)).unwrap_or(Duration::ZERO)
            });
            let mut left = wait.saturating_sub(since);
            if left.is_zero() || watcher.is_interrupted() {
                overdue += OVERDUE_SPACING;
                left = overdue;
            }
            self.ledger.set_due(&live, Some(Instant::now() + left));
        }
    }
}
