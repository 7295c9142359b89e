//! The file with recorded turns.

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};

use super::request::RequestDelta;
use crate::Error;

/// The longest file that is read, in bytes.
pub const MAX_RECORDING_BYTES: usize = 16 * 1024 * 1024;

/// The most turns of a recording.
const MAX_TURNS: usize = 10_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recording {
    turns: Vec<Turn>,
}

/// One message of the assistant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) calls: Vec<RecordedCall>,
    #[serde(default)]
    pub(super) expect: Vec<String>,
    /// The finish reason, if the calls do not imply it: `length`, `content_filter`, `refusal`.
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
    /// The texts of the other replies, where the request asked for several.
    #[serde(default)]
    pub(super) alternatives: Vec<String>,
    /// The mean log-probability of the tokens, where the request asked for it.
    #[serde(default)]
    pub(super) mean_log_probability: Option<f64>,
    #[serde(default)]
    pub(super) request: Option<RequestDelta>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedCall {
    pub(super) name: String,
    /// As the model sends them: JSON, or what was recorded of a failure to write it.
    #[serde(default = "no_arguments", deserialize_with = "raw_arguments")]
    pub(super) arguments: String,
    /// The reason why a call in a text could not be parsed.
    #[serde(default)]
    pub(super) problem: Option<String>,
}

fn no_arguments() -> String {
    "{}".to_owned()
}

fn raw_arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(raw) => Ok(raw),
        Value::Object(arguments) => Ok(Value::Object(arguments).to_string()),
        Value::Null => Ok(no_arguments()),
        _ => Err(de::Error::custom("`arguments` must be a mapping, or a text that is sent as it is")),
    }
}

/// Reads a file. `file` is its name, for errors.
pub(super) fn read(file: &str, bytes: &[u8]) -> Result<Vec<Turn>, Error> {
    let error = |source| Error::Recording { file: file.to_owned(), source };
    let limits = Limits { max_bytes: MAX_RECORDING_BYTES, ..Limits::default() };
    let document = parse(bytes, Format::Yaml, &limits).map_err(error)?;
    let turns = document.deserialize::<Recording>().map_err(error)?.turns;
    if turns.is_empty() {
        return Err(error(
            document.error_at("/turns", "the recording has no turns; write at least one with a `text`"),
        ));
    }
    if turns.len() > MAX_TURNS {
        let message = format!("the recording has {} turns, more than {MAX_TURNS}", turns.len());
        return Err(error(document.error_at("/turns", message)));
    }
    Ok(turns)
}
