//! Results behind handles in the store that processes share.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_results::ResultArchive;
use toolcrib_tasks::Store;
use toolcrib_tasks::store::{Change, Record, RecordKind, StoreError};

/// The records of results in a store.
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
