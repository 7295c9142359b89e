//! A store in memory.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Change, Record, RecordKind, Store, StoreError};

/// A store in memory, which is lost when the process ends.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    records: BTreeMap<(RecordKind, String), Record>,
    leases: HashMap<String, (String, Instant)>,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn load(&self, kind: RecordKind) -> Result<Vec<Record>, StoreError> {
        Ok(self.state.lock().records.values().filter(|record| record.kind == kind).cloned().collect())
    }

    async fn get(&self, kind: RecordKind, id: &str) -> Result<Option<Record>, StoreError> {
        Ok(self.state.lock().records.get(&(kind, id.to_owned())).cloned())
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        for change in &changes {
            if let Change::Fence { id, owner } = change
                && state.leases.get(id).is_some_and(|(holder, _)| holder != owner)
            {
                return Err(StoreError::LeaseLost { id: id.clone() });
            }
        }
        for change in changes {
            match change {
                Change::Put(record) => {
                    state.records.insert((record.kind, record.id.clone()), record);
                }
                Change::Remove { kind, id } => {
                    state.leases.remove(&id);
                    state.records.remove(&(kind, id));
                }
                Change::Fence { .. } => {}
            }
        }
        Ok(())
    }

    async fn lease(&self, id: &str, owner: &str, time: Duration) -> Result<bool, StoreError> {
        let (mut state, now) = (self.state.lock(), Instant::now());
        let is_taken = state.leases.get(id).is_some_and(|(holder, until)| holder != owner && *until > now);
        if !is_taken {
            state.leases.insert(id.to_owned(), (owner.to_owned(), now + time));
        }
        Ok(!is_taken)
    }

    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError> {
        if let Some((holder, until)) = self.state.lock().leases.get_mut(id)
            && holder == owner
        {
            *until = Instant::now();
        }
        Ok(())
    }

    fn is_durable(&self) -> bool {
        false
    }

    async fn close(&self) {}
}
