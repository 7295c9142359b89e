//! Long-running calls as tasks of the extension `io.modelcontextprotocol/tasks` (SEP-2663).
//!
//! A task is a background call. A client that supports tasks gets one instead of a result that takes long. It polls the
//! state of the task, answers its questions, and cancels it. No notification reports the end of a task.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{
    DetailedTask, ErrorCode, ErrorData, GetTaskResult, InputResponses, JsonObject, Task, TaskPayload,
    TaskStatus as WireStatus,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, ResultNote, ToolError, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_runtime::Runtime;
use toolcrib_tasks::background::{TaskObserver, TaskState, TaskStatus};

use crate::approval::ElicitationSession;
use crate::calls::content::content;
use crate::calls::execution::{Caller, FinishedCall, is_modern};
use crate::metrics::milliseconds;
use crate::replica::Replica;

/// The default time after which a call becomes a task if its client supports tasks.
pub const TASK_AFTER: Duration = Duration::from_secs(5);

/// The interval at which a client should poll the state of a task.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The tasks of clients. Clients know them by the id of the background call, behind that of its process if several share
/// a store: its questions are in that process, to which the others pass requests about the task.
#[derive(Default)]
pub(crate) struct Tasks {
    by_id: Mutex<HashMap<String, ClientTask>>,
    /// The id of this process among several.
    process: Option<String>,
}

/// A task of a client. The background calls hold its state.
struct ClientTask {
    /// The elicitation session of its questions, while it runs.
    elicitation: Weak<ElicitationSession>,
    observer: TaskObserver,
}

/// Returns true if a result may be a task. The extension does not exist before revision 2026-07-28.
pub(crate) fn takes_tasks(context: &RequestContext<RoleServer>) -> bool {
    is_modern(context)
        && context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

impl Tasks {
    pub(crate) fn new(replica: Option<&Replica>) -> Self {
        let replica = replica.filter(|replica| !replica.is_alone());
        Self { by_id: Mutex::default(), process: replica.map(|replica| replica.id().to_owned()) }
    }

    /// Creates the task for a call that continues in the background.
    pub(crate) async fn create(&self, call: &FinishedCall) -> Option<Task> {
        let id = call.background_id()?;
        let background = call.lease.runtime.tasks().background();
        let observer = background.observe(id, &call.context).ok()?;
        let elicitation = call.elicitation.as_ref().map_or_else(Weak::new, Arc::downgrade);
        {
            let mut tasks = self.by_id.lock();
            tasks.retain(|_, task| !task.observer.is_over());
            tasks.insert(id.to_owned(), ClientTask { elicitation, observer });
        }
        let status = background.status(id, &call.context).await.ok()?;
        let id = match &self.process {
            Some(process) => format!("{process}.{id}"),
            None => id.to_owned(),
        };
        Some(to_wire(&id, &status, background.retention()))
    }

    /// Returns the elicitation session of a running task.
    fn elicitation(&self, id: &str) -> Option<Arc<ElicitationSession>> {
        self.by_id.lock().get(id)?.elicitation.upgrade()
    }

    /// Returns the state of a task, with its result if it has one.
    pub(crate) async fn status(&self, task: &str, caller: &Caller) -> Result<GetTaskResult, ErrorData> {
        let id = local(task);
        let (runtime, context) = (&caller.lease.runtime, caller.context());
        let background = runtime.tasks().background();
        let status = background.status(id, &context).await.map_err(|_| unknown_task())?;
        let task = to_wire(task, &status, background.retention());
        let payload = match status.status {
            TaskState::Running | TaskState::WaitingForApproval => {
                match self.elicitation(id).and_then(|elicitation| elicitation.open_questions()) {
                    Some(input_requests) => TaskPayload::InputRequired { input_requests },
                    None => TaskPayload::Working,
                }
            }
            TaskState::Cancelled => TaskPayload::Cancelled,
            _ => payload_of(status, runtime, &context),
        };
        if payload.status().is_terminal() {
            self.by_id.lock().remove(id);
        }
        Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
    }

    /// Accepts the answers to the questions of a task. Ignores those that match no question.
    pub(crate) async fn update(
        &self,
        task: &str,
        responses: InputResponses,
        caller: &Caller,
    ) -> Result<(), ErrorData> {
        let id = local(task);
        let background = caller.lease.runtime.tasks().background();
        background.status(id, &caller.context()).await.map_err(|_| unknown_task())?;
        if let Some(elicitation) = self.elicitation(id) {
            elicitation.accept_answers(responses);
        }
        Ok(())
    }

    /// Cancels a task if it has not ended.
    pub(crate) async fn cancel(&self, task: &str, caller: &Caller) -> Result<(), ErrorData> {
        let id = local(task);
        let background = caller.lease.runtime.tasks().background();
        background.cancel(id, &caller.context()).await.map_err(|_| unknown_task())?;
        Ok(())
    }
}

/// Returns the id of the background call of a task.
fn local(task: &str) -> &str {
    task.rsplit_once('.').map_or(task, |(_, id)| id)
}

/// Returns the outcome of a task.
fn payload_of(status: TaskStatus, runtime: &Runtime, context: &CallContext) -> TaskPayload {
    let result = match status.error {
        Some(ToolError { kind: ErrorKind::Internal, message, .. }) => {
            return failed(&message);
        }
        Some(error) => ToolResult::failed(None, status.tool, error),
        None => ToolResult::ok(None, status.tool, status.result.unwrap_or_default()),
    };
    let about = [status.handle.map(ResultNote::Handle), status.note.map(ResultNote::Facts)];
    let result = about.into_iter().flatten().fold(result, ToolResult::with_note);
    let told = content(result, runtime.executor().tool_caller().results(), context);
    match serde_json::to_value(told) {
        Ok(Value::Object(result)) => TaskPayload::Completed { result },
        _ => failed("the result cannot be written"),
    }
}

fn failed(message: &str) -> TaskPayload {
    let error = json!({"code": ErrorCode::INTERNAL_ERROR.0, "message": message});
    let error = error.as_object().cloned().unwrap_or_else(JsonObject::new);
    TaskPayload::Failed { error }
}

/// Converts a task to its MCP form. Its result is stored for the retention time after the end, so a running task exists
/// for at least that time from now.
fn to_wire(id: &str, status: &TaskStatus, retention: Duration) -> Task {
    let started = SystemTime::from(status.started);
    let until = status.ended.map_or_else(SystemTime::now, SystemTime::from);
    // If the clock was set back, no time has passed.
    let taken = until.duration_since(started).unwrap_or_default();
    let updated = status.ended.unwrap_or(status.started);
    let mut task = Task::new(id, WireStatus::Working, status.started.to_string(), updated.to_string())
        .with_ttl_ms(milliseconds(taken + retention))
        .with_poll_interval_ms(milliseconds(POLL_INTERVAL));
    task.status_message = status.progress.clone().or_else(|| status.note.clone());
    task
}

/// Returns the error for an unknown task. It does not reveal if another client has such a task.
fn unknown_task() -> ErrorData {
    let message = "this client has no such task: it was never started, or its result has expired";
    ErrorData::invalid_params(message, None)
}
