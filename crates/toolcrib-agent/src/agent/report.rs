//! What came of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::guard::STOP_AFTER_REPEATS;
use super::limits::Limit;
use crate::chat::{REFUSAL, is_zero, millionths, units};
use crate::{Amount, Error, Usage};

/// How many calls a report tells of: the last ones.
pub const MAX_REPORTED_CALLS: usize = 1_000;

/// How many notices a report has.
pub const MAX_REPORTED_NOTICES: usize = 20;

/// What came of a run. Its JSON is `{"outcome": "completed|truncated|refused|content_filter|limit_reached|failed", "text", "turns", "calls":
/// [{"name", "arguments", "ok", "ms"}], "usage": {"prompt_tokens", "completion_tokens"}, "models"}`, with `"limit"` or `"error"`
/// beside the outcome that has one, and `"spent_below": {"tokens", "cost", "calls"}` where it gave work to others.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct RunReport {
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The answer; of a run that did not complete, the last that the model said.
    pub text: String,
    /// How often the model was asked.
    pub turns: u32,
    /// The calls, in order; of more than [`MAX_REPORTED_CALLS`] the last.
    pub calls: Vec<CallRecord>,
    /// How many calls came before those.
    #[serde(skip_serializing_if = "is_none")]
    pub calls_left_out: u32,
    /// What all turns cost together.
    pub usage: Usage,
    /// What the agents and apps spent that it gave work to, and those below them. It counts for its limits, and not for `usage`.
    #[serde(skip_serializing_if = "Spent::is_nothing")]
    pub spent_below: Spent,
    /// Whether the limit that ended it is not its own, but that of a run that gave it work.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub limit_of_caller: bool,
    /// The models that answered, in the order of their first answers.
    pub models: Vec<String>,
    /// What happened on the way to their messages, such as another attempt; the first [`MAX_REPORTED_NOTICES`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// How often the conversation was made shorter.
    #[serde(skip_serializing_if = "is_none")]
    pub compactions: u32,
}

/// What the runs below a run spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Tokens, read and written.
    pub tokens: u64,
    /// What they cost, in millionths of the currency of the models' prices; in JSON a number of the currency itself.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "units", deserialize_with = "millionths")]
    pub cost: u64,
    /// Calls of tools.
    pub calls: u64,
}

impl Spent {
    /// Whether nothing was spent.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl From<Amount> for Spent {
    fn from(Amount { tokens, cost, calls }: Amount) -> Self {
        Self { tokens, cost, calls }
    }
}

impl From<Spent> for Amount {
    fn from(Spent { tokens, cost, calls }: Spent) -> Self {
        Self { tokens, cost, calls }
    }
}

/// How a run ended.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The model answered.
    Completed,
    /// The answer was cut off, as the model may write no more in one message. [`RunReport::text`] is its beginning.
    Truncated,
    /// The model refused to answer. [`RunReport::text`] is what it says of that.
    Refused,
    /// A filter of the model's server stopped the answer.
    ContentFilter,
    /// The model would have gone on.
    LimitReached {
        /// What ended it.
        limit: Limit,
    },
    /// There was no way to go on.
    Failed {
        /// Why.
        #[serde(serialize_with = "message")]
        error: Error,
    },
}

impl Outcome {
    /// Returns the outcome that a finish reason stands for, in the words of any provider. `None` for a message that is
    /// whole.
    pub(crate) fn of_finish_reason(reason: Option<&str>) -> Option<Self> {
        match reason?.to_ascii_lowercase().as_str() {
            "length" | "max_tokens" | "model_length" | "max_output_tokens" => Some(Self::Truncated),
            REFUSAL => Some(Self::Refused),
            "content_filter" | "content_filtered" | "safety" | "prohibited_content" | "blocklist" => {
                Some(Self::ContentFilter)
            }
            _ => None,
        }
    }

    /// Explains to a user why there is no whole answer, and what to do. `None` for a run that completed.
    pub fn explanation(&self) -> Option<String> {
        Some(match self {
            Self::Completed => return None,
            Self::Truncated => {
                "the answer was cut off: the model may write no more in one message; raise `max_tokens` of \
                                its `brain`, or ask it to go on"
                    .to_owned()
            }
            Self::Refused => {
                "the model refused to answer; change the prompt, or ask another model".to_owned()
            }
            Self::ContentFilter => {
                "a content filter of the model's server stopped the answer; change the prompt, or ask \
                                    another model"
                    .to_owned()
            }
            Self::LimitReached { limit: Limit::ContextOverflow } => {
                "the conversation is longer than the model takes in, and cannot be made shorter".to_owned()
            }
            Self::LimitReached { limit: Limit::Repeats } => {
                format!("the model made the same call {STOP_AFTER_REPEATS} times")
            }
            Self::LimitReached { limit } => format!("limit reached ({limit})"),
            Self::Failed { error } => error.to_string(),
        })
    }
}

/// One call of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CallRecord {
    /// The tool, as `namespace::name`; as the model wrote it, when there is none.
    pub name: String,
    /// The arguments; the text itself, where it is not the JSON of an object.
    pub arguments: Value,
    /// Whether it succeeded.
    pub ok: bool,
    /// How long it took.
    #[serde(rename = "ms", serialize_with = "milliseconds")]
    pub elapsed: Duration,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

fn message<S: Serializer>(error: &Error, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

fn milliseconds<S: Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}
