//! What a program prints, kept within bounds, and what it means.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_io::process::{FollowedExit, MAX_STDOUT_BYTES, Pipe, STDERR_LINE_BYTES};
use toolcrib_model::{ErrorKind, JsonObject, ToolError};
use toolcrib_port::{Progress, ProgressListener};

/// How many of the last lines on standard error are in the error of a call.
pub const MAX_ERROR_LINES: usize = 20;

/// How many lines on standard error tell how far a call is, and go to the log. Of a program that prints more, only the last
/// ones are kept, for its error.
pub const MAX_PROGRESS_LINES: usize = 10_000;

/// How much of those lines a model is shown, in characters.
const MAX_ERROR_CHARS: usize = 2000;

/// How much is shown of what should have been JSON, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// What a program has printed so far.
pub(super) struct Output {
    tool: String,
    listener: Option<Arc<dyn ProgressListener>>,
    stdout: Vec<u8>,
    is_too_much: bool,
    /// The line on standard error that has no end yet.
    line: Vec<u8>,
    lines: usize,
    last: VecDeque<String>,
}

impl Output {
    pub(super) fn new(tool: String, listener: Option<Arc<dyn ProgressListener>>) -> Self {
        Self {
            tool,
            listener,
            stdout: Vec::new(),
            is_too_much: false,
            line: Vec::new(),
            lines: 0,
            last: VecDeque::new(),
        }
    }

    /// Takes what comes next.
    pub(super) fn take(&mut self, pipe: Pipe, bytes: &[u8]) {
        match pipe {
            Pipe::Stdout => self.is_too_much |= !keep(&mut self.stdout, bytes, MAX_STDOUT_BYTES),
            Pipe::Stderr => {
                for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
                    // The rest of a long line is not shown.
                    let _ = keep(&mut self.line, piece, STDERR_LINE_BYTES);
                    if piece.ends_with(b"\n") {
                        self.end_line();
                    }
                }
            }
        }
    }

    fn end_line(&mut self) {
        // Control characters would let a program write to the terminal of whoever reads the log.
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
        if self.last.len() == MAX_ERROR_LINES {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// What it means that the program has printed this, and ended so.
    pub(super) fn result(mut self, program: &str, ended: &FollowedExit) -> Result<Value, ToolError> {
        if !self.line.is_empty() {
            self.end_line();
        }
        let failed = |message| Err(ToolError::new(ErrorKind::ToolFailed, message));
        let text = String::from_utf8_lossy(&self.stdout);
        let text = text.trim();
        let value = if text.is_empty() { Ok(Value::Null) } else { serde_json::from_str(text) };
        let has_succeeded = ended.status.success();
        match value {
            _ if self.is_too_much && has_succeeded => failed(format!(
                "`{program}` printed more than the {MAX_STDOUT_BYTES} bytes of a result; make it print less"
            )),
            // It may end as shells do then.
            Ok(value) if tells_failure(&value) => Err(told_failure(value)),
            Ok(value) if has_succeeded => Ok(value),
            Err(error) if has_succeeded => {
                let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
                failed(format!(
                    "`{program}` should print one JSON value, and nothing else on standard output: {error}; it printed: \
                     {shown}"
                ))
            }
            Ok(_) | Err(_) => {
                let said = Vec::from(self.last).join("\n");
                let hidden = said.chars().count().saturating_sub(MAX_ERROR_CHARS);
                let said: String = said.chars().skip(hidden).collect();
                let said = if said.is_empty() { said } else { format!(": {said}") };
                failed(format!("`{program}` ended with {}{said}", ended.status))
            }
        }
    }
}

/// Takes as much as there is room for, and says whether that is all.
fn keep(kept: &mut Vec<u8>, bytes: &[u8], most: usize) -> bool {
    let room = most.saturating_sub(kept.len());
    kept.extend_from_slice(bytes.get(..bytes.len().min(room)).unwrap_or_default());
    bytes.len() <= room
}

/// Whether a result is `{"status": "error", …}`.
fn tells_failure(value: &Value) -> bool {
    value.get("status").and_then(Value::as_str) == Some("error")
}

/// Returns the failure that such a result tells: what its `error` and `message` say, its `hint`, and what else is there.
fn told_failure(value: Value) -> ToolError {
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
    let said: Vec<_> = error.into_iter().chain(message).collect();
    let mut said =
        if said.is_empty() { "the program says that it failed".to_owned() } else { said.join(": ") };
    if !rest.is_empty() {
        said.push(' ');
        said.push_str(&Value::Object(rest).to_string());
    }
    let kind = if said == "not_found" { ErrorKind::NotFound } else { ErrorKind::ToolFailed };
    let failure = ToolError::new(kind, said);
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
