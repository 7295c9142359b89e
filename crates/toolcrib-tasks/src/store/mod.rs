//! Persistent storage of tasks, in memory, in a file of SQLite, or in a database of PostgreSQL.
//!
//! A [`Store`] holds [`Record`]s: JSON objects with a kind, an id and the session that they belong to. Acknowledged
//! changes of a durable store survive a power failure.

mod audit;
mod encoded_changes;
mod error;
mod failpoint;
mod lazy;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
mod sqlite;
mod status;

#[cfg(test)]
mod tests;

use std::time::Duration;

use async_trait::async_trait;
use toolcrib_io::table::Hints;
use toolcrib_model::Secret;

pub use audit::{AuditRow, AuditTable};
pub use error::StoreError;
pub use lazy::{LazyStore, RecordTable};
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use record::{Change, Record, RecordKind};
pub use sqlite::{OpenedStore, SqliteStore};
pub use status::StoreStatus;

/// The maximum number of callers that share one transaction.
const MAX_BATCH: usize = 256;

/// A store of records.
#[async_trait]
pub trait Store: Send + Sync {
    /// Returns all records of a kind, sorted by id.
    async fn load(&self, kind: RecordKind) -> Result<Vec<Record>, StoreError> {
        self.list(kind, "").await
    }

    /// Returns the records of a kind whose ids begin with a text, sorted by id.
    async fn list(&self, kind: RecordKind, prefix: &str) -> Result<Vec<Record>, StoreError>;

    /// Returns a record by its id.
    async fn get(&self, kind: RecordKind, id: &str) -> Result<Option<Record>, StoreError>;

    /// Applies all changes or none. They are persisted when this returns. A [fence](Change::Fence), and the existence of a
    /// [taken](Change::Take) record, are checked in the same transaction.
    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError>;

    /// Removes the records whose time has ended. Readers do not see them before either.
    async fn remove_ended(&self) -> Result<(), StoreError>;

    /// Acquires a lease for a time, or extends it. Returns false if another owner holds it. The time is that of the
    /// store, since the clocks of several machines differ.
    async fn lease(&self, id: &str, owner: &str, time: Duration) -> Result<bool, StoreError>;

    /// Releases a lease. Its owner stays known, so that the changes of an earlier owner are refused.
    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError>;

    /// Counts a call of a rate, unless it is early by more than a tolerance: the next call is on time after an interval.
    /// Returns the time after which the call may be attempted again, which is zero if it was counted. Stores of one
    /// machine count nothing, and always return zero.
    async fn count_call(
        &self,
        rate: &str,
        interval: Duration,
        tolerance: Duration,
    ) -> Result<Duration, StoreError> {
        let _ = (rate, interval, tolerance);
        Ok(Duration::ZERO)
    }

    /// Returns true if another process has changed the store since the last call of this function. Always returns false
    /// if no other process can open the store.
    async fn has_changed(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Returns hints that other processes have changed records of a kind. The default has no hints.
    fn hints(&self, kind: RecordKind) -> Hints {
        let _ = kind;
        Hints::default()
    }

    /// Returns true if records survive the end of the process.
    fn is_durable(&self) -> bool;

    /// Closes the store after all pending operations have completed.
    async fn close(&self);
}

/// Returns the first and the last possible id with a prefix.
fn ids_with(prefix: &str) -> (String, String) {
    (prefix.to_owned(), format!("{prefix}{}", char::MAX))
}

/// Returns a time in milliseconds.
fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2)
}

/// Returns a URL without user, password, and parameters.
pub(crate) fn without_credentials(url: &Secret) -> String {
    let Ok(mut url) = url::Url::parse(url.expose()) else { return "postgres://…".to_owned() };
    // These fail only for URLs that cannot have them.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.into()
}
