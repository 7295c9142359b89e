//! How far a run may go.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::{Amount, Resource};

/// How often a model is asked in a run by default. Tasks that go well take fewer than twenty turns.
pub const DEFAULT_MAX_TURNS: u32 = 50;

/// How many calls are run in a run by default: four for each turn.
pub const DEFAULT_MAX_CALLS: u32 = 200;

/// How many calls in a row may fail by default. A model that has not found a way after ten will not find one.
pub const DEFAULT_MAX_FAILURES: u32 = 10;

/// How many tokens a run may cost by default, read and written: fifty turns of 200,000.
pub const DEFAULT_MAX_TOKENS: u64 = 10_000_000;

/// How much money a run may cost by default, in millionths of the currency of the model's prices: 10.00. Without prices
/// nothing is known of it.
pub const DEFAULT_MAX_COST: u64 = 10_000_000;

/// How long a run may take by default.
pub const DEFAULT_MAX_DURATION: Duration = Duration::from_mins(30);

/// How long the last answer may take, after the time of the run is over.
pub const LAST_ANSWER_TIME: Duration = Duration::from_mins(1);

/// How much of a result the model is given by default, in bytes; about 16,000 tokens.
pub const DEFAULT_MAX_RESULT_BYTES: usize = 64 * 1024;

/// How far a run may go. Where it reaches one of these, the model is asked once more, to answer without tools.
///
/// Calls, tokens, cost and time are for the run and all that it gives work to, by the [`Budget`](crate::Budget) that its
/// calls carry; turns and failures are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// How often the model is asked; [`DEFAULT_MAX_TURNS`] by default.
    pub max_turns: u32,
    /// How many calls are run; [`DEFAULT_MAX_CALLS`] by default.
    pub max_calls: u32,
    /// How many calls in a row fail; [`DEFAULT_MAX_FAILURES`] by default.
    pub max_failures: u32,
    /// How many tokens are read and written; [`DEFAULT_MAX_TOKENS`] by default.
    pub max_tokens: u64,
    /// How much it costs, in millionths of the currency of the model's prices; [`DEFAULT_MAX_COST`] by default.
    pub max_cost: u64,
    /// How long it may take; [`DEFAULT_MAX_DURATION`] by default.
    pub max_duration: Duration,
    /// How much of a result the model is given, in bytes; [`DEFAULT_MAX_RESULT_BYTES`] by default.
    pub max_result_bytes: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            max_turns: DEFAULT_MAX_TURNS,
            max_calls: DEFAULT_MAX_CALLS,
            max_failures: DEFAULT_MAX_FAILURES,
            max_tokens: DEFAULT_MAX_TOKENS,
            max_cost: DEFAULT_MAX_COST,
            max_duration: DEFAULT_MAX_DURATION,
            max_result_bytes: DEFAULT_MAX_RESULT_BYTES,
        }
    }
}

impl RunLimits {
    /// What a run may spend together with all that it gives work to.
    pub(super) fn most(&self) -> Amount {
        Amount { tokens: self.max_tokens, cost: self.max_cost, calls: self.max_calls.into() }
    }

    /// The figure of a limit, as it is told.
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
    /// The same call again and again: [`STOP_AFTER_REPEATS`](crate::STOP_AFTER_REPEATS).
    Repeats,
    /// [`RunLimits::max_failures`].
    Failures,
    /// [`RunLimits::max_tokens`].
    Tokens,
    /// [`RunLimits::max_cost`].
    Cost,
    /// [`RunLimits::max_duration`].
    Duration,
    /// The model takes no request that is as long as the shortest that this conversation can be made. It is not asked for a
    /// last answer.
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
