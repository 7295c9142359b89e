//! How much of a result is handed on, how much is kept, and for how long.

use std::time::Duration;

use serde_json::Value;
use toolcrib_model::Tool;

use crate::liberal::Forwards;

/// The most tokens of a result that a model is given whole, when nobody says otherwise. A larger one becomes a preview.
pub const DEFAULT_RESULT_TOKENS: u32 = 6_000;

/// The most tokens that a tool may ask for, in its metadata under `max_result_tokens`.
pub const MAX_RESULT_TOKENS: u32 = 16_000;

/// The least tokens; fewer have no room for a preview and the hint how to read on.
pub const MIN_RESULT_TOKENS: u32 = 250;

/// The most tokens of the preview of a result that is not given whole.
pub const PREVIEW_TOKENS: u32 = 500;

/// The most bytes of a result that a program is given: 16 MiB.
pub const MAX_FULL_RESULT_BYTES: usize = 16 * 1024 * 1024;

/// The most bytes of a result, as JSON, that is checked against the schema that its tool declares: 1 MiB. Of a larger one,
/// clients of a server get no structure either.
pub const MAX_CHECKED_RESULT_BYTES: usize = 1024 * 1024;

/// The most bytes of one result that are kept for `read_result`: 32 MiB.
pub const MAX_KEPT_RESULT_BYTES: usize = 32 * 1024 * 1024;

/// The most bytes that are kept for one session: 96 MiB.
pub const MAX_KEPT_SESSION_BYTES: usize = 96 * 1024 * 1024;

/// The most bytes that are kept for all: 256 MiB.
pub const MAX_KEPT_BYTES: usize = 256 * 1024 * 1024;

/// The most results that are kept for one session.
pub const MAX_KEPT_SESSION_RESULTS: usize = 100;

/// The most results that are kept for all.
pub const MAX_KEPT_RESULTS: usize = 1_000;

/// How long a result is kept.
pub const KEPT_FOR: Duration = Duration::from_mins(30);

/// How deep a result may nest. JSON texts nest no deeper than some 120 levels before readers refuse them; what is deeper
/// in a value that a module made is cut off, so that nothing that works on results needs more stack than that.
pub const MAX_RESULT_DEPTH: usize = 100;

/// The most bytes of metadata, as JSON.
pub(super) const MAX_METADATA_BYTES: usize = 256 * 1024;

/// The most bytes of a text that is parsed, laid out for reading, or both: 16 MiB.
pub(super) const MAX_PARSED_BYTES: usize = 16 * 1024 * 1024;

/// The most values of a text that is parsed. Each takes up to a hundred bytes of memory.
pub(super) const MAX_PARSED_VALUES: usize = 2_000_000;

/// How much of a result is handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultLimits {
    /// How many tokens of a result a model is given whole; [`DEFAULT_RESULT_TOKENS`] by default.
    pub tokens: u32,
    /// How many bytes of a result a program is given; [`MAX_FULL_RESULT_BYTES`] by default.
    pub full_bytes: usize,
}

impl Default for ResultLimits {
    fn default() -> Self {
        Self { tokens: DEFAULT_RESULT_TOKENS, full_bytes: MAX_FULL_RESULT_BYTES }
    }
}

impl ResultLimits {
    /// Returns the most tokens of a result of this tool that a model is given whole, when `sharing` results are in one answer.
    pub(super) fn tokens_of(&self, tool: Option<&Tool>, sharing: usize) -> usize {
        let (least, most) = (wide(MIN_RESULT_TOKENS), wide(MAX_RESULT_TOKENS));
        // What is inside of its result was bounded already.
        if tool.is_some_and(|tool| Forwards::of(tool).is_some()) {
            return most;
        }
        let asked = tool.and_then(|tool| tool.metadata.get("max_result_tokens")).and_then(Value::as_u64);
        let asked = asked.map(|asked| usize::try_from(asked).unwrap_or(usize::MAX));
        (asked.unwrap_or(wide(self.tokens)).min(most) / sharing.max(1)).clamp(least, most)
    }
}

/// A number of tokens as a size.
pub(super) fn wide(tokens: u32) -> usize {
    usize::try_from(tokens).unwrap_or(usize::MAX)
}
