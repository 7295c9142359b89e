//! How long, how deep, how large.

use std::time::Duration;

use serde_json::Value;
use toolcrib_model::Tool;
use toolcrib_policy::RUNTIME_NAMESPACE;

/// How long a call may take when its tool says nothing.
pub const DEFAULT_DEADLINE: Duration = Duration::from_mins(1);

/// The longest deadline a tool may ask for.
pub const MAX_DEADLINE: Duration = Duration::from_mins(10);

/// How long a person may take to answer.
pub const MAX_APPROVAL_WAIT: Duration = Duration::from_mins(5);

/// How deep tools may call tools.
pub const MAX_DEPTH: u8 = 8;

/// The most bytes of a result, as JSON, that are handed on.
pub const MAX_RESULT_BYTES: usize = 256 * 1024;

/// The bounds of an executor. Each default is the constant of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a call may take when its tool says nothing.
    pub deadline: Duration,
    /// How long a person may take to answer; after that the call is denied.
    pub approval_wait: Duration,
    /// The most bytes of a result, as JSON.
    pub result_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { deadline: DEFAULT_DEADLINE, approval_wait: MAX_APPROVAL_WAIT, result_bytes: MAX_RESULT_BYTES }
    }
}

impl Limits {
    /// How long this tool's calls may take: what its metadata says under `timeout_seconds`, at most
    /// [`MAX_DEADLINE`]. A tool of the runtime that forwards calls has no deadline of its own, since the call inside
    /// has one, and may wait for a person before.
    pub(crate) fn deadline_of(&self, tool: &Tool) -> Option<Duration> {
        let flag = |key| tool.metadata.get(key).and_then(Value::as_bool) == Some(true);
        if tool.name.namespace() == RUNTIME_NAMESPACE && flag("forwards") {
            return None;
        }
        let asked = tool.metadata.get("timeout_seconds").and_then(Value::as_f64);
        let asked = asked.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Some(asked.unwrap_or(self.deadline).min(MAX_DEADLINE))
    }
}
