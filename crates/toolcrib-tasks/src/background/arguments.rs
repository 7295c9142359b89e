//! What `background_run` takes and gives.

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use toolcrib_model::{ErrorKind, JsonObject, ToolError};

use super::{DEFAULT_TASK_WAIT, MAX_TASK_WAIT, TaskStatus};

/// One action in five modes: each has arguments of its own. Models read this with every turn, so it is brief: what each is for
/// is in the description of the tool. Calls with other arguments are refused before, without a word of it in the schema.
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

/// Returns the schema of a flag. That it is not set by default needs no words.
fn flag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "boolean"})
}

/// What is asked for.
pub(super) enum Mode {
    Launch { tool: String, params: JsonObject },
    Status { id: String },
    Wait { id: String, time: Duration },
    Cancel { id: String },
    List,
}

impl BackgroundRun {
    pub(super) fn mode(self) -> Result<Mode, ToolError> {
        let Self { tool, params, task_id, wait, timeout, cancel, list } = self;
        match (tool, task_id, wait, cancel, list) {
            (Some(tool), None, false, false, false) => {
                Ok(Mode::Launch { tool, params: params.unwrap_or_default() })
            }
            (None, Some(id), false, false, false) => Ok(Mode::Status { id }),
            (None, Some(id), true, false, false) => Ok(Mode::Wait { id, time: waiting(timeout) }),
            (None, Some(id), false, true, false) => Ok(Mode::Cancel { id }),
            (None, None, false, false, true) => Ok(Mode::List),
            _ => Err(ToolError::new(ErrorKind::InvalidArgs, "these arguments do not go together").with_hint(
                "give `tool` and `params` to start one; `task_id` alone for its status, with `wait: true` to wait for it, \
                 or with `cancel: true` to end it; or `list: true`",
            )),
        }
    }
}

/// The time of a number of seconds, within bounds.
pub(super) fn waiting(seconds: Option<f64>) -> Duration {
    let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.unwrap_or(DEFAULT_TASK_WAIT).min(MAX_TASK_WAIT)
}

/// One task, or all.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Told {
    /// One.
    Task(Box<TaskStatus>),
    /// All, in the order in which they were started.
    Tasks {
        /// Without their results.
        tasks: Vec<TaskStatus>,
    },
}
