//! How long, and how deep.

use std::time::Duration;

use serde_json::Value;
use toolcrib_model::Tool;
use toolcrib_policy::RUNTIME_NAMESPACE;

use crate::FlowSettings;
use crate::liberal::Forwards;

/// How long a call may take when its tool says nothing.
pub const DEFAULT_DEADLINE: Duration = Duration::from_mins(1);

/// The longest deadline a tool may ask for, and the longest that a call may take which tells of its progress: each time it
/// does, it has its deadline anew.
pub const MAX_DEADLINE: Duration = Duration::from_mins(10);

/// How long a person may take to answer, when nothing is said about it.
pub const DEFAULT_APPROVAL_WAIT: Duration = Duration::from_mins(5);

/// The shortest time that a person can be given.
pub const MIN_APPROVAL_WAIT: Duration = Duration::from_secs(10);

/// The longest time that a person can be given.
pub const MAX_APPROVAL_WAIT: Duration = Duration::from_mins(30);

/// How deep tools may call tools.
pub const MAX_DEPTH: u8 = 8;

/// How long the calls of this tool may take. A tool of the runtime that forwards calls or waits for the user has no
/// deadline of its own: the call inside has one, and so does the wait.
pub(crate) fn deadline_of(tool: &Tool, source: &str, settings: &FlowSettings) -> Option<Duration> {
    let is_endless = Forwards::of(tool).is_some() || is_patient(tool);
    (!is_endless).then(|| settings.timeout(source, tool))
}

/// Whether a tool of the runtime waits for its user, and bounds that itself.
fn is_patient(tool: &Tool) -> bool {
    let says = tool.metadata.get("awaits_user").and_then(Value::as_bool) == Some(true);
    says && tool.name.namespace() == RUNTIME_NAMESPACE
}
