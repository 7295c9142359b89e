//! What is done at a moment, or at all moments of a pattern.
//!
//! A [`Schedule`](record::Schedule) outlives the session that made it: it belongs to whoever made it, who is told of its runs
//! at the session's next turn, and it ends when it is over or cancelled, not with the session. One task waits for all of
//! them ([`timer`]). What a moment means for a schedule is decided without waiting or keeping ([`decision`]); [`run`] does
//! what was decided, and keeps it before it is done.

mod arguments;
mod change;
mod decision;
mod record;
mod run;
mod shared;
mod status;
mod table;
mod time;
mod timer;
mod tools;

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

use self::shared::marked;
use self::table::{Live, Table, not_found};
use crate::owner::Owned;
use crate::to_the_end::to_the_end;
use crate::{Action, Kind, Services, StoreError};

pub use decision::MAX_OVERLAPPING;
pub use record::{LastRun, Overlap, RunOutcome, ScheduleState};
pub use status::{NEXT_RUNS, ScheduleStatus};
pub use time::{MIN_CRON_INTERVAL, ScheduleTime};
pub use tools::{SCHEDULER, Scheduler};

/// The shortest time by which a run may be late.
pub const MIN_CATCH_UP: Duration = Duration::from_mins(1);

/// The longest time by which a run may be late.
pub const MAX_CATCH_UP: Duration = Duration::from_hours(24 * 7);

/// How long the label of a schedule may be, in characters.
pub const MAX_LABEL_CHARS: usize = 100;

/// How large what a schedule does may be, in bytes of JSON.
pub const MAX_ACTION_BYTES: usize = 32 * 1024;

/// How long ago a single moment may be for it to mean now: whoever wrote it has taken a while.
const JUST_NOW: SignedDuration = SignedDuration::from_mins(1);

