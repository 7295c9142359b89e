//! The use of the store of an app by the parts of other crates.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use toolcrib_exec::audit::{SpoolDestination, SpooledRecord};
use toolcrib_exec::flow::SharedRates;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_results::ResultArchive;
use toolcrib_tasks::store::{AuditRow, AuditTable, Change, LazyStore, Record, RecordKind, StoreError};
use toolcrib_tasks::{Store, StoreLocation};

/// The calls of exact rate limits in the store that several processes share.
pub(crate) struct StoredRates(pub(crate) Arc<LazyStore>);

#[async_trait]
impl SharedRates for StoredRates {
    async fn count(&self, id: &str, interval: Duration, tolerance: Duration) -> Result<Duration, String> {
        let store = self.0.get().await.map_err(|error| error.to_string())?;
        store.count_call(id, interval, tolerance).await.map_err(|error| error.to_string())
    }
}

/// The audit records in the database of a store, which is opened for the first of them.
pub(crate) struct StoredAudit {
    location: StoreLocation,
    table: Option<AuditTable>,
}

impl StoredAudit {
    pub(crate) fn new(location: StoreLocation) -> Self {
        Self { location, table: None }
    }
}

#[async_trait]
impl SpoolDestination for StoredAudit {
    async fn append(&mut self, records: Vec<SpooledRecord>) -> Result<(), String> {
        let table = if let Some(table) = &self.table {
            table
        } else {
            let opened = AuditTable::open(&self.location).await;
            self.table.insert(opened.map_err(|error| error.to_string())?)
        };
        let row = |SpooledRecord { id, time, json }| AuditRow { id, time, record: json };
        let rows: Vec<_> = records.into_iter().map(row).collect();
        table.append(&rows).await.map_err(|error| error.to_string())
    }

    async fn close(&mut self) {
        if let Some(table) = self.table.take() {
            table.close().await;
        }
    }
}

/// The results behind handles in the store that processes share.
pub(crate) struct StoredResults(pub(crate) Arc<dyn Store>);

#[async_trait]
impl ResultArchive for StoredResults {
    async fn put(
        &self,
        handle: &str,
        session: &str,
        result: Value,
        lifetime: Duration,
    ) -> Result<(), ToolError> {
        let (id, session) = (handle.to_owned(), session.to_owned());
        let record = Record { kind: RecordKind::Result, id, session, body: result };
        self.0.apply(vec![Change::PutFor { record, lifetime }]).await.map_err(|error| failed(&error))
    }

    async fn get(&self, handle: &str) -> Result<Option<Value>, ToolError> {
        let found = self.0.get(RecordKind::Result, handle).await.map_err(|error| failed(&error))?;
        Ok(found.map(|record| record.body))
    }

    async fn remove(&self, handles: Vec<String>) -> Result<(), ToolError> {
        let changes = handles.into_iter().map(|handle| Change::remove(RecordKind::Result, handle));
        self.0.apply(changes.collect()).await.map_err(|error| failed(&error))
    }
}

fn failed(error: &StoreError) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, error.to_string()).with_hint("try again later")
}
