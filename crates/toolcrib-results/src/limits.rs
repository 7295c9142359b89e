//! Limits on results: their size for readers, and the size and time of their storage.

use std::time::Duration;

use toolcrib_model::Tool;

/// The default maximum of tokens of a result that a model gets whole. A larger result becomes a preview.
pub const DEFAULT_RESULT_TOKENS: u32 = 6_000;

/// The maximum number of tokens that a tool may ask for, in its metadata under `max_result_tokens`.
pub const MAX_RESULT_TOKENS: u32 = 16_000;

/// The minimum number of tokens; fewer have no space for a preview and the hint for reading the rest.
pub const MIN_RESULT_TOKENS: u32 = 250;

/// The maximum number of tokens of a preview.
pub const PREVIEW_TOKENS: u32 = 500;

/// The maximum size of a result for a program: 16 MiB.
pub const MAX_FULL_RESULT_BYTES: usize = 16 * 1024 * 1024;

/// The maximum size of a result, as JSON, that is validated against its tool's output schema: 1 MiB. Clients of a server
/// get no structured content of a larger one either.
pub const MAX_CHECKED_RESULT_BYTES: usize = 1024 * 1024;

/// The maximum size of one stored result for `read_result`: 32 MiB.
pub(crate) const MAX_STORED_RESULT_BYTES: usize = 32 * 1024 * 1024;

/// The maximum size of the stored results of one session: 96 MiB.
pub(crate) const MAX_STORED_SESSION_BYTES: usize = 96 * 1024 * 1024;

/// The maximum size of all stored results: 256 MiB.
pub(crate) const MAX_STORED_BYTES: usize = 256 * 1024 * 1024;

/// The maximum number of stored results of one session.
pub(crate) const MAX_STORED_SESSION_RESULTS: usize = 100;

/// The maximum number of all stored results.
pub(crate) const MAX_STORED_RESULTS: usize = 1_000;

/// The time that a result is stored.
pub(crate) const RESULT_LIFETIME: Duration = Duration::from_mins(30);

/// The maximum nesting of a result. Parsers refuse JSON texts that nest deeper than about 120 levels; deeper values, as
/// a module may create them, are cut off, so that code that processes results needs no larger stack.
pub(crate) const MAX_RESULT_DEPTH: usize = 100;

/// The maximum size of metadata as JSON.
pub(crate) const MAX_METADATA_BYTES: usize = 256 * 1024;

/// The maximum size of a text that is parsed or formatted for reading: 16 MiB.
pub(crate) const MAX_PARSED_BYTES: usize = 16 * 1024 * 1024;

/// The maximum number of values of a text that is parsed. Each takes up to a hundred bytes of memory.
pub(crate) const MAX_PARSED_VALUES: usize = 2_000_000;

/// The size limits of results for their readers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResultLimits {
    /// The tokens of a result that a model gets whole; [`DEFAULT_RESULT_TOKENS`] by default.
    pub tokens: u32,
    /// The bytes of a result that a program gets; [`MAX_FULL_RESULT_BYTES`] by default.
    pub full_bytes: usize,
    /// True if tables are written in the form with the fewest tokens for a model; false by default.
    pub compact: bool,
}

impl Default for ResultLimits {
    fn default() -> Self {
        Self { tokens: DEFAULT_RESULT_TOKENS, full_bytes: MAX_FULL_RESULT_BYTES, compact: false }
    }
}

impl ResultLimits {
    /// Creates limits with this number of tokens for a model.
    pub fn new(tokens: u32) -> Self {
        Self { tokens, ..Self::default() }
    }

    /// Returns the maximum tokens of a result of this tool that a model gets whole, if `sharing` results are in one
    /// answer.
    pub(crate) fn tokens_of(&self, tool: Option<&Tool>, sharing: usize) -> usize {
        let (least, most) = (wide(MIN_RESULT_TOKENS), wide(MAX_RESULT_TOKENS));
        // The forwarded call's result was limited already.
        if tool.is_some_and(|tool| tool.forwarding().is_some()) {
            return most;
        }
        let asked = tool.and_then(|tool| tool.traits().max_result_tokens);
        let asked = asked.map(|asked| usize::try_from(asked).unwrap_or(usize::MAX));
        (asked.unwrap_or(wide(self.tokens)).min(most) / sharing.max(1)).clamp(least, most)
    }
}

/// Returns a number of tokens as a `usize`.
pub(crate) fn wide(tokens: u32) -> usize {
    usize::try_from(tokens).unwrap_or(usize::MAX)
}
