//! Refusals of flow control, as results for the model.

use std::time::Duration;

use toolcrib_model::{ErrorKind, ResultNote, ToolError, ToolResult};
use toolcrib_policy::Call;

use super::circuit_breaker::CircuitOpen;

/// The subject of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitedSubject {
    Tool,
    Source,
    /// The identical call of another caller.
    SameCall,
}

/// The reason why a call did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The caller gave up.
    Cancelled,
    /// The deadline passed.
    Overdue,
    /// The queue is full.
    Full { subject: LimitedSubject, queue: u32 },
    /// The rate limit does not allow the call before its deadline.
    TooOften { subject: LimitedSubject, retry_after: Duration },
    /// The store that counts the calls of an exact rate limit cannot be reached.
    Uncounted { subject: LimitedSubject },
    /// The circuit of the source is open.
    CircuitOpen(CircuitOpen),
}

impl Refusal {
    /// Returns the result of the call.
    pub(super) fn of(self, call: &Call) -> ToolResult {
        let tool = call.tool.name.shown();
        let source = format!("the source `{}` of `{tool}`", call.source);
        let name_of = |subject| match subject {
            LimitedSubject::Tool => format!("`{tool}`"),
            LimitedSubject::Source => source.clone(),
            LimitedSubject::SameCall => format!("the result of `{tool}` with the same arguments"),
        };
        let (kind, message, hint) = match self {
            Self::Cancelled => {
                let message = format!("the call of `{tool}` was cancelled while it waited in the queue");
                (ErrorKind::Cancelled, message, "it did not run".to_owned())
            }
            Self::Overdue => (
                ErrorKind::Timeout,
                format!("the call of `{tool}` was still in the queue when its deadline passed"),
                "it did not run: make fewer concurrent calls, and then try again".to_owned(),
            ),
            Self::Full { subject, queue } => (
                ErrorKind::Overloaded,
                format!("{queue} calls already wait for {}", name_of(subject)),
                "it did not run: make fewer concurrent calls, and then try again".to_owned(),
            ),
            Self::TooOften { subject, retry_after } => (
                ErrorKind::Overloaded,
                format!(
                    "the rate limit of {} does not allow this call before its deadline",
                    name_of(subject)
                ),
                format!("it did not run: try again in {} s", seconds(retry_after)),
            ),
            Self::Uncounted { subject } => (
                ErrorKind::Unavailable,
                format!(
                    "the exact rate limit of {} is counted in the store, which is away",
                    name_of(subject)
                ),
                "it did not run: try again later".to_owned(),
            ),
            Self::CircuitOpen(CircuitOpen { failures, retry_after }) => (
                ErrorKind::Unavailable,
                format!("{source} failed {failures} times in a row, and is not called for a while"),
                format!("it did not run: try again in {} s, or use another tool", seconds(retry_after)),
            ),
        };
        let result = call.failed(ToolError::new(kind, message).with_hint(hint));
        match self {
            Self::TooOften { retry_after, .. } | Self::CircuitOpen(CircuitOpen { retry_after, .. }) => {
                result.with_note(ResultNote::RetryAfter(retry_after))
            }
            _ => result,
        }
    }
}

/// Returns whole seconds, rounded up.
fn seconds(duration: Duration) -> u64 {
    duration.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
}
