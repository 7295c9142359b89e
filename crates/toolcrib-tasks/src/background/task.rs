//! The stored state and the status of a background call.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError, ToolResult};
use toolcrib_port::CallContext;

use crate::owner::Owner;

/// The state of a background call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskState {
    /// The call is running.
    Running,
    /// The call has not started: a person has to approve it, or to answer its question. It is stored as `Running`.
    WaitingForApproval,
    /// The call has returned a result.
    Completed,
    /// The call has failed.
    Failed,
    /// The call was cancelled before it ended.
    Cancelled,
    /// The program ended while the call was running, so its effect is unknown.
    OutcomeUnknown,
}

/// A background call, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BackgroundTask {
    pub(super) owner: Owner,
    pub(super) tool: String,
    pub(super) arguments: JsonObject,
    /// True if the call may be repeated after its outcome was lost.
    pub(super) may_repeat: bool,
    /// False while the call has not begun: until then, it may be made again after the end of the program.
    #[serde(default = "unknown_start")]
    pub(super) has_begun: bool,
    pub(super) state: TaskState,
    pub(super) started: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) result: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) handle: Option<String>,
    /// The facts about the result in addition to its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) facts: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ToolError>,
}

/// Returns true: a record that does not say whether the call has begun counts as one that has.
fn unknown_start() -> bool {
    true
}

impl BackgroundTask {
    /// Creates a running call.
    pub(super) fn new(call: ToolCall, context: &CallContext, now: Timestamp, may_repeat: bool) -> Self {
        Self {
            owner: Owner::of(context),
            tool: call.name,
            arguments: call.arguments,
            may_repeat,
            has_begun: false,
            state: TaskState::Running,
            started: now,
            ended: None,
            result: Value::Null,
            handle: None,
            facts: None,
            error: None,
        }
    }

    /// Records the result of the call.
    pub(super) fn record(&mut self, result: ToolResult, is_cancelled: bool) {
        self.facts = result.facts();
        let handle = result.handle().map(str::to_owned);
        let ToolResult { error, result, .. } = result;
        match error {
            None => (self.state, self.result, self.handle) = (TaskState::Completed, result, handle),
            Some(error) if is_cancelled && error.kind == ErrorKind::Cancelled => {
                self.fail(TaskState::Cancelled, error);
            }
            Some(error) => self.fail(TaskState::Failed, error),
        }
    }

    /// Records the end of the call without a result.
    pub(super) fn fail(&mut self, state: TaskState, error: ToolError) {
        (self.state, self.error) = (state, Some(error));
    }

    /// Returns true if the call may be made again after the end of the program.
    pub(super) fn may_resume(&self) -> bool {
        self.may_repeat || !self.has_begun
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state != TaskState::Running
    }
}

/// The status of a background call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TaskStatus {
    /// Its id.
    pub task_id: String,
    /// The tool, as `namespace.name`.
    pub tool: String,
    /// The state of the call.
    pub status: TaskState,
    /// The time of its start.
    #[schemars(with = "String")]
    #[serde(serialize_with = "crate::time::to_second::serialize")]
    pub started: Timestamp,
    /// The time of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "crate::time::to_second::optional::serialize")]
    pub ended: Option<Timestamp>,
    /// The progress that the tool reports, in the tool's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// The result, unless it is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The handle of the complete result, if it is too large to be shown. Models read it in the result itself.
    #[serde(skip)]
    pub handle: Option<String>,
    /// The error of a failed call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub error: Option<ToolError>,
    /// A note for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
