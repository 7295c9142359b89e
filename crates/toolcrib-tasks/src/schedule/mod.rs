//! Schedules: actions that run once at a time, or repeatedly according to a cron pattern.
//!
//! A `Schedule` belongs to its creator, whose session is notified of its runs at the next turn. It
//! outlives that session, and ends when it is completed or cancelled. `transitions` are pure functions that decide
//! about due and interrupted runs. `run` persists these decisions before it acts on them.

mod arguments;
mod lifecycle;
mod record;
mod run;
mod status;
mod time;
mod timeline;
mod tools;
mod transitions;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use tokio::sync::Semaphore;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::CallContext;

use self::record::Schedule;
use crate::ledger::{Bound, Counted, Ledger, Scope, start_timer};
use crate::owner::WithOwner;
use crate::run_detached::run_detached;
use crate::store::StoreError;
use crate::{Action, Services};

pub use record::{LastRun, Overlap, RunOutcome, ScheduleState};
use status::NEXT_RUNS;
pub use status::ScheduleStatus;
pub use time::ScheduleTime;
pub use timeline::{ScheduleRun, ScheduleTimeline};
pub use tools::{SCHEDULER, Scheduler};

/// The shortest catch-up window.
const MIN_CATCH_UP: Duration = Duration::from_mins(1);

/// The longest catch-up window.
const MAX_CATCH_UP: Duration = Duration::from_hours(24 * 7);

/// The maximum length of the label of a schedule in characters.
const MAX_LABEL_CHARS: usize = 100;

/// The maximum size of the action of a schedule in bytes of JSON.
const MAX_ACTION_BYTES: usize = 32 * 1024;

/// The age up to which a past time of a single run means now, since writing the request takes time.
const PAST_TOLERANCE: SignedDuration = SignedDuration::from_mins(1);

/// The limits of schedules.
#[derive(Clone, Debug)]
#[non_exhaustive]
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

impl ScheduleSettings {
    /// Returns the limits of schedules. That of active schedules also applies to ended ones.
    fn bounds(&self) -> [Bound; 4] {
        [
            Bound::new(Scope::Session, Counted::Active, self.max_per_session).refusing(|active, _| {
                limit_reached(format!("this session has {active} active schedules, which is the limit"))
                    .with_hint("cancel one with `schedule_cancel`; `schedule_list` lists them")
            }),
            Bound::new(Scope::Session, Counted::Ended, self.max_per_session).evicting(),
            Bound::new(Scope::Client, Counted::Both, self.max_per_client).refusing(|all, limit| {
                limit_reached(format!(
                    "this client has {all} schedules in all its sessions; the limit is {limit}"
                ))
                .with_hint("cancel one with `schedule_cancel`; ended schedules are removed after a day")
            }),
            Bound::new(Scope::All, Counted::Both, self.max_total).refusing(|all, _| {
                limit_reached(format!("there are {all} schedules in all, which is the limit"))
                    .with_hint("tell the user to cancel schedules that are not needed")
            }),
        ]
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
    ledger: Ledger<Schedule, ScheduleTime>,
    settings: ScheduleSettings,
    /// The permits for concurrent runs.
    permits: Arc<Semaphore>,
}

impl Schedules {
    /// Loads the schedules from the store. They run after [`resume`](Self::resume).
    pub async fn open(services: Arc<Services>, settings: ScheduleSettings) -> Result<Self, StoreError> {
        let permits = Arc::new(Semaphore::new(settings.max_running.clamp(1, Semaphore::MAX_PERMITS)));
        let zone = settings.time_zone.clone();
        let (ledger, marked) = Ledger::open(services, move |body| Schedule::read(body, &zone)).await?;
        let inner = SchedulesInner { ledger, settings, permits };
        inner.apply_left_cancel_markers(&marked).await;
        inner.wake_all();
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Starts the timer. The tool caller must be set. Interrupted runs that may be repeated start again with the same
    /// key; the others are reported to their sessions.
    pub async fn resume(&self) -> Result<(), ToolError> {
        let inner = &self.inner;
        inner.ledger.services.tool_caller()?;
        if !inner.ledger.begin_timer() {
            return Ok(());
        }
        for live in inner.ledger.matching(|schedule| !schedule.running.is_empty()) {
            let change_lock = live.change_lock.lock().await;
            if inner.acquire(&live).await {
                inner.resolve_interrupted(&live, &change_lock).await;
                inner.ledger.release_if_idle(&live).await;
            }
        }
        inner.reset_all().await;
        start_timer(inner);
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
        let own = self.inner.ledger.of(context);
        own.iter().map(|live| live.status(1).without_run_detail()).collect()
    }

    /// Returns the status of a schedule of the caller.
    pub async fn status(&self, id: &str, context: &CallContext) -> Result<ScheduleStatus, ToolError> {
        let live = self.inner.ledger.find_shared(id, context).await?;
        Ok(live.status(NEXT_RUNS))
    }

    /// Cancels a schedule of the caller, and its current run.
    pub async fn cancel(&self, id: &str, context: &CallContext) -> Result<ScheduleStatus, ToolError> {
        let live = self.inner.ledger.find_shared(id, context).await?;
        let inner = Arc::clone(&self.inner);
        Ok(run_detached(async move { inner.cancel(&live).await }).await)
    }

    /// Returns the schedules of all owners, in the order of their creation. For operators.
    pub async fn all(&self) -> Vec<WithOwner<ScheduleStatus>> {
        let ledger = &self.inner.ledger;
        if ledger.services.is_shared() {
            ledger.reload_all().await;
            self.inner.wake_all();
        }
        ledger.all().iter().map(|live| live.owner.attach_to(live.status(1).without_run_detail())).collect()
    }

    /// Returns the status of a schedule of any owner. For operators.
    pub async fn status_of_any(&self, id: &str) -> Result<WithOwner<ScheduleStatus>, ToolError> {
        let live = self.inner.ledger.get(id)?;
        self.inner.ledger.refresh(&live).await;
        Ok(live.owner.attach_to(live.status(NEXT_RUNS)))
    }

    /// Returns the past and next runs of a schedule of any owner. For operators.
    pub fn timeline_of_any(&self, id: &str) -> Result<ScheduleTimeline, ToolError> {
        Ok(self.inner.ledger.get(id)?.timeline())
    }

    /// Cancels a schedule of any owner. For operators.
    pub async fn cancel_any(&self, id: &str) -> Result<WithOwner<ScheduleStatus>, ToolError> {
        let live = self.inner.ledger.get(id)?;
        let (inner, cancelled) = (Arc::clone(&self.inner), Arc::clone(&live));
        let status = run_detached(async move { inner.cancel(&cancelled).await }).await;
        Ok(live.owner.attach_to(status))
    }

    /// Returns the ids of the stored schedules that cannot be read, with the reasons. A newer version may have written
    /// them, so they stay in the store unchanged.
    pub fn unreadable(&self) -> BTreeMap<String, String> {
        self.inner.ledger.unreadable()
    }

    /// Returns the names of those that run and do not wait for a person.
    pub(crate) fn in_progress(&self) -> Vec<String> {
        self.inner.ledger.in_progress()
    }

    /// Waits for the current runs to end, and cancels them after the given time. The next start treats cancelled runs
    /// like runs that a crash has interrupted. No runs start after [`Services::stop_intake`].
    pub async fn close(&self, time: Duration) {
        self.inner.ledger.close(time).await;
    }
}

fn limit_reached(message: String) -> ToolError {
    ToolError::new(ErrorKind::LimitReached, message)
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}
