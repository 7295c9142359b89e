//! Schedules: actions that run once at a time, or repeatedly according to a cron pattern.
//!
//! A [`Schedule`](record::Schedule) belongs to its creator, whose session is notified of its runs at the next turn. It
//! outlives that session, and ends when it is completed or cancelled. One Tokio task waits for all schedules
//! ([`timer`]). [`transitions`] are pure functions that decide about due and interrupted runs. [`run`] persists these
//! decisions before it acts on them.

mod arguments;
mod leases;
mod lifecycle;
mod record;
mod run;
mod status;
mod table;
mod time;
mod timer;
mod tools;
mod transitions;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::CallContext;

use self::leases::cancel_marker_target;
use self::table::{LiveSchedule, ScheduleTable, not_found};
use crate::owner::WithOwner;
use crate::run_detached::run_detached;
use crate::{Action, RecordKind, Services, StoreError};

pub use record::{LastRun, Overlap, RunOutcome, ScheduleState};
pub use status::{NEXT_RUNS, ScheduleStatus};
pub use time::{MIN_CRON_INTERVAL, ScheduleTime};
pub use tools::{SCHEDULER, Scheduler};
pub use transitions::MAX_OVERLAPPING;

/// The shortest catch-up window.
pub const MIN_CATCH_UP: Duration = Duration::from_mins(1);

/// The longest catch-up window.
pub const MAX_CATCH_UP: Duration = Duration::from_hours(24 * 7);

/// The maximum length of the label of a schedule in characters.
pub const MAX_LABEL_CHARS: usize = 100;

/// The maximum size of the action of a schedule in bytes of JSON.
pub const MAX_ACTION_BYTES: usize = 32 * 1024;

/// The age up to which a past time of a single run means now, since writing the request takes time.
const PAST_TOLERANCE: SignedDuration = SignedDuration::from_mins(1);

/// The time that a cancelled run has to end.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// The limits of schedules.
#[derive(Clone, Debug)]
pub struct ScheduleSettings {
    /// The maximum number of active schedules per session; 100. The same number of ended schedules is retained.
    pub max_per_session: usize,
    /// The maximum number of schedules of a client of the server in all its sessions, including ended ones; 1,000.
    pub max_per_client: usize,
    /// The maximum number of all schedules, including ended ones; 20,000.
    pub max_total: usize,
    /// The maximum number of concurrent runs of all schedules; 64. Further runs wait.
    pub max_running: usize,
    /// The maximum duration of a run; one hour.
    pub max_duration: Duration,
    /// The default catch-up window, which is the maximum delay of a run; one hour.
    pub catch_up: Duration,
    /// The time that an ended schedule is retained; one day.
    pub retention: Duration,
    /// The default time zone of times and patterns; that of the system.
    pub time_zone: TimeZone,
}

impl Default for ScheduleSettings {
    fn default() -> Self {
        Self {
            max_per_session: 100,
            max_per_client: 1_000,
            max_total: 20_000,
            max_running: 64,
            max_duration: Duration::from_hours(1),
            catch_up: Duration::from_hours(1),
            retention: Duration::from_hours(24),
            time_zone: TimeZone::system(),
        }
    }
}

/// A request to create a schedule.
#[derive(Clone, Debug)]
pub struct ScheduleRequest {
    /// The times of its runs.
    pub time: ScheduleTime,
    /// The action.
    pub action: Action,
    /// A label for people.
    pub label: Option<String>,
    /// The behavior if a run is due while another is in progress.
    pub overlap: Overlap,
    /// The catch-up window: the last run that was missed while the program was down still starts within this time. The
    /// default is that of the settings.
    pub catch_up: Option<Duration>,
    /// The number of runs after which it ends. It is unlimited if this is 0 or absent.
    pub max_runs: Option<u64>,
}

impl ScheduleRequest {
    /// Creates a request with the defaults.
    pub fn new(time: ScheduleTime, action: Action) -> Self {
        Self { time, action, label: None, overlap: Overlap::default(), catch_up: None, max_runs: None }
    }
}

/// The schedules of all sessions. Clones share them.
///
/// A run starts at least once for each time that is due while the program is running, and for the last time that was
/// missed within the catch-up window. The key of a run stays the same if the run is repeated after a crash. A run of
/// unknown outcome that may not be repeated is reported to its session instead.
#[derive(Clone)]
pub struct Schedules {
    inner: Arc<SchedulesInner>,
}

struct SchedulesInner {
    services: Arc<Services>,
    settings: ScheduleSettings,
    table: ScheduleTable,
    /// The permits for concurrent runs.
    permits: Arc<Semaphore>,
    /// The number of runs in progress.
    running: watch::Sender<usize>,
    /// Cancelled when all runs must end.
    ending: CancellationToken,
    /// Wakes the timer when a schedule may be due earlier.
    woken: Arc<Notify>,
    has_timer: AtomicBool,
    /// The ids of unreadable records in the store, with the reasons.
    unreadable: Mutex<BTreeMap<String, String>>,
}

