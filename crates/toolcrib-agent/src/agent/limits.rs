//! How far a run may go.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// How often a model is asked in a run by default. Tasks that go well take fewer than twenty turns.
pub const DEFAULT_MAX_TURNS: u32 = 50;

/// How many calls are run in a run by default: four for each turn.
pub const DEFAULT_MAX_CALLS: u32 = 200;

/// How long a run may take by default.
pub const DEFAULT_MAX_DURATION: Duration = Duration::from_mins(30);

/// How much of a result the model is given by default, in bytes; about 16,000 tokens.
pub const DEFAULT_MAX_RESULT_BYTES: usize = 64 * 1024;

/// How far a run may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// How often the model is asked; [`DEFAULT_MAX_TURNS`] by default.
    pub max_turns: u32,
    /// How many calls are run; [`DEFAULT_MAX_CALLS`] by default.
    pub max_calls: u32,
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
            max_duration: DEFAULT_MAX_DURATION,
            max_result_bytes: DEFAULT_MAX_RESULT_BYTES,
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
    /// [`RunLimits::max_duration`].
    Duration,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turns => "turns",
            Self::Calls => "calls",
            Self::Repeats => "repeats",
            Self::Duration => "duration",
        })
    }
}
