//! The errors that end a script.

use serde::{Deserialize, Serialize};
use toolcrib_model::{ErrorKind, ToolError};

/// An error that ended a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScriptError {
    /// The source is too long.
    #[error("the script has {bytes} bytes; at most {limit} are allowed")]
    SourceTooLong {
        /// The length of the source.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The script threw an error that nothing caught, or is not valid.
    #[error("{}{name}: {message}", position(*.line, *.column))]
    Thrown {
        /// The name of the error, such as `SyntaxError` or `ToolError`.
        name: String,
        /// Its message.
        message: String,
        /// The line in the source, from 1.
        line: Option<u32>,
        /// The column in that line, from 1.
        column: Option<u32>,
        /// The advice of the tool whose error it is.
        hint: Option<String>,
    },
    /// The script exceeded its heap.
    #[error("the script used more than {limit} bytes of memory")]
    Memory {
        /// The limit.
        limit: usize,
    },
    /// The script exceeded its processor time.
    #[error("the script computed for more than {limit_ms} ms")]
    CpuTime {
        /// The limit.
        limit_ms: u64,
    },
    /// The script waits for something that never happens.
    #[error("the script waits for a promise that nothing resolves")]
    Stalled,
    /// The result of the script is no JSON, or too large.
    #[error("the script cannot return its value: {problem}")]
    Result {
        /// The problem.
        problem: String,
    },
    /// The script was begun by another version of the engine, and cannot be resumed.
    #[error("the script was begun by the engine `{begun_by}`, and this is `{engine}`")]
    EngineChanged {
        /// The engine that began it.
        begun_by: String,
        /// The engine that was to resume it.
        engine: String,
    },
    /// The script does not make the calls that its log holds.
    #[error("the script ran differently when it was resumed: {problem}")]
    Diverged {
        /// The difference.
        problem: String,
    },
    /// The script has to wait, and its log cannot be stored.
    #[error("the script cannot wait for an approval: {problem}")]
    NotStored {
        /// The problem.
        problem: String,
    },
    /// The process of the script failed.
    #[error("the process of the script failed: {problem}")]
    Worker {
        /// The problem.
        problem: String,
    },
}

/// Returns the prefix of a message with a position, or nothing.
fn position(line: Option<u32>, column: Option<u32>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: "),
        (Some(line), None) => format!("line {line}: "),
        _ => String::new(),
    }
}

impl ScriptError {
    /// Returns the error for the model that wrote the script.
    pub fn to_tool_error(&self) -> ToolError {
        let (kind, hint) = match self {
            Self::Thrown { name, hint, .. } => {
                let hint = match (name.as_str(), hint) {
                    (_, Some(hint)) => hint.as_str(),
                    ("SyntaxError", None) => "write plain JavaScript, without types and imports",
                    _ => "correct the script; the calls that it has made are not undone",
                };
                (ErrorKind::ToolFailed, hint)
            }
            Self::SourceTooLong { .. } => (ErrorKind::LimitReached, "write a shorter script, or several"),
            Self::Memory { .. } => {
                (ErrorKind::LimitReached, "keep less at once: filter each result when it arrives")
            }
            Self::CpuTime { .. } => (ErrorKind::LimitReached, "look for an endless loop, or compute less"),
            Self::Stalled => {
                (ErrorKind::ToolFailed, "await only calls of tools and promises that the script resolves")
            }
            Self::Result { .. } => {
                (ErrorKind::LimitReached, "return a smaller plain value, such as a summary")
            }
            Self::EngineChanged { .. } | Self::Diverged { .. } => {
                (ErrorKind::ToolFailed, "check which calls took effect, and write a script for the rest")
            }
            Self::NotStored { .. } => {
                (ErrorKind::Unavailable, "tell the user; the calls that it has made are not undone")
            }
            Self::Worker { .. } => {
                (ErrorKind::Internal, "tell the user; the calls that the script has made are not undone")
            }
        };
        ToolError::new(kind, self.to_string()).with_hint(hint)
    }
}
