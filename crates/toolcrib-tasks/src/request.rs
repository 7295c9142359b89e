//! What an operator asks of the process that has the store.
//!
//! A request is a record that the operator's process leaves in the store. The process that runs the tasks looks every second
//! whether another has changed the store, does what is asked, and takes the record away, by which the operator knows.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_model::{ErrorKind, ToolError};

use crate::id::random_id;
use crate::{Change, Kind, Record, Services, Store};

/// How often the process that runs the tasks looks for requests.
const LOOK: Duration = Duration::from_secs(1);

/// How long an operator waits until a request has been done.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often the operator looks whether it has been.
const GLANCE: Duration = Duration::from_millis(100);

/// What an operator asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Request {
    /// End the task of this id, of whatever kind.
    Cancel(String),
}

impl Request {
    /// Leaves it in a store that another process has, and comes back when it has been done.
    pub async fn leave(&self, store: &dyn Store) -> Result<(), ToolError> {
        let failed = |error: crate::StoreError| ToolError::new(ErrorKind::Unavailable, error.to_string());
        let id = random_id("request").map_err(failed)?;
        let record =
            Record { kind: Kind::Request, id: id.clone(), session: String::new(), body: json!(self) };
        store.apply(vec![Change::Put(record)]).await.map_err(failed)?;
        let done = async {
            while store.get(Kind::Request, &id).await.map_err(failed)?.is_some() {
                tokio::time::sleep(GLANCE).await;
            }
            Ok(())
        };
        if let Ok(done) = tokio::time::timeout(PATIENCE, done).await {
            return done;
        }
        store.apply(vec![Change::remove(Kind::Request, id)]).await.map_err(failed)?;
        let message =
            format!("the process that runs the tasks has not answered for {} s", PATIENCE.as_secs());
        Err(ToolError::new(ErrorKind::Timeout, message))
    }
}

impl Services {
    /// Does what operators ask for, until nothing more is started.
    pub async fn attend(self: Arc<Self>, heed: impl AsyncFn(Request)) {
        let mut has_looked = false;
        loop {
            let asked = async {
                // What was asked for before this process began to look is done as well.
                let is_new = !std::mem::replace(&mut has_looked, true);
                match self.store.has_changed().await {
                    Ok(changed) if changed || is_new => self.requests().await,
                    Ok(_) => Vec::new(),
                    Err(error) => {
                        tracing::warn!(%error, "what operators ask for cannot be seen");
                        Vec::new()
                    }
                }
            };
            for (id, request) in asked.await {
                if let Some(request) = request {
                    heed(request).await;
                }
                if let Err(error) = self.store.apply(vec![Change::remove(Kind::Request, id)]).await {
                    tracing::warn!(%error, "a request that was done is still there");
                }
            }
            let sleep = tokio::time::sleep(LOOK);
            if self.closing().run_until_cancelled(sleep).await.is_none() {
                return;
            }
        }
    }

    async fn requests(&self) -> Vec<(String, Option<Request>)> {
        match self.store.load(Kind::Request).await {
            Ok(records) => records
                .into_iter()
                .map(|Record { id, body, .. }| (id, serde_json::from_value(body).ok()))
                .collect(),
            Err(error) => {
                tracing::warn!(%error, "what operators ask for cannot be read");
                Vec::new()
            }
        }
    }
}
