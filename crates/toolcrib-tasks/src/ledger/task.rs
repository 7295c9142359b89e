//! A task of a ledger: its stored state, and what only this process knows about it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};

use crate::id::random_id;
use crate::owner::Owner;
use crate::store::{Change, Record, RecordKind};

/// The stored state of one kind of task.
pub(crate) trait Task: Clone + Serialize + Send + Sync + 'static {
    /// The kind of its records.
    const KIND: RecordKind;
    /// The noun for it in messages.
    const NAME: &'static str;
    /// The beginning of its ids.
    const ID_PREFIX: &'static str;
    /// The hint for a caller who has no such tasks.
    const HINT_WITHOUT_TASKS: &'static str;
    /// True if changes that this process could not store take precedence over the record of another process.
    const KEEPS_UNSAVED: bool = false;

    fn owner(&self) -> &Owner;
    fn created(&self) -> Timestamp;
    /// Returns the time of its end, if it has ended.
    fn ended(&self) -> Option<Timestamp>;
    /// Returns true if its run only waits for a person, by the stored state.
    fn waits_for_person(&self) -> bool {
        false
    }
}

/// The state of a task in this process, which is not stored.
pub(crate) trait LocalState: Send + Sync + 'static {}

impl<T: Send + Sync + 'static> LocalState for T {}

/// A task in this process.
pub(crate) struct Live<T, L> {
    pub(crate) id: Arc<str>,
    pub(crate) owner: Owner,
    pub(crate) created: Timestamp,
    pub(crate) local: L,
    /// The lock that is held from a change until its write, so that changes reach the store in order.
    pub(crate) change_lock: tokio::sync::Mutex<()>,
    state: Mutex<Arc<T>>,
    /// Notified after each change of the state.
    changes: watch::Sender<()>,
    /// The runs in progress in this process, by their due times.
    runs: Mutex<HashMap<Timestamp, CancellationToken>>,
    is_stored: AtomicBool,
    is_removed: AtomicBool,
    /// The time since which the state differs from the record in the store.
    unsaved: Mutex<Option<Instant>>,
}

impl<T: Task, L: LocalState> Live<T, L> {
    /// Creates a task with a random id.
    pub(crate) fn create(task: T, local: L) -> Result<Arc<Self>, ToolError> {
        let id = random_id(T::ID_PREFIX);
        let id = id.map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        Ok(Self::new(id, task, local))
    }

    pub(super) fn new(id: impl Into<Arc<str>>, task: T, local: L) -> Arc<Self> {
        Arc::new(Self {
            id: id.into(),
            owner: task.owner().clone(),
            created: task.created(),
            local,
            change_lock: tokio::sync::Mutex::default(),
            state: Mutex::new(Arc::new(task)),
            changes: watch::Sender::new(()),
            runs: Mutex::default(),
            is_stored: AtomicBool::new(false),
            is_removed: AtomicBool::new(false),
            unsaved: Mutex::default(),
        })
    }

    /// Returns its current state.
    pub(crate) fn task(&self) -> Arc<T> {
        Arc::clone(&self.state.lock())
    }

    /// Replaces its state. The caller holds the change lock.
    pub(crate) fn set(&self, task: T) {
        *self.state.lock() = Arc::new(task);
        self.changes.send_replace(());
    }

    /// Changes its state in this process. The caller saves it later.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(Arc::make_mut(&mut self.state.lock()));
        self.changes.send_replace(());
        result
    }

    /// Waits until its state satisfies a condition.
    pub(crate) async fn wait_until(&self, is_reached: impl Fn(&T) -> bool) {
        let mut changes = self.changes.subscribe();
        while !is_reached(&self.task()) {
            // `self` holds the sender, so this cannot fail.
            let _ = changes.changed().await;
        }
    }

    /// Returns the change that stores a state.
    pub(super) fn put(&self, task: &T) -> Change {
        let (id, session) = (self.id.as_ref().to_owned(), self.owner.session.clone());
        Change::Put(Record { kind: T::KIND, id, session, body: json!(task) })
    }

    /// Returns the change that removes its record.
    pub(super) fn removal(&self) -> Change {
        Change::remove(T::KIND, self.id.as_ref())
    }

    /// Returns true if the store contains it.
    pub(crate) fn is_stored(&self) -> bool {
        self.is_stored.load(Ordering::Acquire)
    }

    pub(super) fn set_stored(&self) {
        self.is_stored.store(true, Ordering::Release);
    }

    /// Returns true if it was removed from the ledger.
    pub(crate) fn is_removed(&self) -> bool {
        self.is_removed.load(Ordering::Acquire)
    }

    pub(super) fn set_removed(&self) {
        self.is_removed.store(true, Ordering::Release);
    }

    /// Returns the time since which its state differs from its record, if it does.
    pub(crate) fn unsaved(&self) -> Option<Instant> {
        *self.unsaved.lock()
    }

    /// Records that its state differs from its record, and returns the time since which it does.
    pub(crate) fn mark_unsaved(&self) -> Instant {
        *self.unsaved.lock().get_or_insert_with(Instant::now)
    }

    pub(super) fn mark_saved(&self) {
        *self.unsaved.lock() = None;
    }

    /// Records that a run starts in this process.
    pub(super) fn begin_run(&self, due: Timestamp, cancel: CancellationToken) {
        self.runs.lock().insert(due, cancel);
    }

    pub(crate) fn end_run(&self, due: Timestamp) {
        self.runs.lock().remove(&due);
    }

    pub(crate) fn runs_here(&self, due: Timestamp) -> bool {
        self.runs.lock().contains_key(&due)
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.runs.lock().is_empty()
    }

    pub(crate) fn cancel_runs(&self) {
        self.runs.lock().values().for_each(CancellationToken::cancel);
    }
}