impl Schedules {
    /// Loads the schedules from the store. They run after [`resume`](Self::resume).
    pub async fn open(services: Arc<Services>, settings: ScheduleSettings) -> Result<Self, StoreError> {
        let records = services.store.load(RecordKind::Schedule).await?;
        let permits = Arc::new(Semaphore::new(settings.max_running.clamp(1, Semaphore::MAX_PERMITS)));
        let inner = SchedulesInner {
            services,
            settings,
            table: ScheduleTable::default(),
            permits,
            running: watch::Sender::new(0),
            ending: CancellationToken::new(),
            woken: Arc::default(),
            has_timer: AtomicBool::new(false),
            unreadable: Mutex::default(),
        };
        records
            .iter()
            .filter(|record| cancel_marker_target(&record.id).is_none())
            .for_each(|record| inner.load_record(record));
        inner
            .apply_cancel_markers(records.iter().filter_map(|record| cancel_marker_target(&record.id)))
            .await;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Starts the timer. The tool caller must be set. Interrupted runs that may be repeated start again with the same
    /// key; the others are reported to their sessions.
    pub async fn resume(&self) -> Result<(), ToolError> {
        let inner = &self.inner;
        inner.services.tool_caller()?;
        if inner.has_timer.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        for live in inner.table.matching(|live| !live.schedule().running.is_empty()) {
            let change_lock = live.change_lock.lock().await;
            if inner.acquire(&live).await {
                inner.resolve_interrupted(&live, &change_lock).await;
                inner.release_if_idle(&live).await;
            }
        }
        inner.reset_all().await;
        tokio::spawn(timer::run(Arc::downgrade(inner)));
        Ok(())
    }

    /// Creates a schedule that belongs to the caller. It is persisted when this returns; if that fails, its note says
    /// so.
    pub async fn create(
        &self,
        request: ScheduleRequest,
        context: &CallContext,
    ) -> Result<ScheduleStatus, ToolError> {
        let inner = Arc::clone(&self.inner);
        let schedule = inner.schedule(&request, context)?;
        // What has begun is brought to its end, also where the caller does not wait for it.
        run_detached(async move { inner.add(schedule, request.time).await }).await
    }

    /// Returns the schedules of the caller, in the order of their creation.
    pub fn list(&self, context: &CallContext) -> Vec<ScheduleStatus> {
        let own = self.inner.table.of(context);
        own.iter().map(|live| live.status(1).without_run_detail()).collect()
    }

    /// Returns the status of a schedule of the caller.
    pub async fn status(&self, id: &str, context: &CallContext) -> Result<ScheduleStatus, ToolError> {
        let live = self.inner.table.find(id, context)?;
        Ok(self.inner.reloaded(&live).await.status(NEXT_RUNS))
    }

    /// Cancels a schedule of the caller, and its current run.
    pub async fn cancel(&self, id: &str, context: &CallContext) -> Result<ScheduleStatus, ToolError> {
        let live = self.inner.table.find(id, context)?;
        let inner = Arc::clone(&self.inner);
        Ok(run_detached(async move { inner.cancel(&live).await }).await)
    }

    /// Returns the schedules of all owners, in the order of their creation. For operators.
    pub async fn all(&self) -> Vec<WithOwner<ScheduleStatus>> {
        let inner = &self.inner;
        if inner.services.is_shared()
            && let Err(error) = inner.reload_all().await
        {
            tracing::warn!(%error, "the schedules of other processes cannot be read");
        }
        let all = inner.table.all();
        all.iter().map(|live| live.attach_to(live.status(1).without_run_detail())).collect()
    }

    /// Returns the status of a schedule of any owner. For operators.
    pub async fn status_of_any(&self, id: &str) -> Result<WithOwner<ScheduleStatus>, ToolError> {
        let live = self.inner.table.get(id).ok_or_else(|| not_found(id))?;
        let status = self.inner.reloaded(&live).await.status(NEXT_RUNS);
        Ok(live.attach_to(status))
    }

    /// Cancels a schedule of any owner. For operators.
    pub async fn cancel_any(&self, id: &str) -> Result<WithOwner<ScheduleStatus>, ToolError> {
        let live = self.inner.table.get(id).ok_or_else(|| not_found(id))?;
        let (inner, cancelled) = (Arc::clone(&self.inner), Arc::clone(&live));
        let status = run_detached(async move { inner.cancel(&cancelled).await }).await;
        Ok(live.attach_to(status))
    }

    /// Returns the ids of the stored schedules that cannot be read, with the reasons. A newer version may have written
    /// them, so they stay in the store unchanged.
    pub fn unreadable(&self) -> BTreeMap<String, String> {
        self.inner.unreadable().clone()
    }

    /// Waits for the current runs to end, and cancels them after the given time. The next start treats cancelled runs
    /// like runs that a crash has interrupted. No runs start after [`Services::stop_intake`].
    pub async fn close(&self, time: Duration) {
        let inner = &self.inner;
        let ended = || async {
            // `inner` holds the sender, so this cannot fail.
            let _ = inner.running.subscribe().wait_for(|running| *running == 0).await;
        };
        if tokio::time::timeout(time, ended()).await.is_err() {
            inner.ending.cancel();
            // A run that does not end in time is dropped with the program.
            let _ = tokio::time::timeout(2 * CANCEL_WAIT, ended()).await;
        }
    }
}

impl SchedulesInner {
    fn add_unreadable(&self, id: &str, reason: &str) {
        if self.unreadable().insert(id.to_owned(), reason.to_owned()).is_none() {
            tracing::warn!(%id, %reason, "a stored schedule cannot be read, and stays unchanged");
        }
    }

    fn unreadable(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn retention(&self) -> SignedDuration {
        SignedDuration::try_from(self.settings.retention).unwrap_or(SignedDuration::MAX)
    }
}

impl LiveSchedule {
    fn status(&self, next_runs: usize) -> ScheduleStatus {
        ScheduleStatus::of(&self.id, &self.schedule(), &self.time, next_runs)
    }

    fn attach_to(&self, status: ScheduleStatus) -> WithOwner<ScheduleStatus> {
        self.schedule().owner.attach_to(status)
    }
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}
