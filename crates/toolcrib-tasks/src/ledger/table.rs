//! The tasks of a ledger by id, and the times at which they must be processed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use toolcrib_model::ToolError;

use super::bounds::{Bound, make_room};
use super::due::DueTime;
use super::task::{Live, LocalState, Task};

/// The tasks of all sessions.
pub(super) struct Table<T, L, D> {
    index: Mutex<Index<T, L, D>>,
}

struct Index<T, L, D> {
    lives: HashMap<Arc<str>, Arc<Live<T, L>>>,
    /// The due times; `due_of` is the reverse index.
    dues: BTreeSet<(D, Arc<str>)>,
    due_of: HashMap<Arc<str>, D>,
}

impl<T: Task, L: LocalState, D: DueTime> Table<T, L, D> {
    pub(super) fn new() -> Self {
        Self {
            index: Mutex::new(Index { lives: HashMap::new(), dues: BTreeSet::new(), due_of: HashMap::new() }),
        }
    }

    pub(super) fn insert(&self, live: &Arc<Live<T, L>>) {
        self.index.lock().lives.insert(Arc::clone(&live.id), Arc::clone(live));
    }

    /// Adds a task, and returns the tasks that were removed to make room for it. Returns an error if a limit is
    /// reached.
    pub(super) fn add(
        &self,
        live: &Arc<Live<T, L>>,
        bounds: &[Bound],
    ) -> Result<Vec<Arc<Live<T, L>>>, ToolError> {
        let mut index = self.index.lock();
        let removed = make_room(live, &index.lives.values(), bounds)?;
        for live in &removed {
            index.remove(&live.id);
        }
        index.lives.insert(Arc::clone(&live.id), Arc::clone(live));
        Ok(removed)
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Live<T, L>>> {
        self.index.lock().lives.get(id).cloned()
    }

    pub(super) fn remove(&self, id: &str) {
        self.index.lock().remove(id);
    }

    /// Returns the tasks for which `is_wanted` returns true, in the order of their creation.
    pub(super) fn matching(&self, is_wanted: impl Fn(&Live<T, L>) -> bool) -> Vec<Arc<Live<T, L>>> {
        let mut found: Vec<_> =
            self.index.lock().lives.values().filter(|live| is_wanted(live)).cloned().collect();
        found.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        found
    }

    /// Sets the time at which a task must be processed.
    pub(super) fn set_due(&self, id: &str, due: Option<D>) {
        let mut index = self.index.lock();
        index.forget_due(id);
        // A removed task stays removed.
        if let Some(due) = due
            && let Some(id) = index.lives.get(id).map(|live| Arc::clone(&live.id))
        {
            index.dues.insert((due, Arc::clone(&id)));
            index.due_of.insert(id, due);
        }
    }

    /// Returns the time at which a task must be processed.
    pub(super) fn due(&self, id: &str) -> Option<D> {
        self.index.lock().due_of.get(id).copied()
    }

    /// Returns the tasks that must be processed now, which have no due time afterwards.
    pub(super) fn take_due(&self, now: D) -> Vec<Arc<Live<T, L>>> {
        let mut index = self.index.lock();
        let mut taken = Vec::new();
        while index.dues.first().is_some_and(|(due, _)| *due <= now) {
            let Some((_, id)) = index.dues.pop_first() else { break };
            index.due_of.remove(&id);
            taken.extend(index.lives.get(&id).cloned());
        }
        taken
    }

    /// Returns the next time at which a task must be processed.
    pub(super) fn next_due(&self) -> Option<D> {
        self.index.lock().dues.first().map(|(due, _)| *due)
    }
}

impl<T: Task, L: LocalState, D: DueTime> Index<T, L, D> {
    fn remove(&mut self, id: &str) {
        self.forget_due(id);
        if let Some(live) = self.lives.remove(id) {
            live.set_removed();
            live.cancel_runs();
        }
    }

    fn forget_due(&mut self, id: &str) {
        if let Some((id, due)) = self.due_of.remove_entry(id) {
            self.dues.remove(&(due, id));
        }
    }
}
