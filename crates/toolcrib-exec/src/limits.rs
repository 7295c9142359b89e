//! Limits on the time and the nesting of calls.

use std::time::Duration;

use toolcrib_model::Tool;

use crate::FlowSettings;

/// The deadline of a call whose tool declares none.
pub const DEFAULT_DEADLINE: Duration = Duration::from_mins(1);

/// The maximum deadline of a tool, and the maximum time of a call that reports progress: each report restarts its
/// deadline.
pub const MAX_DEADLINE: Duration = Duration::from_mins(10);

/// The default time limit for a person's answer.
pub const DEFAULT_APPROVAL_WAIT: Duration = Duration::from_mins(5);

/// The minimum time limit for a person's answer.
pub const MIN_APPROVAL_WAIT: Duration = Duration::from_secs(10);

/// The maximum time limit for a person's answer.
pub const MAX_APPROVAL_WAIT: Duration = Duration::from_hours(24);

/// The time limit of all hooks together before a call runs, and again after it.
pub const MAX_HOOK_WAIT: Duration = Duration::from_mins(1);

/// The maximum depth of tools that call tools.
pub const MAX_DEPTH: u8 = 8;

/// Returns the time limit of a tool's calls. A tool of the runtime that forwards calls or waits for the user has none:
/// the inner call has one, and so does the wait.
pub(crate) fn deadline_of(tool: &Tool, source: &str, settings: &FlowSettings) -> Option<Duration> {
    let is_endless = tool.forwarding().is_some() || tool.awaits_user();
    (!is_endless).then(|| settings.timeout(source, tool))
}
