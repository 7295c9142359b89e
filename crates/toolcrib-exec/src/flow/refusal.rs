//! Why a call did not run, as its model reads it.

use std::time::Duration;

use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::Call;

use super::breaker::Held;

/// The metadata of a result that says in how many milliseconds the same call may succeed. Flow control writes it, and
/// reads it from engines whose server said so.
pub const RETRY_AFTER: &str = "retry_after_ms";

/// What there is too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Tool,
    Source,
    /// The very same call, which somebody else is making.
    SameCall,
}

/// Why a call did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Its caller gave up.
    Cancelled,
    /// Its deadline passed.
    Overdue,
    /// So many wait already.
    Full { whose: Whose, queue: u32 },
    /// The rate limit has no room before its deadline.
    TooOften { whose: Whose, retry_after: Duration },
    /// The circuit of its source is open.
    Held(Held),
}

impl Refusal {
    /// The result of the call.
    pub(super) fn of(self, call: &Call) -> ToolResult {
        let tool = call.tool.name.shown();
        let source = format!("the source `{}` of `{tool}`", call.source);
        let subject = |whose| match whose {
            Whose::Tool => format!("`{tool}`"),
            Whose::Source => source.clone(),
            Whose::SameCall => format!("the result of `{tool}` with the same arguments"),
        };
        let (kind, message, hint) = match self {
            Self::Cancelled => {
                let message = format!("the call of `{tool}` was given up while it waited for its turn");
                (ErrorKind::Cancelled, message, "it did not run".to_owned())
            }
            Self::Overdue => (
                ErrorKind::Timeout,
                format!("the call of `{tool}` was still waiting for its turn when its deadline passed"),
                "it did not run: make fewer calls side by side, and then try again".to_owned(),
            ),
            Self::Full { whose, queue } => (
                ErrorKind::Overloaded,
                format!("{queue} calls already wait for {}", subject(whose)),
                "it did not run: make fewer calls side by side, and then try again".to_owned(),
            ),
            Self::TooOften { whose, retry_after } => (
                ErrorKind::Overloaded,
                format!("the rate limit of {} has no room before the deadline of this call", subject(whose)),
                format!("it did not run: try again in {} s", seconds(retry_after)),
            ),
            Self::Held(Held { failures, retry_after }) => (
                ErrorKind::Unavailable,
                format!("{source} failed {failures} times in a row, and is left alone for a while"),
                format!("it did not run: try again in {} s, or use another tool", seconds(retry_after)),
            ),
        };
        let result = call.failed(ToolError::new(kind, message).with_hint(hint));
        match self {
            Self::TooOften { retry_after, .. } | Self::Held(Held { retry_after, .. }) => {
                result.with_metadata(RETRY_AFTER, milliseconds(retry_after))
            }
            _ => result,
        }
    }
}

/// In milliseconds, for metadata.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// In whole seconds, and never too few.
fn seconds(duration: Duration) -> u64 {
    duration.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
}
