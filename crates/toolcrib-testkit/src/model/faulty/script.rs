//! What the server answers, as people write it.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};

/// The answers of a [`FaultyModel`](super::FaultyModel), one for each request, in YAML or JSON.
///
/// ```
/// # fn main() -> anyhow::Result<()> {
/// let script = toolcrib_testkit::FaultScript::parse(
///     "
/// answers:
///   - {status: 429, headers: {retry-after: '1'}, body: [{json: {error: {message: slow down}}}]}
///   - {pace: 1, body: [{say: Hello}, {call: {id: a, name: shop__price, arguments: '{}'}}, hang]}
/// repeats: true
/// ",
/// )?;
/// # drop(script);
/// # Ok(())
/// # }
/// ```
///
/// An answer has a `status`, `headers`, a `body`, which is a list of steps, its `framing`, and a `pace`, the bytes that are
/// sent at once. The steps are:
///
/// - `{say: TEXT}`, `{think: TEXT}`, `{call: {index, id, name, arguments}}`, `{delta: JSON}`: an event with a change of the
///   message; of a call what is absent is not sent;
/// - `{finish: REASON}`, `usage`, `done`: the events at the end of a stream;
/// - `{event: JSON}`: an event of this form; `{json: VALUE}`, `{text: TEXT}`, `{bytes: [NUMBER]}`: just that;
/// - `{repeat: {times, steps}}`: the same again and again;
/// - `pause`: a little while; `hang`: nothing more until the client leaves; `cut`: the connection ends here;
/// - `no_headers`: in the first place, nothing goes out before the next step, not even a status.
///
/// The framing is `chunked` (the default), `length`, `close` (the body ends with the connection), `{length_off: NUMBER}`
/// (a length that is wrong by so much), `unterminated` (chunks without the last one), or `bad_chunk` (a chunk whose
/// size is no number follows the body). `${port}` in a header is the server's port.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultScript {
    pub(super) answers: Vec<Answer>,
    /// Whether the last answer is that to all later requests; else they are refused.
    #[serde(default)]
    pub(super) repeats: bool,
}

impl FaultScript {
    /// Reads a script.
    pub fn parse(text: &str) -> Result<Self> {
        let document = parse(text.as_bytes(), Format::Yaml, &Limits::default());
        document.and_then(|document| document.deserialize()).context("it is no script of answers")
    }

    /// Takes a script that stands in another document.
    pub fn from_value(value: Value) -> Result<Self> {
        serde_json::from_value(value).context("it is no script of answers")
    }

    /// The answer to a request, from 0.
    pub(super) fn answer(&self, number: usize) -> Option<&Answer> {
        self.answers.get(number).or_else(|| self.answers.last().filter(|_| self.repeats))
    }
}

/// The answer to one request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    #[serde(default = "ok")]
    pub(super) status: u16,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) framing: Framing,
    pub(super) pace: Option<usize>,
    #[serde(default)]
    pub(super) body: Vec<Step>,
}

fn ok() -> u16 {
    200
}

/// How the end of the body is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Framing {
    #[default]
    Chunked,
    Length,
    LengthOff(i64),
    Close,
    Unterminated,
    BadChunk,
}

/// A part of the body.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    Say(String),
    Think(String),
    Call(Box<Call>),
    Delta(Value),
    Finish(String),
    Usage,
    Done,
    Event(Value),
    Json(Value),
    Text(String),
    Bytes(Vec<u8>),
    Repeat { times: u64, steps: Vec<Step> },
    Pause,
    Hang,
    Cut,
    NoHeaders,
}

/// What of a call an event holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) index: Option<Value>,
    pub(super) id: Option<Value>,
    pub(super) name: Option<Value>,
    /// Absent, or of any type.
    #[serde(default, deserialize_with = "present")]
    pub(super) arguments: Option<Value>,
}

/// A value that is there, `null` too.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
