//! The errors of programs, as models read them.

use toolcrib_io::Error;
use toolcrib_model::{ErrorKind, ToolError};

/// Creates the error of a tool that failed.
pub(super) fn failed(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::ToolFailed, message)
}

/// Creates the error of invalid arguments.
pub(super) fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}

/// Converts an error, with a hint for the model.
pub(super) fn tool_error(error: &Error) -> ToolError {
    let message = error.to_string();
    match error {
        Error::ProgramNotAllowed { .. } => ToolError::new(ErrorKind::Denied, message)
            .with_hint("use a program that is allowed, or ask the user for this one"),
        Error::ProgramNotFound { .. } => failed(message).with_hint(
            "`shell.which` shows whether a program is installed; use another one, or ask the user to install it",
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
            failed(format!("`{path}` is not a directory")).with_hint("give the directory that it is in")
        }
        Error::StatusLost { .. } | Error::PipeFailed { .. } => {
            ToolError::new(ErrorKind::OutcomeUnknown, message)
                .with_hint("check what it did before you repeat it")
        }
        Error::Unsupported { .. } => ToolError::new(ErrorKind::Unavailable, message).with_retryable(false),
        _ => failed(message),
    }
}
