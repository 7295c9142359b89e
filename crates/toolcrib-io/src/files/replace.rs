//! Writing the operator's own files.

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

/// Tells files of this process apart that are being written.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Writes a whole file that the operator named, and the folders above it that are missing. Readers find the old content or
/// the new one, also after a crash or on a full disk; of writers at the same time the last one wins.
///
/// There is no root here: do not use it for a path that a model, a server or a document chose.
pub fn replace(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    put(path.as_ref(), bytes, Readers::Everyone)
}

/// The readers of a file, as far as it is up to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readers {
    /// All users that the system lets by default.
    Everyone,
    /// The user who runs this, alone.
    Owner,
}

/// Writes a whole file, and the folders above it that are missing.
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
        // What is left of it is of no use; that it cannot be removed either tells nothing more.
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}

/// Creates the folders above a path that are missing.
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

/// Sets who may read a file that is created.
#[cfg_attr(not(unix), expect(unused_variables, reason = "other systems have no such bits"))]
pub(super) fn with_readers(options: &mut OpenOptions, readers: Readers) {
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(options, OWNER_FILE);
    }
}

/// Takes from all but the owner the right to read a file or a folder, if there is one and somebody else has that right.
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
