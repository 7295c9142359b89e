//! The table of schedules, and the times at which they must be processed.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::CallContext;

use super::ScheduleSettings;
use super::record::Schedule;
use super::time::ScheduleTime;

/// A schedule in this process.
pub(super) struct LiveSchedule {
    pub(super) id: String,
    pub(super) time: ScheduleTime,
    /// The lock that is held from a change until its write, so that changes reach the store in order.
    pub(super) change_lock: tokio::sync::Mutex<()>,
    schedule: Mutex<Arc<Schedule>>,
    /// The runs in progress in this process, by their due times.
    runs: Mutex<HashMap<Timestamp, CancellationToken>>,
    /// True if the store contains it.
    is_stored: AtomicBool,
    /// True if the store contains its current state.
    is_current: AtomicBool,
}

impl LiveSchedule {
    pub(super) fn new(id: String, schedule: Schedule, time: ScheduleTime, is_stored: bool) -> Arc<Self> {
        Arc::new(Self {
            id,
            time,
            change_lock: tokio::sync::Mutex::default(),
            schedule: Mutex::new(Arc::new(schedule)),
            runs: Mutex::default(),
            is_stored: AtomicBool::new(is_stored),
            is_current: AtomicBool::new(is_stored),
        })
    }

    /// Returns its current state.
    pub(super) fn schedule(&self) -> Arc<Schedule> {
        Arc::clone(&locked(&self.schedule))
    }

    /// Replaces its state. The caller holds the change lock.
    pub(super) fn set(&self, schedule: Schedule) {
        *locked(&self.schedule) = Arc::new(schedule);
    }

    pub(super) fn set_saved(&self, is_saved: bool) {
        self.is_stored.fetch_or(is_saved, Ordering::AcqRel);
        self.is_current.store(is_saved, Ordering::Release);
    }

    pub(super) fn is_stored(&self) -> bool {
        self.is_stored.load(Ordering::Acquire)
    }

    pub(super) fn is_current(&self) -> bool {
        self.is_current.load(Ordering::Acquire)
    }

    /// Records that a run starts in this process.
    pub(super) fn begin_run(&self, due: Timestamp, cancel: CancellationToken) {
        locked(&self.runs).insert(due, cancel);
    }

    pub(super) fn end_run(&self, due: Timestamp) {
        locked(&self.runs).remove(&due);
    }

    pub(super) fn runs_here(&self, due: Timestamp) -> bool {
        locked(&self.runs).contains_key(&due)
    }

    pub(super) fn is_running(&self) -> bool {
        !locked(&self.runs).is_empty()
    }

    pub(super) fn cancel_runs(&self) {
        locked(&self.runs).values().for_each(CancellationToken::cancel);
    }
}

/// The schedules of all sessions.
#[derive(Default)]
pub(super) struct ScheduleTable {
    index: Mutex<ScheduleIndex>,
}

#[derive(Default)]
struct ScheduleIndex {
    lives: HashMap<String, Arc<LiveSchedule>>,
    by_session: HashMap<String, BTreeSet<String>>,
    /// The times at which schedules must be processed; `wake_of` is the reverse index.
    wakes: BTreeSet<(Timestamp, String)>,
    wake_of: HashMap<String, Timestamp>,
}

impl ScheduleTable {
    pub(super) fn put(&self, live: &Arc<LiveSchedule>) {
        locked(&self.index).put(live);
    }

