//! A store that fails, or whose process ends, at a statement.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;

use super::*;
use crate::store::{Change, Record};

/// What happens at the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is refused, and what comes after it is not.
    Refused,
    /// The process ends before it is done.
    EndsBefore,
    /// The process ends when it is done and nobody knows yet.
    EndsBehind,
}

/// A store on the way to which something goes wrong. Of a process that has ended no statement comes back.
pub(super) struct FaultyStore {
    kept: Arc<dyn Store>,
    fault: Fault,
    /// At which change, counted from 0.
    at: usize,
    changes: AtomicUsize,
    has_ended: AtomicBool,
    is_full: AtomicBool,
    ended: Notify,
}

impl FaultyStore {
    pub(super) fn new(kept: &Arc<dyn Store>, fault: Fault, at: usize) -> Arc<Self> {
        Arc::new(Self {
            kept: Arc::clone(kept),
            fault,
            at,
            changes: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            ended: Notify::new(),
        })
    }

    /// One in which nothing goes wrong by itself.
    pub(super) fn sound(kept: &Arc<dyn Store>) -> Arc<Self> {
        Self::new(kept, Fault::Refused, usize::MAX)
    }

    /// How many changes were made.
    pub(super) fn changes(&self) -> usize {
        self.changes.load(Ordering::SeqCst)
    }

    pub(super) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    pub(super) fn end_process(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
        self.ended.notify_one();
    }

    /// Comes back when the process has ended.
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }

    async fn alive(&self) {
        if self.has_ended.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl Store for FaultyStore {
    async fn list(&self, kind: RecordKind, prefix: &str) -> Result<Vec<Record>, StoreError> {
        self.alive().await;
        self.kept.list(kind, prefix).await
    }

    async fn remove_ended(&self) -> Result<(), StoreError> {
        self.kept.remove_ended().await
    }

    async fn get(&self, kind: RecordKind, id: &str) -> Result<Option<Record>, StoreError> {
        self.alive().await;
        self.kept.get(kind, id).await
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        self.alive().await;
        let refused = Err(StoreError::Full { path: "tasks.db".into() });
        if self.is_full.load(Ordering::SeqCst) {
            return refused;
        }
        let is_here = self.changes.fetch_add(1, Ordering::SeqCst) == self.at;
        match self.fault {
            Fault::Refused if is_here => return refused,
            Fault::EndsBehind if is_here => self.kept.apply(changes).await?,
            Fault::EndsBefore if is_here => {}
            _ => return self.kept.apply(changes).await,
        }
        self.end_process();
        self.alive().await;
        Ok(())
    }

    async fn lease(&self, id: &str, owner: &str, time: Duration) -> Result<bool, StoreError> {
        self.alive().await;
        self.kept.lease(id, owner, time).await
    }

    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError> {
        self.alive().await;
        self.kept.release(id, owner).await
    }

    async fn has_changed(&self) -> Result<bool, StoreError> {
        self.kept.has_changed().await
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn close(&self) {}
}
