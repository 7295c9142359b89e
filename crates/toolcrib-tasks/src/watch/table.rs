//! The table of watchers, and the times at which they are due.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::CallContext;

use super::WatcherSettings;
use super::status::{WatcherMetrics, WatcherState, WatcherStatus};
use super::watcher::{Check, Watcher};
use crate::Condition;

/// The maximum number of checks in the history of a watcher.
pub const MAX_WATCH_HISTORY: usize = 100;

/// The note on a watcher whose turn waits for an approval.
const WAITING_NOTE: &str = "it waits for a person to approve a call";

/// The time that a watcher is retained after it has ended by itself.
const ENDED_RETENTION: SignedDuration = SignedDuration::from_hours(24);

/// A filter of the watchers that count towards a limit.
type EntryFilter<'a> = &'a dyn Fn(&Entry) -> bool;

/// The reader of watchers.
#[derive(Clone, Copy)]
pub(super) enum Viewer<'a> {
    /// A caller, who sees only its own watchers.
    Owner(&'a CallContext),
    /// An operator, who sees all watchers.
    Operator,
}

/// A watcher with its unpersisted state.
pub(super) struct Entry {
    pub(super) watcher: Watcher,
    pub(super) condition: Option<Condition>,
    pub(super) history: VecDeque<Check>,
    due: Option<Instant>,
    /// Cancels its current turn.
    turn: Option<CancellationToken>,
    /// The lock that is held while the watcher is saved, so that the newest state is saved last.
    writing: Arc<tokio::sync::Mutex<()>>,
    /// The time since which it differs from its record in the store.
    pub(super) unsaved: Option<Instant>,
}

impl Entry {
    pub(super) fn new(watcher: Watcher, condition: Option<Condition>) -> Self {
        Self {
            watcher,
            condition,
            history: VecDeque::new(),
            due: None,
            turn: None,
            writing: Arc::default(),
            unsaved: None,
        }
    }

    pub(super) fn has_turn(&self) -> bool {
        self.turn.is_some()
    }

    pub(super) fn is_scheduled(&self) -> bool {
        self.due.is_some() || self.has_turn()
    }

    pub(super) fn remember(&mut self, mut check: Check) {
        // Consecutive equal values share an allocation.
        if let Some(last) = self.history.back() {
            if last.shown == check.shown {
                check.shown.clone_from(&last.shown);
            }
            if last.error == check.error {
                check.error.clone_from(&last.error);
            }
        }
        self.history.push_back(check);
        while self.history.len() > MAX_WATCH_HISTORY {
            self.history.pop_front();
        }
    }

    /// Returns the status at a time.
    pub(super) fn status(&self, id: &str, now: Timestamp) -> WatcherStatus {
        let Watcher { request, reason, created, last_check, seen, last_error, metrics, .. } = &self.watcher;
        let state = self.watcher.displayed_state();
        let left = self.due.map(|due| due.saturating_duration_since(Instant::now()));
        WatcherStatus {
            watcher_id: id.to_owned(),
            name: request.name.clone(),
            label: request.label.clone(),
            status: state,
            reason: reason.clone(),
            interval: request.interval,
            notify_when: request.notify_when,
            condition: request.condition.clone(),
            max_checks: request.max_checks,
            created: *created,
            last_check: *last_check,
            next_check: left.and_then(|left| now.checked_add(left).ok()),
            last_value: seen.as_ref().map(|seen| seen.shown.clone()),
            last_error: last_error.clone(),
            metrics: WatcherMetrics::from(metrics),
            note: (state == WatcherState::WaitingForApproval).then(|| WAITING_NOTE.to_owned()),
        }
    }
}

/// The watchers of all sessions, by id.
#[derive(Default)]
pub(super) struct WatcherTable {
    index: Mutex<WatcherIndex>,
}

#[derive(Default)]
struct WatcherIndex {
    entries: HashMap<Arc<str>, Entry>,
    /// The watchers by due time, the earliest first.
    due: BTreeSet<(Instant, Arc<str>)>,
}

impl WatcherIndex {
    fn schedule(&mut self, id: &Arc<str>, due: Option<Instant>) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        if let Some(before) = entry.due.take() {
            self.due.remove(&(before, Arc::clone(id)));
        }
        if let Some(due) = due {
            entry.due = Some(due);
            self.due.insert((due, Arc::clone(id)));
        }
    }

    fn remove(&mut self, id: &str) -> Option<Entry> {
        let (id, entry) = self.entries.remove_entry(id)?;
        if let Some(due) = entry.due {
            self.due.remove(&(due, id));
        }
        if let Some(turn) = &entry.turn {
            turn.cancel();
        }
        Some(entry)
    }
}

impl WatcherTable {
    pub(super) fn insert(&self, id: &Arc<str>, entry: Entry) {
        self.index().entries.insert(Arc::clone(id), entry);
    }

