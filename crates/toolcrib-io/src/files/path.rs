//! Conversion of given paths to paths below the root.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::Error;

/// The longest path, in bytes: as long as systems take. An error about one repeats it.
const MAX_PATH_BYTES: usize = 4096;

/// The number of characters of an overlong path that an error quotes.
const TOLD_CHARS: usize = 100;

/// Returns the path relative to the root; `.` is the root itself.
///
/// An absolute path is taken if it begins with one of the spellings of the root.
pub(super) fn below(spellings: &[PathBuf], path: &Path) -> Result<PathBuf, Error> {
    let outside = |reason| Error::OutsideRoot { path: path.display().to_string(), reason };
    if path.as_os_str().len() > MAX_PATH_BYTES {
        let beginning: String = path.to_string_lossy().chars().take(TOLD_CHARS).collect();
        let reason = "it is longer than 4096 bytes";
        return Err(Error::OutsideRoot { path: format!("{beginning}…"), reason });
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(outside("it contains a NUL character"));
    }
    // Even where it would lead back in: what `..` means behind a symlink is not what it says.
    if path.components().any(|component| component == Component::ParentDir) {
        return Err(outside("it contains `..`"));
    }
    let relative = if path.is_absolute() {
        let stripped = spellings.iter().find_map(|root| path.strip_prefix(root).ok());
        stripped.ok_or_else(|| outside("it is absolute and does not begin with the root"))?
    } else {
        path
    };
    let mut normal = PathBuf::new();
    for component in relative.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            _ => return Err(outside("it does not begin at the root")),
        }
    }
    if normal.as_os_str().is_empty() {
        normal.push(".");
    }
    Ok(normal)
}

/// Converts an I/O error of an `operation` on a `path`.
pub(super) fn explain(operation: &'static str, path: &Path, source: io::Error) -> Error {
    let path = path.display().to_string();
    match source.kind() {
        io::ErrorKind::NotFound => Error::NotFound { path },
        // The sandbox's own refusal has no code of the system; a lack of permission has.
        io::ErrorKind::PermissionDenied if source.raw_os_error().is_none() => {
            Error::OutsideRoot { path, reason: "a symlink in it leads out" }
        }
        io::ErrorKind::NotADirectory => Error::WrongKind { path, expected: "directory" },
        io::ErrorKind::IsADirectory => Error::WrongKind { path, expected: "file" },
        _ => Error::FileFailed { operation, path, source },
    }
}
