//! How long, how deep, how large.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use toolcrib_model::Tool;
use toolcrib_policy::RUNTIME_NAMESPACE;

use crate::liberal::Forwards;

/// How long a call may take when its tool says nothing.
pub const DEFAULT_DEADLINE: Duration = Duration::from_mins(1);

/// The longest deadline a tool may ask for.
pub const MAX_DEADLINE: Duration = Duration::from_mins(10);

/// How long a person may take to answer, when nothing is said about it.
pub const DEFAULT_APPROVAL_WAIT: Duration = Duration::from_mins(5);

/// The shortest time that a person can be given.
pub const MIN_APPROVAL_WAIT: Duration = Duration::from_secs(10);

/// The longest time that a person can be given.
pub const MAX_APPROVAL_WAIT: Duration = Duration::from_mins(30);

/// How deep tools may call tools.
pub const MAX_DEPTH: u8 = 8;

/// How long calls and answers may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a call may take when neither its tool nor its source says anything; [`DEFAULT_DEADLINE`].
    pub deadline: Duration,
    /// How long a call of a source may take when its tool says nothing, by the name of the source.
    pub source_deadlines: HashMap<String, Duration>,
    /// How long a person may take to answer; after that the call is denied. [`DEFAULT_APPROVAL_WAIT`], at least
    /// [`MIN_APPROVAL_WAIT`] and at most [`MAX_APPROVAL_WAIT`].
    pub approval_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: DEFAULT_DEADLINE,
            source_deadlines: HashMap::new(),
            approval_wait: DEFAULT_APPROVAL_WAIT,
        }
    }
}

impl Limits {
    /// How long this tool's calls may take: what its metadata says under `timeout_seconds`, else what its source has; at
    /// most [`MAX_DEADLINE`]. A tool of the runtime that forwards calls or waits for the user has no deadline of its own:
    /// the call inside has one, and so does the wait.
    pub(crate) fn deadline_of(&self, tool: &Tool, source: &str) -> Option<Duration> {
        if Forwards::of(tool).is_some() || is_patient(tool) {
            return None;
        }
        let asked = tool.metadata.get("timeout_seconds").and_then(Value::as_f64);
        let asked = asked.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let asked = asked.or_else(|| self.source_deadlines.get(source).copied());
        Some(asked.unwrap_or(self.deadline).min(MAX_DEADLINE))
    }

    pub(crate) fn patience(&self) -> Duration {
        self.approval_wait.clamp(MIN_APPROVAL_WAIT, MAX_APPROVAL_WAIT)
    }
}

/// Whether a tool of the runtime waits for its user, and bounds that itself.
fn is_patient(tool: &Tool) -> bool {
    let says = tool.metadata.get("awaits_user").and_then(Value::as_bool) == Some(true);
    says && tool.name.namespace() == RUNTIME_NAMESPACE
}
