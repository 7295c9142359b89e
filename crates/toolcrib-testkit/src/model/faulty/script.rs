//! Scripts of answers.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};

use crate::model::format::{Call, Whole};

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
/// An answer has a `status`, `headers`, a `body`, which is a list of steps, its `framing`, and a `pace`, the bytes that
/// are sent at once. The steps are:
///
/// - `begin`, `{say: TEXT}`, `{think: TEXT}`, `{call: {index, id, name, arguments}}`: events of the message; absent fields
///   of a call are not sent;
/// - `{finish: REASON}`, `usage`, `done`: the events at the end of a stream, if the format has them; the reason is
///   in the terms of Chat Completions;
/// - `{error: {message, status}}`: an error in the middle of a stream;
/// - `{whole: {say, calls, finish}}`: an answer that is not streamed;
/// - `{delta: JSON}`: a change of the message in Chat Completions; `{event: JSON}`: an event of this form; `{json: VALUE}`,
///   `{text: TEXT}`, `{bytes: [NUMBER]}`: this content without an event;
/// - `{repeat: {times, steps}}`: repeated steps;
/// - `pause`: a short pause; `hang`: nothing more until the client disconnects; `cut`: the connection ends here;
/// - `no_headers`: as the first step, delays the status and the headers until the next step.
///
/// The framing is `chunked` (the default), `length`, `close` (the body ends with the connection),
/// `{length_off: NUMBER}` (a length that is wrong by this number), `unterminated` (chunks without the last one), or
/// `bad_chunk` (a chunk with an invalid size follows the body). `${port}` in a header is the server's port.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultScript {
    pub(super) answers: Vec<ScriptedAnswer>,
    /// True if the last answer repeats for all later requests; else they are refused.
    #[serde(default)]
    pub(super) repeats: bool,
}

impl FaultScript {
    /// Parses a script.
    pub fn parse(text: &str) -> Result<Self> {
        let document = parse(text.as_bytes(), Format::Yaml, &Limits::default());
        document.and_then(|document| document.deserialize()).context("it is no script of answers")
    }

    /// Reads a script from a value of another document.
    pub fn from_value(value: Value) -> Result<Self> {
        serde_json::from_value(value).context("it is no script of answers")
    }

    /// Returns true if no step is in the form of Chat Completions alone, so that a server of any format can play it.
    pub fn is_portable(&self) -> bool {
        self.answers.iter().all(|answer| answer.body.iter().all(Step::is_portable))
    }

    /// Returns the answer to a request, from 0.
    pub(super) fn answer(&self, number: usize) -> Option<&ScriptedAnswer> {
        self.answers.get(number).or_else(|| self.answers.last().filter(|_| self.repeats))
    }
}

/// The answer to one request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedAnswer {
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

/// The form of the end of a body.
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
    Begin,
    Say(String),
    Think(String),
    Call(Box<Call>),
    Delta(Value),
    Finish(String),
    Usage,
    Done,
    Error { message: String, status: u16 },
    Whole(Whole),
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

impl Step {
    fn is_portable(&self) -> bool {
        match self {
            Self::Delta(_) | Self::Event(_) => false,
            Self::Text(text) => !text.contains(r#""choices""#),
            Self::Repeat { steps, .. } => steps.iter().all(Self::is_portable),
            _ => true,
        }
    }
}
