//! What a program that does not start means to a model.

use toolcrib_io::Error;
use toolcrib_model::{ErrorKind, ToolError};

/// The tool did not do it.
pub(super) fn failed(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::ToolFailed, message)
}

/// The arguments ask for something that cannot be.
pub(super) fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}

/// The error that a model reads, with what it can do about it.
pub(super) fn failure(error: &Error) -> ToolError {
    let message = error.to_string();
    match error {
        Error::ProgramNotAllowed { .. } => ToolError::new(ErrorKind::Denied, message)
            .with_hint("use a program that is allowed, or ask the user for this one"),
        Error::ProgramNotFound { .. } => failed(message).with_hint(
            "`shell.which` tells whether a program is there; use another one, or ask the user to install it",
        ),
        Error::ProgramNotExecutable { .. } => failed(message)
            .with_hint("give its interpreter as the first word, as `python3`, and the file as the second"),
        Error::InvalidCommand { .. } => {
            invalid(message).with_hint("`argv` is the program, then each argument as a word")
        }
        Error::WorkingDirectoryMissing { .. } => failed(message)
            .with_hint("`filesystem.ls` lists what is there; `filesystem.mkdir` creates a directory"),
        Error::PathNotAllowed { .. } => ToolError::new(ErrorKind::Denied, message)
            .with_hint("use a directory that is allowed, or ask the user"),
        Error::OutsideRoot { path, reason } => {
            failed(format!("`{path}` is outside of the workspace: {reason}"))
                .with_hint("give a directory relative to the workspace")
        }
        Error::NotFound { path } => failed(format!("the directory `{path}` does not exist"))
            .with_hint("`filesystem.ls` lists what is there"),
        Error::WrongKind { path, .. } => {
            failed(format!("`{path}` is no directory")).with_hint("give the directory that it is in")
        }
        Error::StatusLost { .. } | Error::PipeFailed { .. } => {
            ToolError::new(ErrorKind::OutcomeUnknown, message)
                .with_hint("check what it did before you repeat it")
        }
        Error::Unsupported { .. } => ToolError::new(ErrorKind::Unavailable, message).with_retryable(false),
        _ => failed(message),
    }
}
