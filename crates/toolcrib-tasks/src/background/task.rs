//! One call in the background.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::{JsonObject, ToolCall, ToolError};
use toolcrib_port::CallContext;

use crate::owner::Owner;

/// How a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskState {
    /// It is under way.
    Running,
    /// It has not begun: a person has to approve it, or to answer what it asks. It is kept as `Running`.
    WaitingForApproval,
    /// It has a result.
    Completed,
    /// It has an error.
    Failed,
    /// It was cancelled before it had either.
    Cancelled,
    /// The program ended while it was under way: whether it did what it does, nobody knows.
    OutcomeUnknown,
}

/// A call in the background, as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) owner: Owner,
    pub(super) tool: String,
    pub(super) arguments: JsonObject,
    /// Whether it may be made again when nobody knows what came of it.
    pub(super) may_repeat: bool,
    pub(super) state: TaskState,
    pub(super) started: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) result: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) handle: Option<String>,
    /// What there is to know of the result beside its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) facts: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ToolError>,
}

impl Task {
    /// A call that begins.
    pub(super) fn begun(call: ToolCall, context: &CallContext, now: Timestamp, may_repeat: bool) -> Self {
        Self {
            owner: Owner::of(context),
            tool: call.name,
            arguments: call.arguments,
            may_repeat,
            state: TaskState::Running,
            started: now,
            ended: None,
            result: Value::Null,
            handle: None,
            facts: None,
            error: None,
        }
    }
}

/// What is told of a call in the background.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TaskStatus {
    /// Its id.
    pub task_id: String,
    /// The tool, as `namespace.name`.
    pub tool: String,
    /// How it stands.
    pub status: TaskState,
    /// When it was started.
    #[schemars(with = "String")]
    #[serde(serialize_with = "crate::time::to_second::serialize")]
    pub started: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "crate::time::to_second::optional::serialize")]
    pub ended: Option<Timestamp>,
    /// How much of it is done, in a unit of the tool's own, and of how much, where it tells that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// What it returned, where that is anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Under which the whole of it is kept, where it is too large to be shown. Models read it in the result itself.
    #[serde(skip)]
    pub handle: Option<String>,
    /// Why nothing came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub error: Option<ToolError>,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
