//! Atomic replacement of the operator's files.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::path::explain;
use crate::Error;

/// The permissions of a file that only its owner may read.
#[cfg(unix)]
const OWNER_FILE: u32 = 0o600;

/// The permissions of a folder that only its owner may read.
#[cfg(unix)]
const OWNER_FOLDER: u32 = 0o700;

/// The permissions of group and others.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// Numbers the temporary files of this process.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Replaces a whole file that the operator named, and creates missing parent folders. The change is atomic: readers see the
/// old content or the new one, even after a crash or on a full disk. The last of several concurrent writers wins.
///
/// The path is not confined to a root: do not pass a path that a model, a server or a document chose.
pub fn replace(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    put(path.as_ref(), bytes, Readers::Everyone)
}

/// Replaces a whole file like [`replace`], so that only the user who runs this process may read it and the folders that
/// are created.
pub fn replace_private(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    put(path.as_ref(), bytes, Readers::Owner)
}

/// The users that may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readers {
    /// All users that the system admits by default.
    Everyone,
    /// Only the user who runs this process.
    Owner,
}

/// Replaces a whole file, and creates missing parent folders.
pub(super) fn put(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), Error> {
    let failed = |source| explain("write", path, source);
    create_parent(path, readers).map_err(failed)?;
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.{number}.new", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    with_readers(&mut options, readers);
    let written = options.open(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    written.map_err(|error| {
        // The original error matters more than a failure to remove the temporary file.
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}

/// Creates the missing parent folders of a path.
pub(super) fn create_parent(path: &Path, readers: Readers) -> io::Result<()> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, OWNER_FOLDER);
    }
    builder.create(folder)
}

/// Sets the permissions of a file to be created.
#[cfg_attr(not(unix), expect(unused_variables, reason = "other systems have no such bits"))]
pub(super) fn with_readers(options: &mut OpenOptions, readers: Readers) {
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(options, OWNER_FILE);
    }
}

/// Removes the permissions of group and others from an existing file or folder. Does nothing if it does not exist.
pub fn make_private(path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let failed = |source| explain("protect", path, source);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        if found.permissions().mode() & OTHERS != 0 {
            let mode = if found.is_dir() { OWNER_FOLDER } else { OWNER_FILE };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)?;
        }
    }
    #[cfg(not(unix))]
    let _ = failed;
    Ok(())
}
