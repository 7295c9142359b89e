//! A store that is gone with its process.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{Change, Kind, Record, Store, StoreError};

/// Keeps records as long as the process lives.
#[derive(Default)]
pub struct MemoryStore {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    records: BTreeMap<(Kind, String), Record>,
    leases: HashMap<String, (String, Timestamp)>,
}

impl MemoryStore {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing panics while it is changed.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn load(&self, kind: Kind) -> Result<Vec<Record>, StoreError> {
        Ok(self.kept().records.values().filter(|record| record.kind == kind).cloned().collect())
    }

    async fn get(&self, kind: Kind, id: &str) -> Result<Option<Record>, StoreError> {
        Ok(self.kept().records.get(&(kind, id.to_owned())).cloned())
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let mut kept = self.kept();
        for change in changes {
            match change {
                Change::Put(record) => {
                    kept.records.insert((record.kind, record.id.clone()), record);
                }
                Change::Remove { kind, id } => {
                    kept.records.remove(&(kind, id));
                }
            }
        }
        Ok(())
    }

    async fn lease(&self, id: &str, owner: &str, now: Timestamp, time: Duration) -> Result<bool, StoreError> {
        let mut kept = self.kept();
        let is_taken = kept.leases.get(id).is_some_and(|(holder, until)| holder != owner && *until > now);
        if !is_taken {
            let until = now.checked_add(time).unwrap_or(Timestamp::MAX);
            kept.leases.insert(id.to_owned(), (owner.to_owned(), until));
        }
        Ok(!is_taken)
    }

    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError> {
        let mut kept = self.kept();
        if kept.leases.get(id).is_some_and(|(holder, _)| holder == owner) {
            kept.leases.remove(id);
        }
        Ok(())
    }

    fn is_durable(&self) -> bool {
        false
    }

    async fn close(&self) {}
}
