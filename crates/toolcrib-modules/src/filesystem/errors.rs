//! The errors of file operations, as models read them.

use std::io::ErrorKind as IoKind;
use std::path::Path;

use toolcrib_io::Error;
use toolcrib_io::files::{Kind, PROTECTED_HINT, Root};
use toolcrib_model::{ErrorKind, ToolError};

/// The maximum number of ancestors of a missing path that are checked for existence.
const MAX_ANCESTORS: usize = 32;

/// Converts an error, with a hint for the model.
pub(super) fn tool_error(root: &Root, error: Error) -> ToolError {
    match error {
        Error::NotFound { path } => {
            let hint = match nearest_directory(root, &path) {
                Some(directory) => format!("`filesystem.ls` with the path `{directory}` lists what is there"),
                None => "`filesystem.ls` lists what is there".into(),
            };
            failed(format!("`{path}` does not exist")).with_hint(hint)
        }
        Error::OutsideRoot { path, reason } => {
            failed(format!("`{path}` is outside of the workspace: {reason}"))
                .with_hint("give a path relative to the workspace")
        }
        Error::PathNotAllowed { .. } => ToolError::new(ErrorKind::Denied, error.to_string())
            .with_hint("use a path that is allowed, or ask the user"),
        Error::ReadOnly { .. } => ToolError::new(ErrorKind::Denied, error.to_string())
            .with_hint("write to the workspace instead, by a relative path"),
        Error::FileProtected { .. } => {
            ToolError::new(ErrorKind::Denied, error.to_string()).with_hint(PROTECTED_HINT)
        }
        Error::WrongKind { path, expected: "file" } => {
            failed(format!("`{path}` is not a file")).with_hint("`filesystem.ls` lists a directory")
        }
        Error::WrongKind { path, expected } => failed(format!("`{path}` is not a {expected}"))
            .with_hint("`filesystem.ls` with the path of the directory above it shows what it is"),
        Error::FileFailed { ref source, .. } if source.kind() == IoKind::PermissionDenied => failed(
            error.to_string(),
        )
        .with_hint("its permissions do not allow that: use another path, or ask the user to change them"),
        Error::FileFailed { ref path, ref source, .. } if source.kind() == IoKind::AlreadyExists => {
            failed(format!("there is already something else at `{path}`")).with_hint("use another path")
        }
        error => failed(error.to_string()),
    }
}

/// Creates the error of a tool that failed.
pub(super) fn failed(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::ToolFailed, message)
}

/// Creates the error of invalid arguments.
pub(super) fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}

fn nearest_directory(root: &Root, path: &str) -> Option<String> {
    let mut above = Path::new(path).ancestors().skip(1).take(MAX_ANCESTORS);
    let is_directory =
        |path: &&Path| root.metadata(path).is_ok_and(|metadata| metadata.kind == Kind::Directory);
    let nearest = above.find(is_directory)?.display().to_string();
    (!nearest.is_empty()).then_some(nearest)
}
