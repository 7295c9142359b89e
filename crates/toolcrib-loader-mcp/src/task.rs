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
use crate::elicitation::{OnCall, nobody};
use crate::session::{Fault, Session};
use crate::text::{MAX_PROGRESS_CHARS, clean};

/// How long to wait between two looks at a task, when the server does not say.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest time between two looks, whatever a server says.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The longest time between two looks, whatever a server says.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(30);

/// How many looks in a row may fail before the task is given up.
const MAX_FAILED_POLLS: u32 = 3;

/// How a task is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// The extension: its result comes with its state.
    Extension,
    /// Revision 2025-11-25: its result is asked for.
    Core,
}

/// What a server says of a task, in both styles.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    task_id: String,
    status: String,
    status_message: Option<String>,
    #[serde(alias = "pollInterval")]
    poll_interval_ms: Option<u64>,
    result: Option<Value>,
    error: Option<JsonObject>,
    /// What the user has to answer before it goes on, by the extension.
    input_requests: Option<InputRequests>,
}

/// How a task ended.
pub(crate) enum Ended {
    /// With the result of the call.
    Completed(Box<ServerResult>),
    /// With an error of the protocol.
    Failed(JsonObject),
    /// The server gave it up.
    Cancelled,
    /// It wants an answer from the user, and there is none for this reason.
    InputRequired(ToolError),
    /// The server says things about it that make no sense.
    Unreadable,
}

/// A task of a server, which is told to give it up when this is dropped before the end.
pub(crate) struct Task {
    id: String,
    style: Style,
    interval: Duration,
    /// Where to say that it is given up; `None` once it has ended.
    session: Option<Arc<Session>>,
}

impl Task {
    /// The task that a server made of a call by itself.
    pub(crate) fn created(created: CreateTaskResult, session: Arc<Session>) -> Self {
        let interval = interval(created.task.poll_interval_ms);
        Self { id: created.task.task_id, style: Style::Extension, interval, session: Some(session) }
    }

    /// The task that a server of revision 2025-11-25 made of a call, because it was asked to.
    pub(crate) fn asked_for(answer: &ServerResult, session: Arc<Session>) -> Option<Self> {
        let answer = serde_json::to_value(answer).ok()?;
        let state = State::deserialize(answer.get("task")?).ok()?;
        let interval = interval(state.poll_interval_ms);
        Some(Self { id: state.task_id, style: Style::Core, interval, session: Some(session) })
    }

    /// Looks at the task until it has ended. Each look is a sign of life.
    pub(crate) async fn follow(
        mut self,
        connection: &McpConnection,
        listener: Option<&Arc<dyn ProgressListener>>,
        desk: &OnCall<'_>,
    ) -> Result<Ended, Fault> {
        let (mut looks, mut failed) = (0_u32, 0);
        // A server goes on naming a question until it has read the answer.
        let mut answered = BTreeSet::new();
        loop {
            sleep(self.interval).await;
            let state = match connection.request(|| self.look(), None).await {
                Ok(answer) => {
                    serde_json::to_value(answer.result).ok().and_then(|state| State::deserialize(state).ok())
                }
                Err(
                    Fault::NotSent(_)
                    | Fault::SessionExpired(_)
                    | Fault::Lost { .. }
                    | Fault::TurnedAway { .. },
                ) if failed < MAX_FAILED_POLLS => {
                    failed += 1;
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            failed = 0;
            let Some(state) = state.filter(|state| state.task_id == self.id) else {
                return Ok(Ended::Unreadable);
            };
            self.interval =
                state.poll_interval_ms.map_or(self.interval, |_| interval(state.poll_interval_ms));
            match state.status.as_str() {
                "working" => {
                    looks += 1;
                    if let Some(listener) = listener {
                        let message = state.status_message.map(|message| clean(&message, MAX_PROGRESS_CHARS));
                        listener.progress(&Progress { done: looks.into(), total: None, message });
                    }
                }
                "completed" => {
                    self.session = None;
                    return self.result(state.result, connection).await;
                }
                "failed" => {
                    self.session = None;
                    return Ok(Ended::Failed(state.error.unwrap_or_default()));
                }
                "cancelled" => {
                    self.session = None;
                    return Ok(Ended::Cancelled);
                }
                // It asks by requests of its own, while it is asked for the result.
                "input_required" if self.style == Style::Core && connection.desk().is_attended() => {
                    let ended = self.result(None, connection).await;
                    self.session = None;
                    return ended;
                }
                "input_required" => {
                    let mut requests = state.input_requests.unwrap_or_default();
                    if requests.is_empty() {
                        return Ok(Ended::InputRequired(nobody()));
                    }
                    requests.retain(|key, _| answered.insert(key.clone()));
                    if requests.is_empty() {
                        continue;
                    }
                    let answers = match desk.answers(requests).await {
                        Ok(answers) => answers,
                        Err(error) => return Ok(Ended::InputRequired(error)),
                    };
                    let update = || {
                        let params = UpdateTaskParams::new(self.id.clone(), answers.clone());
                        ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params))
                    };
                    connection.request(update, None).await?;
                }
                _ => return Ok(Ended::Unreadable),
            }
        }
    }

    async fn result(&self, inline: Option<Value>, connection: &McpConnection) -> Result<Ended, Fault> {
        if self.style == Style::Core {
            return match connection.request(|| self.core("tasks/result"), None).await {
                Ok(answer) => Ok(Ended::Completed(Box::new(answer.result))),
                // The result of a call may be an error of the protocol.
                Err(Fault::Rpc(error)) => Ok(Ended::Failed(
                    [("message".to_owned(), Value::from(error.message.into_owned()))].into_iter().collect(),
                )),
                Err(fault) => Err(fault),
            };
        }
        let result =
            inline.and_then(|result| serde_json::from_value(result).ok()).map(ServerResult::CallToolResult);
        Ok(result.map_or(Ended::Unreadable, |result| Ended::Completed(Box::new(result))))
    }

    fn look(&self) -> ClientRequest {
        match self.style {
            Style::Extension => {
                ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(self.id.clone())))
            }
            Style::Core => self.core("tasks/get"),
        }
    }

    fn core(&self, method: &str) -> ClientRequest {
        ClientRequest::CustomRequest(CustomRequest::new(method, Some(json!({"taskId": self.id}))))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        session.tell(match self.style {
            Style::Extension => ClientRequest::CancelTaskRequest(CancelTaskRequest::new(
                CancelTaskParams::new(self.id.clone()),
            )),
            Style::Core => self.core("tasks/cancel"),
        });
    }
}

fn interval(milliseconds: Option<u64>) -> Duration {
    let asked = milliseconds.map_or(POLL_INTERVAL, Duration::from_millis);
    asked.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)
}