    /// Adds a watcher, and returns the ids of the ended watchers that are removed to make room for it. Returns an error
    /// if a limit is reached.
    pub(super) fn begin(
        &self,
        id: &Arc<str>,
        entry: Entry,
        settings: &WatcherSettings,
    ) -> Result<Vec<Arc<str>>, ToolError> {
        let mut index = self.index();
        let owner = &entry.watcher.owner;
        let of_session = |other: &Entry| other.watcher.owner.session == owner.session;
        let of_client = |other: &Entry| other.watcher.owner.shares_client_with(owner);
        // The narrowest limit comes first: a watcher that is removed for it makes room in all.
        let bounds: [(EntryFilter<'_>, usize, &str); 3] = [
            (&of_session, settings.max_per_session, " in this session"),
            (&of_client, settings.max_per_client, " of this client"),
            (&|_| true, settings.max_watchers, ""),
        ];
        let mut forgotten = Vec::new();
        for (counts, most, of) in bounds {
            let count = index.entries.values().filter(|other| counts(other)).count();
            if count < most {
                continue;
            }
            let ended = index.entries.iter().filter(|(_, other)| counts(other) && !other.has_turn());
            let ended = ended.filter_map(|(id, other)| Some((other.watcher.ended?, Arc::clone(id))));
            let Some((_, oldest)) = ended.min() else {
                let message = format!("there are {count} watchers{of}, which is the limit");
                return Err(ToolError::new(ErrorKind::LimitReached, message)
                    .with_hint("stop one with `watch_stop`; `watch_list` lists them"));
            };
            index.remove(&oldest);
            forgotten.push(oldest);
        }
        index.entries.insert(Arc::clone(id), entry);
        Ok(forgotten)
    }

    /// Calls a function with a watcher, if it exists.
    pub(super) fn with<T>(&self, id: &str, change: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        self.index().entries.get_mut(id).map(change)
    }

    /// Sets the due time of a watcher, and returns true if it is before all others.
    pub(super) fn schedule(&self, id: &Arc<str>, due: Option<Instant>) -> bool {
        let mut index = self.index();
        index.schedule(id, due);
        due.is_some() && index.due.first().map(|(first, _)| *first) == due
    }

    /// Starts the turns of all due watchers. Returns their ids and cancellation tokens, and the next due time.
    pub(super) fn take_due(&self, now: Instant) -> (Vec<(Arc<str>, CancellationToken)>, Option<Instant>) {
        let mut index = self.index();
        let mut turns = Vec::new();
        while let Some((due, id)) = index.due.first().cloned() {
            if due > now {
                return (turns, Some(due));
            }
            index.schedule(&id, None);
            // A watcher in a turn is scheduled again at the end of the turn.
            if let Some(entry) = index.entries.get_mut(&id).filter(|entry| !entry.has_turn()) {
                let turn = CancellationToken::new();
                entry.turn = Some(turn.clone());
                turns.push((id, turn));
            }
        }
        (turns, None)
    }

    /// Ends a turn that began at a time, and schedules the next one. Returns true if that is before all others.
    pub(super) fn end_turn(&self, id: &Arc<str>, began: Instant) -> bool {
        let mut index = self.index();
        let Some(entry) = index.entries.get_mut(id) else { return false };
        entry.turn = None;
        let due = (entry.watcher.state == WatcherState::Active).then(|| next_due(&entry.watcher, began));
        index.schedule(id, due);
        due.is_some() && index.due.first().map(|(first, _)| *first) == due
    }

    /// Returns the lock to hold while a watcher is saved.
    pub(super) fn writing(&self, id: &str) -> Option<Arc<tokio::sync::Mutex<()>>> {
        self.with(id, |entry| Arc::clone(&entry.writing))
    }

    pub(super) fn remove(&self, id: &str) -> Option<Entry> {
        self.index().remove(id)
    }

    /// Returns the id of a watcher that the viewer may see.
    pub(super) fn find(&self, id: &str, viewer: Viewer<'_>) -> Result<Arc<str>, ToolError> {
        let own = self.of(viewer);
        if let Some(found) = own.iter().find(|known| ***known == *id) {
            return Ok(Arc::clone(found));
        }
        let hint = match own.as_slice() {
            [] => "there are no watchers; start one with `watch_start`".to_owned(),
            own => format!("there are {}", own.join(", ")),
        };
        Err(ToolError::new(ErrorKind::NotFound, format!("there is no watcher `{id}`")).with_hint(hint))
    }

    /// Returns the ids of the watchers that the viewer may see, in the order in which they were started.
    pub(super) fn of(&self, viewer: Viewer<'_>) -> Vec<Arc<str>> {
        self.matching(|entry| match viewer {
            Viewer::Owner(context) => entry.watcher.owner.matches(context),
            Viewer::Operator => true,
        })
    }

    pub(super) fn of_session(&self, session: &str) -> Vec<Arc<str>> {
        self.matching(|entry| entry.watcher.owner.session == session)
    }

    pub(super) fn unsaved(&self) -> Vec<Arc<str>> {
        self.matching(|entry| entry.unsaved.is_some())
    }

    /// Returns the ended watchers whose retention time is over.
    pub(super) fn expired(&self, now: Timestamp) -> Vec<Arc<str>> {
        let oldest = now.checked_sub(ENDED_RETENTION).unwrap_or(Timestamp::MIN);
        self.matching(|entry| !entry.has_turn() && entry.watcher.ended.is_some_and(|ended| ended < oldest))
    }

    /// Cancels all turns.
    pub(super) fn cancel_turns(&self) {
        self.index()
            .entries
            .values()
            .filter_map(|entry| entry.turn.as_ref())
            .for_each(CancellationToken::cancel);
    }

    fn matching(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<Arc<str>> {
        let index = self.index();
        let found = index.entries.iter().filter(|(_, entry)| wanted(entry));
        let mut found: Vec<_> = found.map(|(id, entry)| (entry.watcher.created, Arc::clone(id))).collect();
        found.sort();
        found.into_iter().map(|(_, id)| id).collect()
    }

    fn index(&self) -> MutexGuard<'_, WatcherIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the next due time of a watcher: the first multiple of its wait after `began` that is in the future.
fn next_due(watcher: &Watcher, began: Instant) -> Instant {
    let wait = watcher.wait();
    let passed = began.elapsed().as_nanos() / wait.as_nanos().max(1);
    let waits = u32::try_from(passed).unwrap_or(u32::MAX).saturating_add(1);
    let from_now = wait.saturating_mul(waits).saturating_sub(began.elapsed());
    Instant::now() + from_now.min(wait).max(Duration::from_millis(1))
}
