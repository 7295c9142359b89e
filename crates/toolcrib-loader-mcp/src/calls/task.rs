//! Calls that a server runs as tasks: the tasks extension of revision 2026-07-28, and the tasks of 2025-11-25.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CancelTaskParams, CancelTaskRequest, ClientRequest, CreateTaskResult, CustomRequest, GetTaskParams,
    GetTaskRequest, InputRequests, ServerResult, UpdateTaskParams, UpdateTaskRequest,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;
use toolcrib_model::{JsonObject, ToolError};
use toolcrib_port::{Progress, ProgressListener};

use crate::McpConnection;
use crate::connection::session::{RequestError, Session};
use crate::elicitation::{CallElicitation, no_user};
use crate::text::{MAX_PROGRESS_CHARS, clean};

/// The default time between two polls of a task.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest time between two polls, regardless of the server's request.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The longest time between two polls, regardless of the server's request.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(30);

/// The number of consecutive polls that may fail before the task is abandoned.
const MAX_FAILED_POLLS: u32 = 3;

/// The protocol of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskProtocol {
    /// The extension: the result is part of the state.
    Extension,
    /// Revision 2025-11-25: the result needs a separate request.
    Core,
}

/// The state of a task, in both protocols.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskState {
    task_id: String,
    status: String,
    status_message: Option<String>,
    #[serde(alias = "pollInterval")]
    poll_interval_ms: Option<u64>,
    result: Option<Value>,
    error: Option<JsonObject>,
    /// The questions that the user has to answer before the task continues, in the extension.
    input_requests: Option<InputRequests>,
}

/// The outcome of a task.
pub(crate) enum TaskOutcome {
    /// The result of the call.
    Completed(Box<ServerResult>),
    /// An error of the protocol.
    Failed(JsonObject),
    /// The server cancelled the task.
    Cancelled,
    /// The task needs an answer from the user, which cannot be had for this reason.
    InputRequired(ToolError),
    /// The server reports an invalid state.
    Unreadable,
}

/// A task of a server. Dropping it before its end cancels the task on the server.
pub(crate) struct Task {
    id: String,
    protocol: TaskProtocol,
    interval: Duration,
    /// The session in which to cancel the task; `None` once it has ended.
    session: Option<Arc<Session>>,
}

impl Task {
    /// Creates the task that a server made of a call without being asked.
    pub(crate) fn created(created: CreateTaskResult, session: Arc<Session>) -> Self {
        let interval = interval(created.task.poll_interval_ms);
        Self { id: created.task.task_id, protocol: TaskProtocol::Extension, interval, session: Some(session) }
    }

    /// Creates the task that a server of revision 2025-11-25 made of a call on request. Returns `None` if it made none.
    pub(crate) fn requested(answer: &ServerResult, session: Arc<Session>) -> Option<Self> {
        let answer = serde_json::to_value(answer).ok()?;
        let state = TaskState::deserialize(answer.get("task")?).ok()?;
        let interval = interval(state.poll_interval_ms);
        Some(Self { id: state.task_id, protocol: TaskProtocol::Core, interval, session: Some(session) })
    }

