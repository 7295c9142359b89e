//! The report of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use toolcrib_schema::Repair;

use toolcrib_model::{Amount, ErrorKind, ToolError};

use super::limits::Limit;
use super::limits::STOP_AFTER_REPEATS;
use crate::Error;
use crate::chat::{REFUSAL, Usage, is_zero, millionths, units};

/// The number of calls in a report: the last ones.
pub const MAX_REPORTED_CALLS: usize = 1_000;

/// The number of notices in a report.
pub const MAX_REPORTED_NOTICES: usize = 20;

/// The report of a run. Its JSON is `{"outcome": "completed|truncated|refused|content_filter|invalid_output|limit_reached|failed", "text",
/// "turns", "calls": [{"name", "arguments", "ok", "ms"}], "usage": {"prompt_tokens", "completion_tokens"}, "models"}`, with
/// `"limit"`, `"problem"` or `"error"` for the outcomes that have one, and `"spent_below": {"tokens", "cost", "calls"}` if it started
/// other runs.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct RunReport {
    /// The outcome of the run.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The answer; of a run that did not complete, the last that the model said.
    pub text: String,
    /// The answer as a value that conforms to the output schema of the agent, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The changes by which the answer was made to conform to the output schema.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output_repairs: Vec<Repair>,
    /// The number of requests to the model.
    pub turns: u32,
    /// The calls, in order; of more than [`MAX_REPORTED_CALLS`] the last.
    pub calls: Vec<CallRecord>,
    /// The number of earlier calls that are left out.
    #[serde(skip_serializing_if = "is_none")]
    pub calls_left_out: u32,
    /// The usage of all turns together.
    pub usage: Usage,
    /// The amount that the runs below this run spent. It counts towards the limits of this run, but not towards `usage`.
    #[serde(skip_serializing_if = "Spent::is_nothing")]
    pub spent_below: Spent,
    /// True if the limit that ended the run belongs to a run above it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub limit_of_caller: bool,
    /// The models that answered, in the order of their first answers.
    pub models: Vec<String>,
    /// Notices about requests to the models, such as retries; the first [`MAX_REPORTED_NOTICES`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// The number of compactions of the conversation.
    #[serde(skip_serializing_if = "is_none")]
    pub compactions: u32,
}

impl RunReport {
    /// Returns the answer of a run that completed: its output if it has one, else its text.
    ///
    /// # Errors
    ///
    /// Returns the reason why there is no whole answer, for the caller of the run.
    pub fn into_answer(self) -> Result<String, ToolError> {
        let (kind, message) = match &self.outcome {
            Outcome::Completed => return Ok(self.output.map_or(self.text, |output| output.to_string())),
            Outcome::LimitReached { limit } => {
                let limit = serde_json::json!(limit);
                let message = format!("the agent reached its limit ({limit}) before it answered");
                (ErrorKind::LimitReached, message)
            }
            Outcome::Failed { error } => (ErrorKind::ToolFailed, error.to_string()),
            outcome => {
                let why = outcome.explanation().unwrap_or_default();
                let said = if self.text.is_empty() { why } else { format!("{why}; it said: {}", self.text) };
                (ErrorKind::ToolFailed, said)
            }
        };
        Err(ToolError::new(kind, message))
    }
}

/// The amount that the runs below a run spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Tokens, read and written.
    pub tokens: u64,
    /// The cost, in millionths of the currency of the models' prices; in JSON a number of the currency itself.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "units", deserialize_with = "millionths")]
    pub cost: u64,
    /// Calls of tools.
    pub calls: u64,
}

impl Spent {
    /// Returns true if nothing was spent.
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

/// The outcome of a run.
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
    /// The answer does not conform to the output schema of the agent, nor did the one before.
    InvalidOutput {
        /// The reason, for people.
        problem: String,
    },
    /// The model would have gone on.
    LimitReached {
        /// The limit that ended the run.
        limit: Limit,
    },
    /// There was no way to go on.
    Failed {
        /// The cause of the failure.
        #[serde(serialize_with = "message")]
        error: Error,
    },
}

impl Outcome {
    /// Returns the outcome of a finish reason in the terms of any provider. `None` for a complete message.
    pub(crate) fn of_finish_reason(reason: Option<&str>) -> Option<Self> {
        match reason?.to_ascii_lowercase().as_str() {
            "length"
            | "max_tokens"
            | "model_length"
            | "max_output_tokens"
            | "model_context_window_exceeded"
            | "pause_turn"
            | "max_messages"
            | "steered" => Some(Self::Truncated),
            REFUSAL => Some(Self::Refused),
            "content_filter"
            | "content_filtered"
            | "safety"
            | "prohibited_content"
            | "blocklist"
            | "recitation"
            | "spii"
            | "image_safety"
            | "image_prohibited_content"
            | "image_recitation"
            | "model_armor" => Some(Self::ContentFilter),
            _ => None,
        }
    }

    /// Returns true for the finish reason of a message that was cut off, since the model may write no more in one message.
    pub(crate) fn is_length_limit(reason: Option<&str>) -> bool {
        let reasons = ["length", "max_tokens", "max_output_tokens"];
        reason.is_some_and(|reason| reasons.iter().any(|known| reason.eq_ignore_ascii_case(known)))
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
            Self::InvalidOutput { problem } => format!(
                "the answer does not conform to the output schema: {problem}; change the schema or the prompt, or ask \
                 another model"
            ),
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
    /// The tool, as `namespace::name`, or as the model wrote it if there is no such tool.
    pub name: String,
    /// The arguments; the text itself, where it is not the JSON of an object.
    pub arguments: Value,
    /// True if the call succeeded.
    pub ok: bool,
    /// The duration of the call.
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