    /// Adds a schedule, and returns the ids of the ended schedules that are removed to make room for it. Returns an
    /// error if a limit is reached.
    pub(super) fn add(
        &self,
        live: &Arc<LiveSchedule>,
        settings: &ScheduleSettings,
    ) -> Result<Vec<String>, ToolError> {
        let mut known = locked(&self.index);
        let owner = &live.schedule().owner;
        let own = known.of_session(&owner.session);
        let mut over: Vec<_> =
            own.iter().filter_map(|own| Some((own.schedule().ended?, own.id.clone()))).collect();
        let active = own.len() - over.len();
        if active >= settings.max_per_session {
            let message = format!("this session has {active} active schedules, which is the limit");
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("cancel one with `schedule_cancel`; `schedule_list` lists them"));
        }
        over.sort();
        // The limit of active schedules also applies to ended ones.
        let surplus = over.len().saturating_sub(settings.max_per_session);
        let forgotten: Vec<String> = over.into_iter().take(surplus).map(|(_, id)| id).collect();
        let of_client =
            known.lives.values().filter(|other| other.schedule().owner.shares_client_with(owner)).count();
        if of_client.saturating_sub(forgotten.len()) >= settings.max_per_client {
            let message = format!(
                "this client has {of_client} schedules in all its sessions; the limit is {}",
                settings.max_per_client
            );
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("cancel one with `schedule_cancel`; ended schedules are removed after a day"));
        }
        if known.lives.len() - forgotten.len() >= settings.max_total {
            let message = format!("there are {} schedules in all, which is the limit", known.lives.len());
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("tell the user to cancel schedules that are not needed"));
        }
        for id in &forgotten {
            known.remove(id);
        }
        known.put(live);
        Ok(forgotten)
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<LiveSchedule>> {
        locked(&self.index).lives.get(id).cloned()
    }

    pub(super) fn remove(&self, id: &str) {
        locked(&self.index).remove(id);
    }

    /// Returns a schedule of the caller by its id.
    pub(super) fn find(&self, id: &str, context: &CallContext) -> Result<Arc<LiveSchedule>, ToolError> {
        let own = self.get(id).filter(|live| live.schedule().owner.matches(context));
        own.ok_or_else(|| {
            let own = self.of(context);
            let known: Vec<&str> = own.iter().map(|live| live.id.as_str()).collect();
            let hint = match known.len() {
                0 => "there are no schedules; create one with `schedule_once` or `schedule_cron`".to_owned(),
                _ => format!("there are {}", known.join(", ")),
            };
            not_found(id).with_hint(hint)
        })
    }

    /// Returns the schedules of the caller, in the order of their creation.
    pub(super) fn of(&self, context: &CallContext) -> Vec<Arc<LiveSchedule>> {
        let mut own = locked(&self.index).of_session(&context.session);
        own.retain(|live| live.schedule().owner.matches(context));
        in_order(own)
    }

    /// Returns all schedules, in the order of their creation.
    pub(super) fn all(&self) -> Vec<Arc<LiveSchedule>> {
        in_order(self.matching(|_| true))
    }

    /// Returns the schedules for which `is_such` returns true, in any order.
    pub(super) fn matching(&self, is_such: impl Fn(&LiveSchedule) -> bool) -> Vec<Arc<LiveSchedule>> {
        locked(&self.index).lives.values().filter(|live| is_such(live)).cloned().collect()
    }

    /// Sets the time at which a schedule must be processed.
    pub(super) fn wake_at(&self, id: &str, moment: Option<Timestamp>) {
        let mut known = locked(&self.index);
        known.forget_wake(id);
        // A removed schedule stays removed.
        if let Some(moment) = moment.filter(|_| known.lives.contains_key(id)) {
            known.wakes.insert((moment, id.to_owned()));
            known.wake_of.insert(id.to_owned(), moment);
        }
    }

    /// Removes and returns the schedules that must be processed now.
    pub(super) fn take_woken(&self, now: Timestamp) -> Vec<String> {
        let mut known = locked(&self.index);
        let mut woken = Vec::new();
        while known.wakes.first().is_some_and(|(moment, _)| *moment <= now) {
            let Some((_, id)) = known.wakes.pop_first() else { break };
            known.wake_of.remove(&id);
            woken.push(id);
        }
        woken
    }

    /// Returns the next time at which a schedule must be processed.
    pub(super) fn next_wake(&self) -> Option<Timestamp> {
        locked(&self.index).wakes.first().map(|(moment, _)| *moment)
    }
}

impl ScheduleIndex {
    fn put(&mut self, live: &Arc<LiveSchedule>) {
        let session = live.schedule().owner.session.clone();
        self.by_session.entry(session).or_default().insert(live.id.clone());
        self.lives.insert(live.id.clone(), Arc::clone(live));
    }

    fn remove(&mut self, id: &str) {
        self.forget_wake(id);
        let Some(live) = self.lives.remove(id) else { return };
        let session = &live.schedule().owner.session;
        if let Some(own) = self.by_session.get_mut(session) {
            own.remove(id);
            if own.is_empty() {
                self.by_session.remove(session);
            }
        }
    }

    fn forget_wake(&mut self, id: &str) {
        if let Some(moment) = self.wake_of.remove(id) {
            self.wakes.remove(&(moment, id.to_owned()));
        }
    }

    fn of_session(&self, session: &str) -> Vec<Arc<LiveSchedule>> {
        let ids = self.by_session.get(session).into_iter().flatten();
        ids.filter_map(|id| self.lives.get(id).cloned()).collect()
    }
}

/// Returns the error for an unknown id, and for a schedule of another owner.
pub(super) fn not_found(id: &str) -> ToolError {
    ToolError::new(ErrorKind::NotFound, format!("there is no schedule `{id}`"))
}

fn in_order(mut lives: Vec<Arc<LiveSchedule>>) -> Vec<Arc<LiveSchedule>> {
    lives.sort_by_cached_key(|live| (live.schedule().created, live.id.clone()));
    lives
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while a lock is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
