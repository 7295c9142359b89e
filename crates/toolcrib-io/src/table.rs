//! Tables that processes on several machines share.

mod generation;
mod hints;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::{Instant, sleep};

pub use generation::SharedGeneration;
pub use hints::Hints;

/// The time for which a row stays locked if its owner ends without releasing it.
const LOCK_TIME: Duration = Duration::from_mins(2);

/// The time between two attempts to lock a row.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// A table of JSON values that several processes share. Each row has an id. An error of the kind
/// [`NotConnected`](io::ErrorKind::NotConnected) may be gone at the next attempt.
#[async_trait]
pub trait SharedTable: Send + Sync {
    /// Returns a row.
    async fn get(&self, id: &str) -> io::Result<Option<Value>>;

    /// Inserts or replaces a row.
    async fn put(&self, id: &str, row: Value) -> io::Result<()>;

    /// Removes a row. Returns false if it does not exist.
    async fn remove(&self, id: &str) -> io::Result<bool>;

    /// Locks a row for a time, whether it exists or not. Returns false if another owner has locked it.
    async fn lock(&self, id: &str, owner: &str, time: Duration) -> io::Result<bool>;

    /// Unlocks a row.
    async fn unlock(&self, id: &str, owner: &str) -> io::Result<()>;

    /// Returns hints that other processes have changed rows. The default has no hints.
    async fn hints(&self) -> Hints {
        Hints::default()
    }
}

/// A table in memory, for tests.
#[derive(Debug, Default)]
pub struct MemoryTable {
    rows: Mutex<HashMap<String, Value>>,
    /// The owners of the locks. A lock does not end by itself.
    owners: Mutex<HashMap<String, String>>,
}

impl MemoryTable {
    /// Returns the ids of the rows.
    pub fn ids(&self) -> Vec<String> {
        self.rows.lock().keys().cloned().collect()
    }
}

#[async_trait]
impl SharedTable for MemoryTable {
    async fn get(&self, id: &str) -> io::Result<Option<Value>> {
        Ok(self.rows.lock().get(id).cloned())
    }

    async fn put(&self, id: &str, row: Value) -> io::Result<()> {
        self.rows.lock().insert(id.to_owned(), row);
        Ok(())
    }

    async fn remove(&self, id: &str) -> io::Result<bool> {
        Ok(self.rows.lock().remove(id).is_some())
    }

    async fn lock(&self, id: &str, owner: &str, _time: Duration) -> io::Result<bool> {
        Ok(self.owners.lock().entry(id.to_owned()).or_insert_with(|| owner.to_owned()) == owner)
    }

    async fn unlock(&self, id: &str, owner: &str) -> io::Result<()> {
        self.owners.lock().retain(|locked, holder| locked != id || holder != owner);
        Ok(())
    }
}

/// The lock of a row, which is released on drop, or after two minutes.
pub struct RowLock {
    table: Arc<dyn SharedTable>,
    id: String,
    owner: String,
}

impl RowLock {
    /// Locks a row, and waits for a time while another owner has locked it. No other lock may have the same owner.
    ///
    /// # Errors
    ///
    /// Returns an error if the table cannot be reached, or the row stays locked.
    pub async fn acquire(
        table: &Arc<dyn SharedTable>,
        id: &str,
        owner: String,
        patience: Duration,
    ) -> io::Result<Self> {
        let deadline = Instant::now() + patience;
        while !table.lock(id, &owner, LOCK_TIME).await? {
            if Instant::now() >= deadline {
                return Err(io::Error::other("another process holds its lock, and does not let go"));
            }
            sleep(LOCK_POLL).await;
        }
        Ok(Self { table: Arc::clone(table), id: id.to_owned(), owner })
    }
}

impl Drop for RowLock {
    fn drop(&mut self) {
        let (id, owner) = (std::mem::take(&mut self.id), std::mem::take(&mut self.owner));
        let table = Arc::clone(&self.table);
        tokio::spawn(async move {
            if let Err(error) = table.unlock(&id, &owner).await {
                tracing::debug!(%error, "the lock of a row ends by itself");
            }
        });
    }
}
