//! Requests of an operator to the process that runs the tasks.
//!
//! A request is a record that the process of the operator writes to the store. The process that runs the tasks polls
//! the store for changes of other processes, performs the request and removes the record, which acknowledges the
//! request.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_model::{ErrorKind, ToolError};

use crate::id::random_id;
use crate::store::{Change, Record, RecordKind};
use crate::{Services, Store};

/// The interval at which the process that runs the tasks polls for requests.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The time that an operator waits for a request to be performed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The interval at which the operator polls for the acknowledgement.
const DONE_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A request of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OperatorRequest {
    /// Cancel the task with this id, regardless of its kind.
    Cancel(String),
}

impl OperatorRequest {
    /// Writes the request to a store that another process has open, and waits until that process has performed it.
    pub async fn submit(&self, store: &dyn Store) -> Result<(), ToolError> {
        let failed =
            |error: crate::store::StoreError| ToolError::new(ErrorKind::Unavailable, error.to_string());
        let id = random_id("request").map_err(failed)?;
        let record =
            Record { kind: RecordKind::Request, id: id.clone(), session: String::new(), body: json!(self) };
        store.apply(vec![Change::Put(record)]).await.map_err(failed)?;
        let done = async {
            while store.get(RecordKind::Request, &id).await.map_err(failed)?.is_some() {
                tokio::time::sleep(DONE_POLL_INTERVAL).await;
            }
            Ok(())
        };
        if let Ok(done) = tokio::time::timeout(REQUEST_TIMEOUT, done).await {
            return done;
        }
        store.apply(vec![Change::remove(RecordKind::Request, id)]).await.map_err(failed)?;
        let message =
            format!("the process that runs the tasks has not answered for {} s", REQUEST_TIMEOUT.as_secs());
        Err(ToolError::new(ErrorKind::Timeout, message))
    }
}

impl Services {
    /// Performs the requests of operators until the services stop intake.
    pub async fn serve_requests(self: Arc<Self>, handler: impl AsyncFn(OperatorRequest)) {
        let mut has_polled = false;
        loop {
            let requests = async {
                // Requests from before this process began to poll are performed as well.
                let is_new = !std::mem::replace(&mut has_polled, true);
                match self.store.has_changed().await {
                    Ok(changed) if changed || is_new => self.requests().await,
                    Ok(_) => Vec::new(),
                    Err(error) => {
                        tracing::warn!(%error, "the store cannot be polled for requests of operators");
                        Vec::new()
                    }
                }
            };
            for (id, request) in requests.await {
                if let Some(request) = request {
                    handler(request).await;
                }
                if let Err(error) = self.store.apply(vec![Change::remove(RecordKind::Request, id)]).await {
                    tracing::warn!(%error, "a request that was performed could not be removed");
                }
            }
            let sleep = tokio::time::sleep(POLL_INTERVAL);
            if self.closing().run_until_cancelled(sleep).await.is_none() {
                return;
            }
        }
    }

    async fn requests(&self) -> Vec<(String, Option<OperatorRequest>)> {
        match self.store.load(RecordKind::Request).await {
            Ok(records) => records
                .into_iter()
                .map(|Record { id, body, .. }| (id, serde_json::from_value(body).ok()))
                .collect(),
            Err(error) => {
                tracing::warn!(%error, "the requests of operators cannot be read");
                Vec::new()
            }
        }
    }
}
