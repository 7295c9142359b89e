//! Messages between processes, as records of the store.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ErrorData, InputRequiredResult, InputResponses, Task};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolcrib_model::ToolResult;
use toolcrib_model::random::{hex, random_bytes};
use toolcrib_tasks::store::{Change, Record, RecordKind, StoreError};

use super::Replica;
use crate::Error;

/// The interval at which a process polls for messages while it expects any.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The same of a store that gives hints. Some may be lost.
pub(super) const POLL_INTERVAL_WITH_HINTS: Duration = Duration::from_secs(1);

/// The time for which a message waits for a process. A process that takes longer has ended.
const MESSAGE_LIFETIME: Duration = Duration::from_mins(5);

/// The number of random bytes in the id of a message or a request.
const ID_BYTES: usize = 8;

/// A message to another process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ReplicaMessage {
    /// An answer of an operator to a question of the receiver.
    Answer {
        /// The queue of the question.
        queue: String,
        /// The id of the question there.
        question: u64,
        answer: Value,
    },
    /// A request to continue a suspended call of the receiver, whose client has come to the sender.
    Resume(Resume),
    /// The outcome of the call that the receiver wanted to continue.
    Outcome { request: String, outcome: Box<Outcome> },
    /// The client of a request does not wait any more.
    Gone { request: String },
}

/// A request to continue a suspended call.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Resume {
    /// The id of the request.
    pub(crate) request: String,
    /// The process that waits for the outcome.
    pub(crate) sender: String,
    /// The number of the call in the receiver.
    pub(crate) call: u64,
    /// The answers of the client.
    pub(crate) responses: InputResponses,
    /// True if the result may be a task.
    #[serde(default)]
    pub(crate) takes_tasks: bool,
}

/// The outcome of a call that another process has continued.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The call has a result, with its structured content if the client checks it, or continues as a task of the sender.
    Done {
        result: Box<ToolResult>,
        structure: Option<Result<Value, String>>,
        #[serde(default)]
        task: Option<Box<Task>>,
    },
    /// The client is asked again.
    Asks(InputRequiredResult),
    /// The call cannot be continued.
    Failed(ErrorData),
}

/// A caller that waits for an outcome. It tells the other process when it is dropped before.
pub(crate) struct PendingOutcome<'a> {
    replica: &'a Arc<Replica>,
    holder: String,
    request: String,
    pub(crate) receiver: oneshot::Receiver<Outcome>,
}

impl Drop for PendingOutcome<'_> {
    fn drop(&mut self) {
        let is_waiting = self.replica.outcomes.lock().remove(&self.request).is_some();
        let (true, Ok(runtime)) = (is_waiting, tokio::runtime::Handle::try_current()) else { return };
        let (replica, holder) = (Arc::clone(self.replica), self.holder.clone());
        let message = ReplicaMessage::Gone { request: self.request.clone() };
        runtime.spawn(async move {
            // The call continues otherwise, as that of a client that has lost its connection.
            let _ = replica.send(&holder, &message).await;
        });
    }
}

/// Returns a new id of a message or a request.
pub(crate) fn new_id() -> Result<String, Error> {
    Ok(hex(&random_bytes::<ID_BYTES>()?))
}

/// Returns the change that sends a message to a process.
pub(crate) fn sending(receiver: &str, message: &ReplicaMessage) -> Result<Change, Error> {
    let id = format!("{receiver}.{}", new_id()?);
    let record = Record { kind: RecordKind::Message, id, session: String::new(), body: json!(message) };
    Ok(Change::PutFor { record, lifetime: MESSAGE_LIFETIME })
}

impl Replica {
    /// Sends a message to a process.
    pub(crate) async fn send(&self, receiver: &str, message: &ReplicaMessage) -> Result<(), Error> {
        let change = sending(receiver, message)?;
        Ok(self.store().apply(vec![change]).await?)
    }

    /// Returns the messages to this process, and removes them.
    pub(super) async fn receive(&self) -> Result<Vec<ReplicaMessage>, StoreError> {
        let store = self.store();
        let records = store.list(RecordKind::Message, &format!("{}.", self.id())).await?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let removals = records.iter().map(|record| Change::remove(RecordKind::Message, record.id.as_str()));
        store.apply(removals.collect()).await?;
        let parse = |record: Record| match serde_json::from_value(record.body) {
            Ok(message) => Some(message),
            Err(error) => {
                tracing::warn!(%error, "a message of another process cannot be read; do all have one version?");
                None
            }
        };
        Ok(records.into_iter().filter_map(parse).collect())
    }

    /// Registers a caller that waits for the outcome of a request to another process.
    pub(crate) fn expect_outcome<'a>(self: &'a Arc<Self>, request: &str, holder: &str) -> PendingOutcome<'a> {
        let (sender, receiver) = oneshot::channel();
        self.outcomes.lock().insert(request.to_owned(), sender);
        self.wake();
        PendingOutcome { replica: self, holder: holder.to_owned(), request: request.to_owned(), receiver }
    }

    /// Gives an outcome to the caller that waits for it.
    pub(super) fn deliver(&self, request: &str, outcome: Outcome) {
        if let Some(sender) = self.outcomes.lock().remove(request) {
            // The caller may have left since.
            let _ = sender.send(outcome);
        }
    }

    /// Returns true if a caller waits for an outcome.
    pub(super) fn expects_outcome(&self) -> bool {
        !self.outcomes.lock().is_empty()
    }
}
