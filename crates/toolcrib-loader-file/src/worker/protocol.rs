//! The messages between the runtime and a worker: one JSON object on each line.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolcrib_io::process::MAX_STDOUT_BYTES;
use toolcrib_model::{ErrorKind, JsonObject, ToolError};

/// The version of the protocol.
pub(crate) const WORKER_PROTOCOL: u32 = 1;

/// The longest line that a worker may write, in bytes, as announced to it. A worker that writes a line longer than
/// [`MAX_LINE_BYTES`](toolcrib_io::process::MAX_LINE_BYTES) is killed.
const MAX_WORKER_LINE_BYTES: usize = MAX_STDOUT_BYTES;

/// The largest number of concurrent calls of one worker, including those that were cancelled and have not ended yet.
pub(crate) const MAX_WORKER_CALLS: usize = 64;

/// The longest text of an error, in characters.
const MAX_ERROR_CHARS: usize = 4000;

/// A message to the worker.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Outgoing<'a> {
    Hello {
        protocol: u32,
        runtime: Peer,
        limits: Limits,
    },
    List {
        id: u64,
    },
    Call(OutgoingCall<'a>),
    Cancel {
        id: u64,
    },
    Reply {
        id: u64,
        value: &'a Value,
    },
    #[serde(rename = "reply")]
    Refusal {
        id: u64,
        error: &'a ToolError,
    },
}

/// The name and version of the runtime.
#[derive(Serialize)]
pub(super) struct Peer {
    name: &'static str,
    version: &'static str,
}

/// The limits that a worker has to respect.
#[derive(Serialize)]
pub(super) struct Limits {
    line_bytes: usize,
    calls: usize,
}

#[derive(Serialize)]
pub(super) struct OutgoingCall<'a> {
    pub(super) id: u64,
    pub(super) tool: &'a str,
    pub(super) arguments: &'a JsonObject,
    /// The context of the call. Unknown values are absent.
    pub(super) context: Map<String, Value>,
    /// The time that remains for the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timeout_seconds: Option<f64>,
}

impl Outgoing<'_> {
    pub(super) fn hello() -> Self {
        Outgoing::Hello {
            protocol: WORKER_PROTOCOL,
            runtime: Peer { name: "toolcrib", version: env!("CARGO_PKG_VERSION") },
            limits: Limits { line_bytes: MAX_WORKER_LINE_BYTES, calls: MAX_WORKER_CALLS },
        }
    }

    /// Returns the message as a line.
    ///
    /// # Errors
    ///
    /// Fails if the line is too long.
    pub(super) fn line(&self) -> Result<Bytes, ToolError> {
        let mut line = serde_json::to_vec(self)
            .map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        if line.len() > MAX_WORKER_LINE_BYTES {
            let message = format!(
                "a message of {} bytes is too long for a worker, which takes at most {MAX_WORKER_LINE_BYTES}",
                line.len()
            );
            return Err(ToolError::new(ErrorKind::LimitReached, message));
        }
        line.push(b'\n');
        Ok(line.into())
    }
}

/// The type of a message, and the call or request that it belongs to. Parsing succeeds even if other values are nested
/// too deeply or otherwise unreadable, so that those fail one call rather than the worker.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) id: Option<u64>,
}

/// The first message of a worker.
#[derive(Debug, Deserialize)]
pub(super) struct Hello {
    pub(super) protocol: u32,
    pub(super) name: String,
}

/// The result of a call.
#[derive(Deserialize)]
pub(super) struct ResultMessage {
    #[serde(default)]
    value: Value,
    error: Option<WorkerError>,
}

#[derive(Deserialize)]
struct WorkerError {
    #[serde(default)]
    kind: Value,
    message: String,
    hint: Option<String>,
    retryable: Option<bool>,
}

impl ResultMessage {
    pub(super) fn into_result(self) -> Result<Value, ToolError> {
        let Some(error) = self.error else { return Ok(self.value) };
        // A kind of a later version counts as a tool failure.
        let kind = serde_json::from_value(error.kind).unwrap_or(ErrorKind::ToolFailed);
        let mut failure = ToolError::new(kind, printable(&error.message, MAX_ERROR_CHARS));
        if let Some(hint) = error.hint {
            failure = failure.with_hint(printable(&hint, MAX_ERROR_CHARS));
        }
        Err(match error.retryable {
            Some(retryable) => failure.with_retryable(retryable),
            None => failure,
        })
    }
}

/// A progress report.
#[derive(Deserialize)]
pub(super) struct ProgressMessage {
    pub(super) done: f64,
    pub(super) total: Option<f64>,
    pub(super) message: Option<String>,
}

/// A request of a tool to the runtime, on behalf of its call.
#[derive(Debug, Deserialize)]
pub(super) struct RequestMessage {
    pub(super) id: u64,
    pub(super) call: u64,
    pub(super) method: String,
    #[serde(default)]
    pub(super) params: Value,
}

/// Returns the first characters of a text, with control characters replaced. Line breaks and tabs remain.
pub(super) fn printable(text: &str, most: usize) -> String {
    text.chars()
        .take(most)
        .map(|character| match character {
            '\n' | '\t' => character,
            character if character.is_control() => ' ',
            character => character,
        })
        .collect()
}
