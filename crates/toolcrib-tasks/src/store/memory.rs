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
    /// The records, with the times at which they end.
    records: BTreeMap<(RecordKind, String), (Record, Option<Instant>)>,
    leases: HashMap<String, (String, Instant)>,
}

impl MemoryState {
    fn remove_ended(&mut self) {
        let now = Instant::now();
        self.records.retain(|_, (_, end)| end.is_none_or(|end| end > now));
    }
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn list(&self, kind: RecordKind, prefix: &str) -> Result<Vec<Record>, StoreError> {
        let mut state = self.state.lock();
        state.remove_ended();
        let records = state.records.values().map(|(record, _)| record);
        Ok(records.filter(|record| record.kind == kind && record.id.starts_with(prefix)).cloned().collect())
    }

    async fn get(&self, kind: RecordKind, id: &str) -> Result<Option<Record>, StoreError> {
        let mut state = self.state.lock();
        state.remove_ended();
        Ok(state.records.get(&(kind, id.to_owned())).map(|(record, _)| record.clone()))
    }

    async fn remove_ended(&self) -> Result<(), StoreError> {
        self.state.lock().remove_ended();
        Ok(())
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        state.remove_ended();
        for change in &changes {
            match change {
                Change::Fence { id, owner }
                    if state.leases.get(id).is_some_and(|(holder, _)| holder != owner) =>
                {
                    return Err(StoreError::LeaseLost { id: id.clone() });
                }
                Change::Take { kind, id } if !state.records.contains_key(&(*kind, id.clone())) => {
                    return Err(StoreError::Taken { kind: kind.as_str(), id: id.clone() });
                }
                _ => {}
            }
        }
        for change in changes {
            match change {
                Change::Put(record) => {
                    state.records.insert((record.kind, record.id.clone()), (record, None));
                }
                Change::PutFor { record, lifetime } => {
                    let end = Instant::now() + lifetime;
                    state.records.insert((record.kind, record.id.clone()), (record, Some(end)));
                }
                Change::Remove { kind, id } | Change::Take { kind, id } => {
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
