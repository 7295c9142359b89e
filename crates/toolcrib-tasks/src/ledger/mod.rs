//! The ledger of one kind of task: its records, owners, limits, runs, leases, and due times.
//!
//! Background calls, watchers and schedules are policies over a ledger. A ledger keeps the tasks of all sessions in
//! memory, and each task as one record in the store. If several processes share the store, a process acquires the lease
//! of a task before it changes or runs it.

mod bounds;
mod due;
mod leases;
mod runs;
mod table;
mod task;
mod timer;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::CallContext;

use self::due::DueTime;
use self::table::Table;
use crate::Services;
use crate::store::{Change, Record, StoreError};

pub(crate) use self::bounds::{Bound, Counted, Scope};
pub(crate) use self::leases::{cancel_marker_target, remove_cancel_marker};
pub(crate) use self::runs::{CANCEL_WAIT, Run, track_waiting};
pub(crate) use self::task::{Live, LocalState, Task};
pub(crate) use self::timer::{CLOCK_SET_BACK, Policy, start_timer};

/// Parses the body of a record, or returns the reason why it is unreadable.
type Reader<T, L> = Box<dyn Fn(&Value) -> Result<(T, L), String> + Send + Sync>;

/// The tasks of one kind.
pub(crate) struct Ledger<T: Task, L: LocalState, D: DueTime = Timestamp> {
    pub(crate) services: Arc<Services>,
    table: Table<T, L, D>,
    read: Reader<T, L>,
    /// The ids of unreadable records in the store, with the reasons.
    unreadable: Mutex<BTreeMap<String, String>>,
    /// The number of runs in progress.
    running: watch::Sender<usize>,
    /// Cancelled when all runs must end.
    ending: CancellationToken,
    /// Wakes the timer when a task may be due earlier, and when `self` is dropped.
    woken: Arc<Notify>,
    has_timer: AtomicBool,
}

impl<T: Task, L: LocalState, D: DueTime> Drop for Ledger<T, L, D> {
    fn drop(&mut self) {
        self.woken.notify_one();
    }
}

impl<T: Task, L: LocalState, D: DueTime> Ledger<T, L, D> {
    /// Opens a ledger with the tasks of the store. `read` parses the body of a record. Returns also the ids of the tasks
    /// with a cancel marker.
    pub(crate) async fn open(
        services: Arc<Services>,
        read: impl Fn(&Value) -> Result<(T, L), String> + Send + Sync + 'static,
    ) -> Result<(Self, Vec<String>), StoreError> {
        let records = services.store.load(T::KIND).await?;
        let ledger = Self {
            services,
            table: Table::new(),
            read: Box::new(read),
            unreadable: Mutex::default(),
            running: watch::Sender::new(0),
            ending: CancellationToken::new(),
            woken: Arc::default(),
            has_timer: AtomicBool::new(false),
        };
        for record in &records {
            ledger.load(record);
        }
        let marked = records.iter().filter_map(|record| cancel_marker_target(&record.id));
        Ok((ledger, marked.map(str::to_owned).collect()))
    }

    /// Adds a task from the store.
    fn load(&self, record: &Record) {
        if let Some((task, local)) = self.parse(record) {
            let live = Live::new(record.id.as_str(), task, local);
            live.set_stored();
            self.table.insert(&live);
        }
    }

    fn parse(&self, record: &Record) -> Option<(T, L)> {
        if cancel_marker_target(&record.id).is_some() {
            return None;
        }
        let reason = match (self.read)(&record.body) {
            Ok(read) => return Some(read),
            Err(reason) => reason,
        };
        let is_new = self.unreadable.lock().insert(record.id.clone(), reason.clone()).is_none();
        if is_new {
            tracing::warn!(id = record.id, %reason, "a stored {} cannot be read, and stays unchanged", T::NAME);
        }
        None
    }

    /// Returns the ids of the stored tasks that cannot be read, with the reasons.
    pub(crate) fn unreadable(&self) -> BTreeMap<String, String> {
        self.unreadable.lock().clone()
    }

    /// Returns a task of the caller by its id.
    pub(crate) fn find(&self, id: &str, context: &CallContext) -> Result<Arc<Live<T, L>>, ToolError> {
        if let Some(live) = self.table.get(id).filter(|live| live.owner.matches(context)) {
            return Ok(live);
        }
        let own = self.of(context);
        let known: Vec<&str> = own.iter().map(|live| live.id.as_ref()).collect();
        let hint = match known.len() {
            0 => T::HINT_WITHOUT_TASKS.to_owned(),
            _ => format!("there are {}", known.join(", ")),
        };
        Err(not_found::<T>(id).with_hint(hint))
    }

    /// Returns a task of the caller by its id, also one that another process has created or changed since.
    pub(crate) async fn find_shared(
        &self,
        id: &str,
        context: &CallContext,
    ) -> Result<Arc<Live<T, L>>, ToolError> {
        if self.services.is_shared() {
            match self.table.get(id) {
                Some(live) => self.refresh(&live).await,
                None => self.load_shared(id).await.map_err(|error| {
                    ToolError::new(ErrorKind::Unavailable, error.to_string()).with_hint("try again later")
                })?,
            }
        }
        self.find(id, context)
    }

    async fn load_shared(&self, id: &str) -> Result<(), StoreError> {
        let record = self.services.store.get(T::KIND, id).await?;
        // Another caller may have loaded it meanwhile.
        if let Some(record) = record.filter(|_| self.table.get(id).is_none()) {
            self.load(&record);
        }
        Ok(())
    }

