//! The limits of a run.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use toolcrib_model::{Amount, Resource};

/// The default number of turns of a run. Successful tasks take fewer than twenty.
pub const DEFAULT_MAX_TURNS: u32 = 50;

/// The default number of calls in a run: four for each turn.
pub const DEFAULT_MAX_CALLS: u32 = 200;

/// The default number of consecutive calls that may fail. A model that has not recovered after ten failures rarely
/// does.
pub const DEFAULT_MAX_FAILURES: u32 = 10;

/// The default number of times that a run asks the model to continue an answer that was cut off.
pub const DEFAULT_MAX_CONTINUATIONS: u32 = 2;

/// The default number of tokens in a run, read and written: fifty turns of 200,000.
pub const DEFAULT_MAX_TOKENS: u64 = 10_000_000;

/// The default cost of a run, in millionths of the currency of the model's prices: 10.00. Without prices the cost is
/// unknown and not limited.
pub const DEFAULT_MAX_COST: u64 = 10_000_000;

/// The default duration of a run.
pub const DEFAULT_MAX_DURATION: Duration = Duration::from_mins(30);

/// The time for the last answer, after the duration of the run is over.
pub(crate) const LAST_ANSWER_TIME: Duration = Duration::from_mins(1);

/// The default size of a result as the model reads it, in bytes; about 16,000 tokens.
pub const DEFAULT_MAX_RESULT_BYTES: usize = 64 * 1024;

/// The number of read-only calls that run concurrently.
pub const MAX_PARALLEL_CALLS: usize = 8;

/// After how many identical calls among the last [`REPEAT_WINDOW`] the run is ended.
pub const STOP_AFTER_REPEATS: usize = 8;

/// The number of past calls that are compared.
pub const REPEAT_WINDOW: usize = 20;

/// The default share of the context window above which a conversation is compacted. The rest leaves space for the answer, and
/// for an estimate that is wrong by a quarter.
pub const DEFAULT_COMPACT_AT: f64 = 0.75;

/// The limits of a run. A run that reaches one of them asks the model once more, to answer without tools.
///
/// Calls, tokens, cost and time count for the run and all runs below it, by the [`Budget`](crate::Budget) that its
/// calls carry; turns and failures count for the run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// The number of turns; [`DEFAULT_MAX_TURNS`] by default.
    pub max_turns: u32,
    /// The number of calls; [`DEFAULT_MAX_CALLS`] by default.
    pub max_calls: u32,
    /// The number of consecutive calls that fail; [`DEFAULT_MAX_FAILURES`] by default.
    pub max_failures: u32,
    /// The number of times that the model is asked to continue an answer that was cut off;
    /// [`DEFAULT_MAX_CONTINUATIONS`] by default.
    pub max_continuations: u32,
    /// The number of tokens read and written; [`DEFAULT_MAX_TOKENS`] by default.
    pub max_tokens: u64,
    /// The cost, in millionths of the currency of the model's prices; [`DEFAULT_MAX_COST`] by default.
    pub max_cost: u64,
    /// The duration; [`DEFAULT_MAX_DURATION`] by default.
    pub max_duration: Duration,
    /// The size of a result as the model reads it, in bytes; [`DEFAULT_MAX_RESULT_BYTES`] by default.
    pub max_result_bytes: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            max_turns: DEFAULT_MAX_TURNS,
            max_calls: DEFAULT_MAX_CALLS,
            max_failures: DEFAULT_MAX_FAILURES,
            max_continuations: DEFAULT_MAX_CONTINUATIONS,
            max_tokens: DEFAULT_MAX_TOKENS,
            max_cost: DEFAULT_MAX_COST,
            max_duration: DEFAULT_MAX_DURATION,
            max_result_bytes: DEFAULT_MAX_RESULT_BYTES,
        }
    }
}

impl RunLimits {
    /// Returns the amount that a run may spend together with all runs below it.
    pub(super) fn most(&self) -> Amount {
        Amount { tokens: self.max_tokens, cost: self.max_cost, calls: self.max_calls.into() }
    }

    /// Returns the figure of a limit, as it is told.
    pub(super) fn reached(&self, limit: Limit) -> String {
        match limit {
            Limit::Turns => self.max_turns.to_string(),
            Limit::Calls => self.max_calls.to_string(),
            Limit::Failures => self.max_failures.to_string(),
            Limit::Tokens => self.max_tokens.to_string(),
            Limit::Repeats | Limit::Cost | Limit::Duration | Limit::ContextOverflow => String::new(),
        }
    }
}

/// A limit that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// [`RunLimits::max_turns`].
    Turns,
    /// [`RunLimits::max_calls`].
    Calls,
    /// The same call again and again: [`STOP_AFTER_REPEATS`].
    Repeats,
    /// [`RunLimits::max_failures`].
    Failures,
    /// [`RunLimits::max_tokens`].
    Tokens,
    /// [`RunLimits::max_cost`].
    Cost,
    /// [`RunLimits::max_duration`].
    Duration,
    /// The model takes no request that is as long as the shortest that this conversation can be made. It is not asked
    /// for a last answer.
    ContextOverflow,
}

impl From<Resource> for Limit {
    fn from(resource: Resource) -> Self {
        match resource {
            Resource::Tokens => Self::Tokens,
            Resource::Cost => Self::Cost,
            Resource::Calls => Self::Calls,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turns => "turns",
            Self::Calls => "calls",
            Self::Repeats => "repeats",
            Self::Failures => "failures",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Duration => "duration",
            Self::ContextOverflow => "context_overflow",
        })
    }
}
