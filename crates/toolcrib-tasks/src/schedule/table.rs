//! The schedules that are known, and when each is to be looked at.

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
pub(super) struct Live {
    pub(super) id: String,
    pub(super) time: ScheduleTime,
    /// Held while it is changed, until the change is kept: changes come into the store in their order.
    pub(super) gate: tokio::sync::Mutex<()>,
    schedule: Mutex<Arc<Schedule>>,
    /// Its runs that are under way here, by the moments that they were due.
    runs: Mutex<HashMap<Timestamp, CancellationToken>>,
    /// Whether the store knows it.
    is_stored: AtomicBool,
    /// Whether the store knows it as it is.
    is_current: AtomicBool,
}

impl Live {
    pub(super) fn new(id: String, schedule: Schedule, time: ScheduleTime, is_stored: bool) -> Arc<Self> {
        Arc::new(Self {
            id,
            time,
            gate: tokio::sync::Mutex::default(),
            schedule: Mutex::new(Arc::new(schedule)),
            runs: Mutex::default(),
            is_stored: AtomicBool::new(is_stored),
            is_current: AtomicBool::new(is_stored),
        })
    }

    /// As it is now.
    pub(super) fn schedule(&self) -> Arc<Schedule> {
        Arc::clone(&locked(&self.schedule))
    }

    /// Only by who holds the gate.
    pub(super) fn set(&self, schedule: Schedule) {
        *locked(&self.schedule) = Arc::new(schedule);
    }

    pub(super) fn was_kept(&self, is_kept: bool) {
        self.is_stored.fetch_or(is_kept, Ordering::AcqRel);
        self.is_current.store(is_kept, Ordering::Release);
    }

    pub(super) fn is_stored(&self) -> bool {
        self.is_stored.load(Ordering::Acquire)
    }

    pub(super) fn is_current(&self) -> bool {
        self.is_current.load(Ordering::Acquire)
    }

    /// A run begins here.
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
pub(super) struct Table {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    lives: HashMap<String, Arc<Live>>,
    by_session: HashMap<String, BTreeSet<String>>,
    /// When each is to be looked at, and the same the other way round.
    wakes: BTreeSet<(Timestamp, String)>,
    wake_of: HashMap<String, Timestamp>,
}

impl Table {
    pub(super) fn put(&self, live: &Arc<Live>) {
        locked(&self.known).put(live);
    }

    /// Adds a new one, and gives the ids of those that are forgotten for it.
    pub(super) fn begin(
        &self,
        live: &Arc<Live>,
        settings: &ScheduleSettings,
    ) -> Result<Vec<String>, ToolError> {
        let mut known = locked(&self.known);
        let owner = &live.schedule().owner;
        let own = known.of_session(&owner.session);
        let mut over: Vec<_> =
            own.iter().filter_map(|own| Some((own.schedule().ended?, own.id.clone()))).collect();
        let active = own.len() - over.len();
        if active >= settings.max_per_session {
            let message = format!("{active} schedules are active, and no more can be");
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("cancel one with `schedule_cancel`; `schedule_list` tells of all"));
        }
        over.sort();
        // As many that are over are kept as may be active.
        let surplus = over.len().saturating_sub(settings.max_per_session);
        let forgotten: Vec<String> = over.into_iter().take(surplus).map(|(_, id)| id).collect();
        let of_client =
            known.lives.values().filter(|other| other.schedule().owner.has_client_of(owner)).count();
        if of_client.saturating_sub(forgotten.len()) >= settings.max_per_client {
            let message = format!(
                "this client has {of_client} schedules in all its sessions, and may have {}",
                settings.max_per_client
            );
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("cancel one with `schedule_cancel`; one that is over is forgotten after a day"));
        }
        if known.lives.len() - forgotten.len() >= settings.max_total {
            let message = format!("there are {} schedules in all, and no more can be", known.lives.len());
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("tell the user that schedules that are not needed have to be cancelled"));
        }
        for id in &forgotten {
            known.remove(id);
        }
        known.put(live);
        Ok(forgotten)
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Live>> {
        locked(&self.known).lives.get(id).cloned()
    }

    pub(super) fn remove(&self, id: &str) {
        locked(&self.known).remove(id);
    }

    /// One of whoever asks.
    pub(super) fn find(&self, id: &str, context: &CallContext) -> Result<Arc<Live>, ToolError> {
        let own = self.get(id).filter(|live| live.schedule().owner.is(context));
        own.ok_or_else(|| {
            let own = self.of(context);
            let known: Vec<&str> = own.iter().map(|live| live.id.as_str()).collect();
            let hint = match known.len() {
                0 => "there are none; make one with `schedule_once` or `schedule_cron`".to_owned(),
                _ => format!("there are {}", known.join(", ")),
            };
            not_found(id).with_hint(hint)
        })
    }

    /// All of whoever asks, in the order in which they were made.
    pub(super) fn of(&self, context: &CallContext) -> Vec<Arc<Live>> {
        let mut own = locked(&self.known).of_session(&context.session);
        own.retain(|live| live.schedule().owner.is(context));
        in_order(own)
    }

    /// All, in the order in which they were made.
    pub(super) fn all(&self) -> Vec<Arc<Live>> {
        in_order(self.matching(|_| true))
    }

    /// Those that are such, in no order.
    pub(super) fn matching(&self, is_such: impl Fn(&Live) -> bool) -> Vec<Arc<Live>> {
        locked(&self.known).lives.values().filter(|live| is_such(live)).cloned().collect()
    }

    /// Says when one is to be looked at.
    pub(super) fn wake_at(&self, id: &str, moment: Option<Timestamp>) {
        let mut known = locked(&self.known);
        known.forget_wake(id);
        // One that is forgotten stays so.
        if let Some(moment) = moment.filter(|_| known.lives.contains_key(id)) {
            known.wakes.insert((moment, id.to_owned()));
            known.wake_of.insert(id.to_owned(), moment);
        }
    }

    /// Takes those that are to be looked at now.
    pub(super) fn take_woken(&self, now: Timestamp) -> Vec<String> {
        let mut known = locked(&self.known);
        let mut woken = Vec::new();
        while known.wakes.first().is_some_and(|(moment, _)| *moment <= now) {
            let Some((_, id)) = known.wakes.pop_first() else { break };
            known.wake_of.remove(&id);
            woken.push(id);
        }
        woken
    }

    /// When the next is to be looked at.
    pub(super) fn next_wake(&self) -> Option<Timestamp> {
        locked(&self.known).wakes.first().map(|(moment, _)| *moment)
    }
}

impl Known {
    fn put(&mut self, live: &Arc<Live>) {
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

    fn of_session(&self, session: &str) -> Vec<Arc<Live>> {
        let ids = self.by_session.get(session).into_iter().flatten();
        ids.filter_map(|id| self.lives.get(id).cloned()).collect()
    }
}

/// That there is none, as strangers are told too.
pub(super) fn not_found(id: &str) -> ToolError {
    ToolError::new(ErrorKind::NotFound, format!("there is no schedule `{id}`"))
}

fn in_order(mut lives: Vec<Arc<Live>>) -> Vec<Arc<Live>> {
    lives.sort_by_cached_key(|live| (live.schedule().created, live.id.clone()));
    lives
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while one is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
