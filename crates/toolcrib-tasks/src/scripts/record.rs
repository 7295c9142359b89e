//! The stored state and the status of a script.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::ToolError;
use toolcrib_port::CallContext;
use toolcrib_script::{Script, ScriptLog};

use crate::ledger::Task;
use crate::owner::Owner;
use crate::store::RecordKind;

/// The state of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScriptState {
    /// The script is running, or the program ended while it was.
    Running,
    /// The script waits for the approval of a call.
    Paused,
    /// The script has returned a result.
    Completed,
    /// The script has failed.
    Failed,
}

/// A call that a script waits for, because a person has to approve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingCall {
    /// The tool, as the script spells it.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
}

/// A script, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ScriptTask {
    pub(super) owner: Owner,
    pub(super) script: Script,
    /// The version of the engine that began the script.
    pub(super) engine: String,
    pub(super) log: ScriptLog,
    pub(super) state: ScriptState,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) waiting_for: Vec<WaitingCall>,
    pub(super) started: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) console: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) result: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ToolError>,
}

impl ScriptTask {
    /// Creates a script that starts now.
    pub(super) fn new(script: Script, engine: &str, context: &CallContext, now: Timestamp) -> Self {
        Self {
            owner: Owner::of(context),
            script,
            engine: engine.to_owned(),
            log: ScriptLog::default(),
            state: ScriptState::Running,
            waiting_for: Vec::new(),
            started: now,
            ended: None,
            console: String::new(),
            result: Value::Null,
            error: None,
        }
    }
}

impl Task for ScriptTask {
    const KIND: RecordKind = RecordKind::Script;
    const NAME: &'static str = "script";
    const ID_PREFIX: &'static str = "script";
    const HINT_WITHOUT_TASKS: &'static str =
        "no script of this session waits, or its result was read or has expired; run the script again";

    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn created(&self) -> Timestamp {
        self.started
    }

    fn ended(&self) -> Option<Timestamp> {
        self.ended
    }
}

/// The status of a script that is paused, was resumed, or was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScriptStatus {
    /// Its id.
    pub script_id: String,
    /// Its state.
    pub status: ScriptState,
    /// The time of its start.
    #[serde(serialize_with = "crate::time::to_second::serialize")]
    pub started: Timestamp,
    /// The time of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "crate::time::to_second::optional::serialize")]
    pub ended: Option<Timestamp>,
    /// The number of calls that it has made.
    pub calls: usize,
    /// The calls that it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<WaitingCall>,
    /// The error of a script that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
}

impl ScriptStatus {
    pub(super) fn new(id: &str, task: &ScriptTask) -> Self {
        Self {
            script_id: id.to_owned(),
            status: task.state,
            started: task.started,
            ended: task.ended,
            calls: task.log.calls.len(),
            waiting_for: task.waiting_for.clone(),
            error: task.error.clone(),
        }
    }
}