    /// Returns a task of any owner by its id. For operators.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<Live<T, L>>, ToolError> {
        self.table.get(id).ok_or_else(|| not_found::<T>(id))
    }

    /// Returns the tasks of the caller, in the order of their creation.
    pub(crate) fn of(&self, context: &CallContext) -> Vec<Arc<Live<T, L>>> {
        self.table.matching(|live| live.owner.matches(context))
    }

    /// Returns the tasks of a session, in the order of their creation.
    pub(crate) fn of_session(&self, session: &str) -> Vec<Arc<Live<T, L>>> {
        self.table.matching(|live| live.owner.session == session)
    }

    /// Returns the tasks of all owners, in the order of their creation.
    pub(crate) fn all(&self) -> Vec<Arc<Live<T, L>>> {
        self.table.matching(|_| true)
    }

    /// Returns the tasks for which `is_wanted` returns true, in the order of their creation.
    pub(crate) fn matching(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<Arc<Live<T, L>>> {
        self.table.matching(|live| is_wanted(&live.task()))
    }

    /// Adds a task, and persists it. Returns an error if a limit is reached, and the result of the write otherwise: the
    /// task exists in this process even if the write fails.
    pub(crate) async fn insert(
        &self,
        live: &Arc<Live<T, L>>,
        bounds: &[Bound],
    ) -> Result<Result<(), StoreError>, ToolError> {
        let _change_lock = live.change_lock.lock().await;
        let removed = self.table.add(live, bounds)?;
        let removed = removed.iter().map(|live| live.removal()).collect();
        Ok(self.persist(live, &live.task(), removed).await)
    }

    /// Persists a change, and makes it in this process even if the write fails. The caller holds the change lock.
    pub(crate) async fn commit(
        &self,
        live: &Live<T, L>,
        task: T,
        also: Vec<Change>,
    ) -> Result<(), StoreError> {
        let saved = self.persist(live, &task, also).await;
        live.set(task);
        saved
    }

    /// Persists a state, with other changes. The caller holds the change lock.
    pub(crate) async fn persist(
        &self,
        live: &Live<T, L>,
        task: &T,
        also: Vec<Change>,
    ) -> Result<(), StoreError> {
        live.mark_saved();
        let fence = self.services.fence(&live.id);
        let changes = fence.into_iter().chain([live.put(task)]).chain(also).collect();
        let saved = self.services.store.apply(changes).await;
        match &saved {
            Ok(()) => live.set_stored(),
            Err(error) => {
                // The record of the process that has acquired the task counts.
                if !matches!(error, StoreError::LeaseLost { .. }) {
                    live.mark_unsaved();
                }
                tracing::warn!(%error, id = %live.id, "a change of a {} cannot be persisted", T::NAME);
            }
        }
        saved
    }

    /// Persists the current state of a task, unless it was removed.
    pub(crate) async fn save(&self, live: &Live<T, L>) -> Result<(), StoreError> {
        let _change_lock = live.change_lock.lock().await;
        if live.is_removed() {
            return Ok(());
        }
        // Later changes are unsaved again.
        live.mark_saved();
        self.persist(live, &live.task(), Vec::new()).await
    }

    /// Persists the tasks whose last write has failed, or was postponed.
    pub(crate) async fn save_unsaved(&self) {
        // In a shared store, another process may have changed the record meanwhile.
        let may_save =
            |live: &Live<T, L>| T::KEEPS_UNSAVED || !live.is_stored() || !self.services.is_shared();
        let unsaved = self.table.matching(|live| live.unsaved().is_some() && may_save(live));
        // Failures were logged.
        futures::future::join_all(unsaved.iter().map(|live| self.save(live))).await;
    }

    /// Removes a task, and cancels its runs.
    pub(crate) async fn remove(&self, live: &Live<T, L>) -> Result<(), StoreError> {
        let _change_lock = live.change_lock.lock().await;
        self.forget(live).await
    }

    /// Removes tasks, and cancels their runs.
    pub(crate) async fn remove_all(&self, lives: &[Arc<Live<T, L>>]) {
        // Failures were logged.
        futures::future::join_all(lives.iter().map(|live| self.remove(live))).await;
    }

    /// Removes a task, and cancels its runs. The caller holds the change lock.
    pub(crate) async fn forget(&self, live: &Live<T, L>) -> Result<(), StoreError> {
        self.table.remove(&live.id);
        let removed = self.services.store.apply(vec![live.removal()]).await;
        if let Err(error) = &removed {
            tracing::warn!(%error, id = %live.id, "a {} cannot be removed from the store", T::NAME);
        }
        removed
    }

    /// Removes the tasks that ended longer than `retention` ago.
    pub(crate) async fn remove_expired(&self, retention: Duration) {
        let oldest = self.services.clock.now().checked_sub(retention).unwrap_or(Timestamp::MIN);
        let is_old =
            |live: &Live<T, L>| !live.is_running() && live.task().ended().is_some_and(|ended| ended < oldest);
        self.remove_all(&self.table.matching(is_old)).await;
    }

    /// Sets the time at which a task must be processed.
    pub(crate) fn set_due(&self, live: &Live<T, L>, due: Option<D>) {
        self.table.set_due(&live.id, due);
        self.woken.notify_one();
    }

    /// Returns the time at which a task must be processed.
    pub(crate) fn due(&self, live: &Live<T, L>) -> Option<D> {
        self.table.due(&live.id)
    }
}

/// Returns the error for an unknown id, and for a task of another owner.
fn not_found<T: Task>(id: &str) -> ToolError {
    ToolError::new(ErrorKind::NotFound, format!("there is no {} `{id}`", T::NAME))
}
