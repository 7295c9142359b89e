//! A store in a database server that is opened when it is needed, and tables in it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::OnceCell;
use toolcrib_io::table::{Hints, SharedTable};

use super::{Change, Record, RecordKind, StoreError};
use crate::{Store, StoreLocation};

/// A store in a database server that is opened by its first use, over a separate connection.
pub struct LazyStore {
    location: StoreLocation,
    opened: OnceCell<Arc<dyn Store>>,
}

impl LazyStore {
    /// Returns the store of a location; `None` for a file, which is of one machine.
    pub fn of_server(location: &StoreLocation) -> Option<Self> {
        matches!(location, StoreLocation::Postgres(_))
            .then(|| Self { location: location.clone(), opened: OnceCell::new() })
    }

    /// Returns the store, and opens it if it is not open.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached. The next call attempts it again.
    pub async fn get(&self) -> Result<&dyn Store, StoreError> {
        let opened = self.opened.get_or_try_init(|| open(&self.location)).await?;
        Ok(opened.as_ref())
    }
}

impl fmt::Debug for LazyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyStore").field("is_open", &self.opened.initialized()).finish_non_exhaustive()
    }
}

#[cfg(feature = "postgres")]
async fn open(location: &StoreLocation) -> Result<Arc<dyn Store>, StoreError> {
    match location {
        StoreLocation::Postgres(url) => Ok(Arc::new(super::PostgresStore::open(url).await?)),
        StoreLocation::File(_) => Err(StoreError::Closed),
    }
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unused_async, reason = "with the feature `postgres`, it connects")]
async fn open(location: &StoreLocation) -> Result<Arc<dyn Store>, StoreError> {
    match location {
        StoreLocation::Postgres(url) => {
            Err(StoreError::Unsupported { location: super::without_credentials(url) })
        }
        StoreLocation::File(_) => Err(StoreError::Closed),
    }
}

/// The records of one kind in a store, as a table.
pub struct RecordTable {
    store: Arc<LazyStore>,
    kind: RecordKind,
}

impl RecordTable {
    /// Returns the table of a kind.
    pub fn new(store: Arc<LazyStore>, kind: RecordKind) -> Self {
        Self { store, kind }
    }

    async fn store(&self) -> io::Result<&dyn Store> {
        self.store.get().await.map_err(io_error)
    }

    /// Returns the id of the lease of a row.
    fn lease(&self, id: &str) -> String {
        format!("{} {id}", self.kind.as_str())
    }
}

#[async_trait]
impl SharedTable for RecordTable {
    async fn get(&self, id: &str) -> io::Result<Option<Value>> {
        let found = self.store().await?.get(self.kind, id).await.map_err(io_error)?;
        Ok(found.map(|record| record.body))
    }

    async fn put(&self, id: &str, row: Value) -> io::Result<()> {
        let record = Record { kind: self.kind, id: id.to_owned(), session: String::new(), body: row };
        self.store().await?.apply(vec![Change::Put(record)]).await.map_err(io_error)
    }

    async fn remove(&self, id: &str) -> io::Result<bool> {
        match self.store().await?.apply(vec![Change::take(self.kind, id)]).await {
            Ok(()) => Ok(true),
            Err(StoreError::Taken { .. }) => Ok(false),
            Err(error) => Err(io_error(error)),
        }
    }

    async fn lock(&self, id: &str, owner: &str, time: Duration) -> io::Result<bool> {
        self.store().await?.lease(&self.lease(id), owner, time).await.map_err(io_error)
    }

    async fn unlock(&self, id: &str, owner: &str) -> io::Result<()> {
        self.store().await?.release(&self.lease(id), owner).await.map_err(io_error)
    }

    async fn hints(&self) -> Hints {
        match self.store().await {
            Ok(store) => store.hints(self.kind),
            Err(_) => Hints::default(),
        }
    }
}

fn io_error(error: StoreError) -> io::Error {
    let kind = match error {
        StoreError::Unreachable { .. } => io::ErrorKind::NotConnected,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
