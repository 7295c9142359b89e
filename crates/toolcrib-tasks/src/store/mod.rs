//! What has to be known again after a crash.
//!
//! A [`Store`] keeps [`Record`]s. What it has acknowledged is there after the power fails. It knows nothing of what they mean:
//! each is a JSON object with a kind, an id and the session that it belongs to.

mod error;
mod memory;
mod record;
mod sqlite;

#[cfg(test)]
mod tests;

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

pub use error::StoreError;
pub use memory::MemoryStore;
pub use record::{Change, Kind, MAX_RECORD_BYTES, Record};
pub use sqlite::{Opened, SqliteStore};

/// Keeps records.
#[async_trait]
pub trait Store: Send + Sync {
    /// All records of a kind, by their ids.
    async fn load(&self, kind: Kind) -> Result<Vec<Record>, StoreError>;

    /// One record.
    async fn get(&self, kind: Kind, id: &str) -> Result<Option<Record>, StoreError>;

    /// Makes all of these changes, or none. They hold when this returns.
    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError>;

    /// Takes the right to work on something for a time, or keeps it for longer. `false` where somebody else has it.
    async fn lease(&self, id: &str, owner: &str, now: Timestamp, time: Duration) -> Result<bool, StoreError>;

    /// Gives the right back.
    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError>;

    /// Whether another process has changed it since this was asked before.
    /// Never where no other process can have it.
    async fn has_changed(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Whether what it has acknowledged is there after the process has ended.
    fn is_durable(&self) -> bool;

    /// Ends it, after all that was asked of it has been done.
    async fn close(&self);
}
