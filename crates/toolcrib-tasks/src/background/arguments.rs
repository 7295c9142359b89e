//! The arguments and the output of `background_run`.

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use toolcrib_model::{ErrorKind, JsonObject, ToolError};

use super::{DEFAULT_TASK_WAIT, MAX_TASK_WAIT, TaskStatus};

/// The arguments of one action with five modes. Models read this schema at every turn, so it is brief: the description
/// of the tool explains the modes. Calls with other arguments are refused beforehand, without a word in the schema.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct BackgroundRun {
    #[serde(default)]
    pub(super) tool: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "any_object")]
    pub(super) params: Option<JsonObject>,
    #[serde(default)]
    pub(super) task_id: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "flag")]
    pub(super) wait: bool,
    // In seconds; see `waiting`.
    #[serde(default)]
    pub(super) timeout: Option<f64>,
    #[serde(default)]
    #[schemars(schema_with = "flag")]
    pub(super) cancel: bool,
    #[serde(default)]
    #[schemars(schema_with = "flag")]
    pub(super) list: bool,
}

/// Returns the schema of the arguments of another tool.
fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

/// Returns the schema of a flag, without the obvious default.
fn flag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "boolean"})
}

/// The mode of a call of `background_run`.
pub(super) enum RunMode {
    Launch { tool: String, params: JsonObject },
    Status { id: String },
    Wait { id: String, time: Duration },
    Cancel { id: String },
    List,
}

impl BackgroundRun {
    pub(super) fn mode(self) -> Result<RunMode, ToolError> {
        let Self { tool, params, task_id, wait, timeout, cancel, list } = self;
        match (tool, task_id, wait, cancel, list) {
            (Some(tool), None, false, false, false) => {
                Ok(RunMode::Launch { tool, params: params.unwrap_or_default() })
            }
            (None, Some(id), false, false, false) => Ok(RunMode::Status { id }),
            (None, Some(id), true, false, false) => Ok(RunMode::Wait { id, time: waiting(timeout) }),
            (None, Some(id), false, true, false) => Ok(RunMode::Cancel { id }),
            (None, None, false, false, true) => Ok(RunMode::List),
            _ => Err(ToolError::new(ErrorKind::InvalidArgs, "these arguments cannot be combined").with_hint(
                "give `tool` and `params` to start one; `task_id` alone for its status, with `wait: true` to wait for it, \
                 or with `cancel: true` to end it; or `list: true`",
            )),
        }
    }
}

/// Returns the time to wait, within bounds.
pub(super) fn waiting(seconds: Option<f64>) -> Duration {
    let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.unwrap_or(DEFAULT_TASK_WAIT).min(MAX_TASK_WAIT)
}

/// The output: one task, or all tasks.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum RunOutput {
    /// One task.
    Task(Box<TaskStatus>),
    /// All tasks, in the order in which they were started.
    Tasks {
        /// The tasks, without their results.
        tasks: Vec<TaskStatus>,
    },
}
