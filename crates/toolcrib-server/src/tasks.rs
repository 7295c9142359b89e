//! Calls that take long, as tasks of the extension `io.modelcontextprotocol/tasks` (SEP-2663).
//!
//! A task is a call in the background. A client that says that it takes tasks gets one in the place of a result that is not
//! there soon, asks how it stands, answers what is asked meanwhile, and ends it. Of its end it is told by nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use rmcp::RoleServer;
use rmcp::model::{
    CreateTaskResult, DetailedTask, ErrorCode, ErrorData, GetTaskResult, InputResponses, JsonObject, Task,
    TaskPayload, TaskStatus as WireStatus,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_runtime::Runtime;
use toolcrib_tasks::{TaskObserver, TaskState, TaskStatus};

use crate::approval::Desk;
use crate::content::content;
use crate::metrics::milliseconds;
use crate::running::{Caller, Ended, is_modern};
use crate::server::Shared;

/// After how long a call becomes a task where its client takes tasks and the app does not say it.
pub const TASK_AFTER: Duration = Duration::from_secs(5);

/// How often a client should ask how a task stands.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The tasks that clients were given.
#[derive(Default)]
pub(crate) struct Tasks {
    given: Mutex<HashMap<String, Given>>,
}

/// A task that a client was given. What it is, the background knows.
struct Given {
    /// Where its questions are put, as long as it runs.
    desk: Weak<Desk>,
    looked_after: TaskObserver,
}

/// Whether a result may be a task. Before revision 2026-07-28 the extension was not there.
pub(crate) fn takes_tasks(context: &RequestContext<RoleServer>) -> bool {
    is_modern(context)
        && context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

impl Tasks {
    /// The task for a call that goes on in the background.
    pub(crate) async fn created(&self, call: &Ended) -> Option<CreateTaskResult> {
        let id = call.moved()?;
        let background = call.lease.runtime.tasks().background();
        let looked_after = background.observe(id, &call.context).ok()?;
        let desk = call.desk.as_ref().map_or_else(Weak::new, Arc::downgrade);
        {
            let mut given = self.given();
            given.retain(|_, task| !task.looked_after.is_over());
            given.insert(id.to_owned(), Given { desk, looked_after });
        }
        let status = background.status(id, &call.context).await.ok()?;
        Some(CreateTaskResult::new(wire(&status, background.retention())))
    }

    /// The desk of a task that runs.
    fn desk(&self, id: &str) -> Option<Arc<Desk>> {
        self.given().get(id)?.desk.upgrade()
    }

    fn given(&self) -> MutexGuard<'_, HashMap<String, Given>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// How a task stands, with its result where it has one.
    pub(crate) async fn task(&self, id: &str, caller: &Caller) -> Result<GetTaskResult, ErrorData> {
        let (runtime, context) = (&caller.lease.runtime, of(caller));
        let background = runtime.tasks().background();
        let status = background.status(id, &context).await.map_err(|_| unknown())?;
        let task = wire(&status, background.retention());
        let payload = match status.status {
            TaskState::Running | TaskState::WaitingForApproval => {
                match self.tasks.desk(id).and_then(|desk| desk.wants()) {
                    Some(input_requests) => TaskPayload::InputRequired { input_requests },
                    None => TaskPayload::Working,
                }
            }
            TaskState::Cancelled => TaskPayload::Cancelled,
            _ => ended(status, runtime, &context),
        };
        if payload.status().is_terminal() {
            self.tasks.given().remove(id);
        }
        Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
    }

    /// Takes the answers to what a task asks. What answers nothing is passed over.
    pub(crate) async fn update_task(
        &self,
        id: &str,
        responses: InputResponses,
        caller: &Caller,
    ) -> Result<(), ErrorData> {
        caller.lease.runtime.tasks().background().status(id, &of(caller)).await.map_err(|_| unknown())?;
        if let Some(desk) = self.tasks.desk(id) {
            desk.answered(responses);
        }
        Ok(())
    }

    /// Ends a task, where it has not ended.
    pub(crate) async fn cancel_task(&self, id: &str, caller: &Caller) -> Result<(), ErrorData> {
        caller.lease.runtime.tasks().background().cancel(id, &of(caller)).await.map_err(|_| unknown())?;
        Ok(())
    }
}

/// What came of a task.
fn ended(status: TaskStatus, runtime: &Runtime, context: &CallContext) -> TaskPayload {
    let result = match status.error {
        Some(ToolError { kind: ErrorKind::Internal, message, .. }) => {
            return failed(&message);
        }
        Some(error) => ToolResult::failed(None, status.tool, error),
        None => ToolResult::ok(None, status.tool, status.result.unwrap_or_default()),
    };
    let about = [("handle", status.handle), ("facts", status.note)];
    let about = about.into_iter().filter_map(|(key, text)| Some((key, text?)));
    let result = about.fold(result, |result, (key, text)| result.with_metadata(key, text));
    let told = content(result, runtime.executor().tool_caller().as_ref(), context);
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

/// A task as MCP has it. A result is kept for so long after the end, so a task that runs is there at least for so long from now.
fn wire(status: &TaskStatus, retention: Duration) -> Task {
    let started = SystemTime::from(status.started);
    let until = status.ended.map_or_else(SystemTime::now, SystemTime::from);
    // A clock that was set back has taken no time.
    let taken = until.duration_since(started).unwrap_or_default();
    let updated = status.ended.unwrap_or(status.started);
    let mut task =
        Task::new(&status.task_id, WireStatus::Working, status.started.to_string(), updated.to_string())
            .with_ttl_ms(milliseconds(taken + retention))
            .with_poll_interval_ms(milliseconds(POLL_INTERVAL));
    task.status_message = status.progress.clone().or_else(|| status.note.clone());
    task
}

fn of(caller: &Caller) -> CallContext {
    caller.context()
}

/// Whether it is somebody else's or nobody's is not told.
fn unknown() -> ErrorData {
    let message =
        "there is no such task of this client: it was never started, or its result is not kept any more";
    ErrorData::invalid_params(message, None)
}
