//! The output of a program: collected within limits, and converted into a result.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_io::process::{FollowedExit, MAX_STDOUT_BYTES, Pipe, STDERR_LINE_BYTES};
use toolcrib_model::{ErrorKind, JsonObject, ToolError};
use toolcrib_port::{Progress, ProgressListener};

/// The number of last lines of standard error in the error of a call.
pub const MAX_ERROR_LINES: usize = 20;

/// The number of lines of standard error that are reported as progress and logged. Of the lines beyond it, only the
/// last ones are kept, for the error.
const MAX_PROGRESS_LINES: usize = 10_000;

/// The largest number of characters of those lines in the error.
const MAX_ERROR_CHARS: usize = 2000;

/// The largest number of characters of invalid JSON that an error quotes.
const MAX_SHOWN_CHARS: usize = 200;

/// The output of a program so far.
pub(super) struct Output {
    tool: String,
    listener: Option<Arc<dyn ProgressListener>>,
    stdout: Vec<u8>,
    is_truncated: bool,
    /// The incomplete last line of standard error.
    line: Vec<u8>,
    lines: usize,
    last_lines: VecDeque<String>,
}

impl Output {
    pub(super) fn new(tool: String, listener: Option<Arc<dyn ProgressListener>>) -> Self {
        Self {
            tool,
            listener,
            stdout: Vec::new(),
            is_truncated: false,
            line: Vec::new(),
            lines: 0,
            last_lines: VecDeque::new(),
        }
    }

    /// Collects the next bytes.
    pub(super) fn take(&mut self, pipe: Pipe, bytes: &[u8]) {
        match pipe {
            Pipe::Stdout => self.is_truncated |= !append_bounded(&mut self.stdout, bytes, MAX_STDOUT_BYTES),
            Pipe::Stderr => {
                for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
                    // The rest of a long line is dropped.
                    let _ = append_bounded(&mut self.line, piece, STDERR_LINE_BYTES);
                    if piece.ends_with(b"\n") {
                        self.end_line();
                    }
                }
            }
        }
    }

    fn end_line(&mut self) {
        // Control characters would let a program write to the terminal of a user who reads the log.
        let line: String = String::from_utf8_lossy(&self.line)
            .trim_end()
            .chars()
            .map(|character| if character.is_control() && character != '\t' { ' ' } else { character })
            .collect();
        self.line.clear();
        if line.is_empty() {
            return;
        }
        self.lines += 1;
        if self.lines <= MAX_PROGRESS_LINES {
            tracing::debug!(tool = self.tool, "{line}");
            if let Some(listener) = &self.listener {
                let message = Some(line.clone());
                #[expect(clippy::cast_precision_loss, reason = "there are far fewer lines than that")]
                let done = self.lines as f64;
                listener.progress(&Progress { done, total: None, message });
            }
        }
        if self.last_lines.len() == MAX_ERROR_LINES {
            self.last_lines.pop_front();
        }
        self.last_lines.push_back(line);
    }

    /// Returns the result of the call, from the output and the exit status.
    pub(super) fn result(mut self, program: &str, exit: &FollowedExit) -> Result<Value, ToolError> {
        if !self.line.is_empty() {
            self.end_line();
        }
        let failed = |message| Err(ToolError::new(ErrorKind::ToolFailed, message));
        let text = String::from_utf8_lossy(&self.stdout);
        let text = text.trim();
        let value = if text.is_empty() { Ok(Value::Null) } else { serde_json::from_str(text) };
        let has_succeeded = exit.status.success();
        match value {
            _ if self.is_truncated && has_succeeded => failed(format!(
                "`{program}` printed more than the {MAX_STDOUT_BYTES} bytes of a result; make it print less"
            )),
            // A reported failure may come with a nonzero exit status.
            Ok(value) if is_reported_failure(&value) => Err(reported_failure(value)),
            Ok(value) if has_succeeded => Ok(value),
            Err(error) if has_succeeded => {
                let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
                failed(format!(
                    "`{program}` should print one JSON value, and nothing else on standard output: {error}; it printed: \
                     {shown}"
                ))
            }
            Ok(_) | Err(_) => {
                let stderr = Vec::from(self.last_lines).join("\n");
                let hidden = stderr.chars().count().saturating_sub(MAX_ERROR_CHARS);
                let stderr: String = stderr.chars().skip(hidden).collect();
                let stderr = if stderr.is_empty() { stderr } else { format!(": {stderr}") };
                failed(format!("`{program}` ended with {}{stderr}", exit.status))
            }
        }
    }
}

/// Appends the bytes up to the limit. Returns false if some did not fit.
fn append_bounded(buffer: &mut Vec<u8>, bytes: &[u8], limit: usize) -> bool {
    let room = limit.saturating_sub(buffer.len());
    buffer.extend_from_slice(bytes.get(..bytes.len().min(room)).unwrap_or_default());
    bytes.len() <= room
}

/// Returns true if a result is `{"status": "error", …}`.
fn is_reported_failure(value: &Value) -> bool {
    value.get("status").and_then(Value::as_str) == Some("error")
}

/// Returns the error that such a result describes: its `error` and `message`, its `hint`, and all other keys.
fn reported_failure(value: Value) -> ToolError {
    let mut rest = match value {
        Value::Object(map) => map,
        _ => JsonObject::new(),
    };
    rest.shift_remove("status");
    let mut take = |key: &str| match rest.shift_remove(key) {
        Some(Value::String(text)) => Some(text),
        Some(Value::Null) | None => None,
        Some(other) => Some(other.to_string()),
    };
    let (error, message, hint) = (take("error"), take("message"), take("hint"));
    let text: Vec<_> = error.into_iter().chain(message).collect();
    let mut text =
        if text.is_empty() { "the program says that it failed".to_owned() } else { text.join(": ") };
    if !rest.is_empty() {
        text.push(' ');
        text.push_str(&Value::Object(rest).to_string());
    }
    let kind = if text == "not_found" { ErrorKind::NotFound } else { ErrorKind::ToolFailed };
    let failure = ToolError::new(kind, text);
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