/// How long a run that is cancelled may take to end.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// The bounds of schedules.
#[derive(Clone, Debug)]
pub struct ScheduleSettings {
    /// How many schedules of a session are active; 100. As many that are over are kept beside them.
    pub max_per_session: usize,
    /// How many schedules a client of the server has in all its sessions, those that are over among them; 1,000.
    pub max_per_client: usize,
    /// How many schedules there are in all, those that are over among them; 20,000.
    pub max_total: usize,
    /// How many runs are under way at once, of all schedules; 64. Others wait for their turn.
    pub max_running: usize,
    /// How long a run may take; an hour.
    pub max_duration: Duration,
    /// How late a run may be started where the schedule does not say; an hour.
    pub catch_up: Duration,
    /// How long a schedule that is over is kept; a day.
    pub retention: Duration,
    /// The time zone of moments that are said without one; that of the machine.
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

/// A schedule that somebody wants.
#[derive(Clone, Debug)]
pub struct ScheduleRequest {
    /// When it runs.
    pub time: ScheduleTime,
    /// What it does.
    pub action: Action,
    /// What it is called, for people.
    pub label: Option<String>,
    /// What happens to a run that is due while another is under way.
    pub overlap: Overlap,
    /// How late a run may be started: what was missed while the program was down is made up for within this time, the last
    /// run of several. That of the settings where absent.
    pub catch_up: Option<Duration>,
    /// After how many runs it is over; never where it is 0 or absent.
    pub max_runs: Option<u64>,
}

impl ScheduleRequest {
    /// One with the defaults.
    pub fn new(time: ScheduleTime, action: Action) -> Self {
        Self { time, action, label: None, overlap: Overlap::default(), catch_up: None, max_runs: None }
    }
}

/// The schedules of all sessions. Clones share them.
///
/// A run is made at least once for each moment that is due while the program runs, and for the last one that was missed
/// within the catch-up window. It has a key, the same when it is made again after a crash; a run of unknown outcome that may
/// not be repeated is not made again, and its session is told.
#[derive(Clone)]
pub struct Schedules {
    inner: Arc<Inner>,
}

struct Inner {
    services: Arc<Services>,
    settings: ScheduleSettings,
    table: Table,
    /// What a run needs.
    permits: Arc<Semaphore>,
    /// How many runs are under way.
    running: watch::Sender<usize>,
    /// Set when runs have to end.
    ending: CancellationToken,
    /// Says to the timer that there may be something to do earlier.
    woken: Arc<Notify>,
    has_timer: AtomicBool,
    /// What is in the store and cannot be read, and why.
    set_aside: Mutex<BTreeMap<String, String>>,
}

impl Schedules {
    /// Takes up the schedules that are known from before. They run once they are [resumed](Self::resume).
    pub async fn open(services: Arc<Services>, settings: ScheduleSettings) -> Result<Self, StoreError> {
        let records = services.store.load(Kind::Schedule).await?;
        let permits = Arc::new(Semaphore::new(settings.max_running.clamp(1, Semaphore::MAX_PERMITS)));
        let inner = Inner {
            services,
            settings,
            table: Table::default(),
            permits,
            running: watch::Sender::new(0),
            ending: CancellationToken::new(),
            woken: Arc::default(),
            has_timer: AtomicBool::new(false),
            set_aside: Mutex::default(),
        };
        records.iter().filter(|record| marked(&record.id).is_none()).for_each(|record| inner.take(record));
        inner.clear_marks(records.iter().filter_map(|record| marked(&record.id))).await;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Runs what is due from now on, once it is known where calls go in. Of runs that the end of the program has interrupted,
    /// those that may be repeated are made again, under the same key; of the others the sessions are told.
    pub async fn resume(&self) -> Result<(), ToolError> {
        let inner = &self.inner;
        inner.services.entrance()?;
        if inner.has_timer.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        for live in inner.table.matching(|live| !live.schedule().running.is_empty()) {
            let gate = live.gate.lock().await;
            if inner.take_over(&live).await {
                inner.take_up(&live, &gate).await;
                inner.let_go(&live).await;
            }
        }
        inner.reset_all().await;
        tokio::spawn(timer::run(Arc::downgrade(inner)));
        Ok(())
    }

    /// Makes a schedule, for whoever asks. It is kept when this returns; where it cannot be, its note says so.
    pub async fn create(
        &self,
        request: ScheduleRequest,
        context: &CallContext,
    ) -> Result<ScheduleStatus, ToolError> {
        let inner = Arc::clone(&self.inner);
        let schedule = inner.schedule(&request, context)?;
        // What has begun is brought to its end, also where the caller does not wait for it.
        to_the_end(async move { inner.add(schedule, request.time).await }).await
    }

    /// The schedules of whoever asks, in the order in which they were made.
    pub fn list(&self, context: &CallContext) -> Vec<ScheduleStatus> {
        let own = self.inner.table.of(context);
        own.iter().map(|live| live.status(1).without_detail()).collect()
    }

    /// How a schedule of whoever asks stands.
    pub async fn status(&self, id: &str, context: &CallContext) -> Result<ScheduleStatus, ToolError> {
        let live = self.inner.table.find(id, context)?;
        Ok(self.inner.newest(&live).await.status(NEXT_RUNS))
    }

    /// Cancels a schedule of whoever asks, and the run of it that is under way.
    pub async fn cancel(&self, id: &str, context: &CallContext) -> Result<ScheduleStatus, ToolError> {
        let live = self.inner.table.find(id, context)?;
        let inner = Arc::clone(&self.inner);
        Ok(to_the_end(async move { inner.cancel(&live).await }).await)
    }

    /// The schedules of everybody, in the order in which they were made. For whoever operates the program.
    pub async fn all(&self) -> Vec<Owned<ScheduleStatus>> {
        let inner = &self.inner;
        if inner.services.is_shared()
            && let Err(error) = inner.read_all_again().await
        {
            tracing::warn!(%error, "schedules of other processes are not seen");
        }
        let all = inner.table.all();
        all.iter().map(|live| live.owning(live.status(1).without_detail())).collect()
    }

    /// How a schedule of anybody stands. For whoever operates the program.
    pub async fn status_of_any(&self, id: &str) -> Result<Owned<ScheduleStatus>, ToolError> {
        let live = self.inner.table.get(id).ok_or_else(|| not_found(id))?;
        let status = self.inner.newest(&live).await.status(NEXT_RUNS);
        Ok(live.owning(status))
    }

    /// Cancels a schedule of anybody. For whoever operates the program.
    pub async fn cancel_any(&self, id: &str) -> Result<Owned<ScheduleStatus>, ToolError> {
        let live = self.inner.table.get(id).ok_or_else(|| not_found(id))?;
        let (inner, cancelled) = (Arc::clone(&self.inner), Arc::clone(&live));
        let status = to_the_end(async move { inner.cancel(&cancelled).await }).await;
        Ok(live.owning(status))
    }

    /// The ids of what is kept as a schedule and cannot be read, with the reasons: a newer version may have written it. It is
    /// left as it is.
    pub fn set_aside(&self) -> BTreeMap<String, String> {
        self.inner.aside().clone()
    }

    /// Gives the runs that are under way so much time, and cancels the others, which the next start takes up as it does what
    /// a crash has interrupted. No more are started once [`Services::stop_intake`] was called.
    pub async fn close(&self, time: Duration) {
        let inner = &self.inner;
        let ended = || async {
            // The sender is this one's own.
            let _ = inner.running.subscribe().wait_for(|running| *running == 0).await;
        };
        if tokio::time::timeout(time, ended()).await.is_err() {
            inner.ending.cancel();
            // One that does not end by then is dropped with the program.
            let _ = tokio::time::timeout(2 * CANCEL_WAIT, ended()).await;
        }
    }
}

impl Inner {
    fn set_aside(&self, id: &str, reason: &str) {
        if self.aside().insert(id.to_owned(), reason.to_owned()).is_none() {
            tracing::warn!(%id, %reason, "a schedule that is kept cannot be read, and is left as it is");
        }
    }

    fn aside(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        self.set_aside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn retention(&self) -> SignedDuration {
        SignedDuration::try_from(self.settings.retention).unwrap_or(SignedDuration::MAX)
    }
}

impl Live {
    fn status(&self, next_runs: usize) -> ScheduleStatus {
        ScheduleStatus::of(&self.id, &self.schedule(), &self.time, next_runs)
    }

    fn owning(&self, status: ScheduleStatus) -> Owned<ScheduleStatus> {
        self.schedule().owner.owning(status)
    }
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}
