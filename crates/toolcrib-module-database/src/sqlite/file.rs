//! The lookup of a database file in the workspace.

use std::path::{Path, PathBuf};

use toolcrib_io::Error;
use toolcrib_io::files::{Kind, PROTECTED_HINT, Root};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_policy::Access;
use toolcrib_policy::access::Mode;

use crate::errors::{failed, invalid};

/// A database file of the workspace.
pub(crate) struct DatabaseFile {
    /// The path in the call.
    pub(crate) given: String,
    /// The absolute path without symlinks.
    pub(crate) real_path: PathBuf,
    /// True if it was created just now.
    pub(crate) is_new: bool,
}

/// Returns the file at a path, and creates it if it does not exist and `create` is set. The access rules have to allow
/// reading it, or writing if `is_writable`.
pub(crate) fn find_file(
    root: &Root,
    access: &Access,
    given: &str,
    is_writable: bool,
    create: bool,
) -> Result<DatabaseFile, ToolError> {
    if given.is_empty() || given.starts_with(':') {
        return Err(invalid("`database` is not the path of a file")
            .with_hint("give a path relative to the workspace, such as `data.db`"));
    }
    if is_writable && let Err(error @ Error::FileProtected { .. }) = root.check_write(given) {
        return Err(refused(&error, given));
    }
    let mut is_new = false;
    match root.metadata(given) {
        Ok(found) if found.kind == Kind::File => {}
        Ok(_) => return Err(failed(format!("`{given}` is not a file"))),
        Err(Error::NotFound { .. }) if create => {
            // An empty file is an empty database.
            root.append(given, b"").map_err(|error| refused(&error, given))?;
            is_new = true;
        }
        Err(Error::NotFound { .. }) => {
            return Err(failed(format!("`{given}` does not exist in the workspace")).with_hint(
                "`filesystem.find` finds files; `create: true` makes a new database where writing is allowed",
            ));
        }
        Err(error) => return Err(refused(&error, given)),
    }
    let outside = || {
        failed(format!("`{given}` leads out of the workspace"))
            .with_hint("give the path of a file that is in the workspace itself")
    };
    let real_path = root.path().join(given).canonicalize().map_err(|_| outside())?;
    let relative = real_path.strip_prefix(root.path()).map_err(|_| outside())?;
    let mode = if is_writable { Mode::Write } else { Mode::Read };
    let folder = root.path().to_string_lossy();
    let is_allowed =
        |path: &Path| path.to_str().is_some_and(|path| access.allows_path_below(&folder, path, mode));
    if !is_allowed(relative) {
        let verb = if is_writable { "write" } else { "read" };
        return Err(ToolError::new(
            ErrorKind::Denied,
            format!(
                "may not {verb} `{given}`: the configuration does not allow it under `access.filesystem`"
            ),
        )
        .with_hint("use a path that is allowed, or ask the user"));
    }
    Ok(DatabaseFile { given: given.to_owned(), real_path, is_new })
}

fn refused(error: &Error, given: &str) -> ToolError {
    match error {
        Error::PathNotAllowed { .. } => ToolError::new(ErrorKind::Denied, error.to_string())
            .with_hint("use a path that is allowed, or ask the user"),
        Error::FileProtected { .. } => {
            ToolError::new(ErrorKind::Denied, error.to_string()).with_hint(PROTECTED_HINT)
        }
        Error::OutsideRoot { reason, .. } => {
            failed(format!("`{given}` is outside of the workspace: {reason}"))
                .with_hint("give a path relative to the workspace")
        }
        error => failed(error.to_string()),
    }
}
