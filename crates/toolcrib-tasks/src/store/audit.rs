//! The audit records of all processes that share a store.

use super::StoreError;
use crate::StoreLocation;

/// An audit record in the table `toolcrib_audit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// The id, which no other record has.
    pub id: String,
    /// The start of the call, in RFC 3339.
    pub time: String,
    /// The record as JSON.
    pub record: String,
}

/// The audit records in a database of PostgreSQL, over a connection of their own.
pub struct AuditTable {
    #[cfg(feature = "postgres")]
    store: super::PostgresStore,
}

impl AuditTable {
    /// Connects to the database of a store, and creates or migrates its tables.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be reached, or the store is a file.
    pub async fn open(location: &StoreLocation) -> Result<Self, StoreError> {
        match location {
            StoreLocation::File(path) => Err(StoreError::Failed {
                path: path.clone(),
                reason: "audit records can be in a database of PostgreSQL only".to_owned(),
            }),
            #[cfg(feature = "postgres")]
            StoreLocation::Postgres(url) => Ok(Self { store: super::PostgresStore::open(url).await? }),
            #[cfg(not(feature = "postgres"))]
            StoreLocation::Postgres(url) => {
                Err(StoreError::Unsupported { location: super::without_credentials(url) })
            }
        }
    }

    /// Appends records, except those that are there already. They are persisted when this returns.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be reached or written to. The records may be there all the same.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "there is no table then"))]
    pub async fn append(&self, records: &[AuditRow]) -> Result<(), StoreError> {
        #[cfg(feature = "postgres")]
        {
            self.store.append_audit(records).await
        }
        #[cfg(not(feature = "postgres"))]
        {
            let _ = records;
            Err(StoreError::Closed)
        }
    }

    /// Closes the connection.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "there is no table then"))]
    pub async fn close(&self) {
        #[cfg(feature = "postgres")]
        super::Store::close(&self.store).await;
    }
}