    /// Polls the task until it has ended. Each poll reports progress.
    pub(crate) async fn follow(
        mut self,
        connection: &McpConnection,
        listener: Option<&Arc<dyn ProgressListener>>,
        broker: &CallElicitation<'_>,
    ) -> Result<TaskOutcome, RequestError> {
        let (mut polls, mut failed) = (0_u32, 0);
        // A server repeats a question until it has read the answer.
        let mut answered = BTreeSet::new();
        loop {
            sleep(self.interval).await;
            let state = match connection.request(|| self.poll_request(), None).await {
                Ok(answer) => serde_json::to_value(answer.result)
                    .ok()
                    .and_then(|state| TaskState::deserialize(state).ok()),
                Err(
                    RequestError::NotSent(_)
                    | RequestError::SessionExpired(_)
                    | RequestError::Lost { .. }
                    | RequestError::Rejected { .. },
                ) if failed < MAX_FAILED_POLLS => {
                    failed += 1;
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            failed = 0;
            let Some(state) = state.filter(|state| state.task_id == self.id) else {
                return Ok(TaskOutcome::Unreadable);
            };
            self.interval =
                state.poll_interval_ms.map_or(self.interval, |_| interval(state.poll_interval_ms));
            match state.status.as_str() {
                "working" => {
                    polls += 1;
                    if let Some(listener) = listener {
                        let message = state.status_message.map(|message| clean(&message, MAX_PROGRESS_CHARS));
                        listener.progress(&Progress { done: polls.into(), total: None, message });
                    }
                }
                "completed" => {
                    self.session = None;
                    return self.result(state.result, connection).await;
                }
                "failed" => {
                    self.session = None;
                    return Ok(TaskOutcome::Failed(state.error.unwrap_or_default()));
                }
                "cancelled" => {
                    self.session = None;
                    return Ok(TaskOutcome::Cancelled);
                }
                // The server sends its questions as requests, while the result is requested.
                "input_required" if self.protocol == TaskProtocol::Core && connection.broker().has_user() => {
                    let ended = self.result(None, connection).await;
                    self.session = None;
                    return ended;
                }
                "input_required" => {
                    let mut requests = state.input_requests.unwrap_or_default();
                    if requests.is_empty() {
                        return Ok(TaskOutcome::InputRequired(no_user()));
                    }
                    requests.retain(|key, _| answered.insert(key.clone()));
                    if requests.is_empty() {
                        continue;
                    }
                    let answers = match broker.answers(requests).await {
                        Ok(answers) => answers,
                        Err(error) => return Ok(TaskOutcome::InputRequired(error)),
                    };
                    let update = || {
                        let params = UpdateTaskParams::new(self.id.clone(), answers.clone());
                        ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params))
                    };
                    connection.request(update, None).await?;
                }
                _ => return Ok(TaskOutcome::Unreadable),
            }
        }
    }

    async fn result(
        &self,
        inline: Option<Value>,
        connection: &McpConnection,
    ) -> Result<TaskOutcome, RequestError> {
        if self.protocol == TaskProtocol::Core {
            return match connection.request(|| self.core_request("tasks/result"), None).await {
                Ok(answer) => Ok(TaskOutcome::Completed(Box::new(answer.result))),
                // The result of a call may be an error of the protocol.
                Err(RequestError::Rpc(error)) => Ok(TaskOutcome::Failed(
                    [("message".to_owned(), Value::from(error.message.into_owned()))].into_iter().collect(),
                )),
                Err(fault) => Err(fault),
            };
        }
        let result =
            inline.and_then(|result| serde_json::from_value(result).ok()).map(ServerResult::CallToolResult);
        Ok(result.map_or(TaskOutcome::Unreadable, |result| TaskOutcome::Completed(Box::new(result))))
    }

    /// Returns the request for the state of the task.
    fn poll_request(&self) -> ClientRequest {
        match self.protocol {
            TaskProtocol::Extension => {
                ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(self.id.clone())))
            }
            TaskProtocol::Core => self.core_request("tasks/get"),
        }
    }

    /// Returns a request of revision 2025-11-25 about the task.
    fn core_request(&self, method: &str) -> ClientRequest {
        ClientRequest::CustomRequest(CustomRequest::new(method, Some(json!({"taskId": self.id}))))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        session.send_in_background(match self.protocol {
            TaskProtocol::Extension => ClientRequest::CancelTaskRequest(CancelTaskRequest::new(
                CancelTaskParams::new(self.id.clone()),
            )),
            TaskProtocol::Core => self.core_request("tasks/cancel"),
        });
    }
}

/// Returns the time between two polls, within the limits.
fn interval(milliseconds: Option<u64>) -> Duration {
    let asked = milliseconds.map_or(POLL_INTERVAL, Duration::from_millis);
    asked.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)
}
