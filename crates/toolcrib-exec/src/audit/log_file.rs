//! The files of audit records.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Opens or creates a file that only its owner may read, to append to it.
pub(super) fn open(path: &Path) -> io::Result<File> {
    // Opening a pipe would block until it has a reader.
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns true if the path still leads to this file.
pub(super) fn is_at(path: &Path, file: &File) -> bool {
    match (std::fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(ours)) => is_same(&there, &ours),
        _ => false,
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    true
}
