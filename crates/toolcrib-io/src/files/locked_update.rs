//! Changing a file that other processes change too.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::atomic_replace::{Readers, create_parent, put, with_readers};
use super::path::explain;
use super::read_bounded;
use crate::Error;

/// The maximum time to wait for the changes of other processes. One change takes a few milliseconds.
pub(crate) const MAX_LOCK_WAIT: Duration = Duration::from_secs(5);

/// The pause between two attempts to take the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Updates a file of at most `max_bytes` that the operator named. `change` receives the content, or `None` for a missing
/// file, and returns the new content, or `None` to keep it, with a value for the caller.
///
/// Updates by other threads and processes that use this function are serialized by a lock on a neighboring file whose name
/// ends in `.lock`. Both files and missing parent folders are created with permissions for their owner only.
///
/// The path is not confined to a root: do not pass a path that a model, a server or a document chose.
pub fn update<T, F: From<Error>>(
    path: impl AsRef<Path>,
    max_bytes: u64,
    change: impl FnOnce(Option<&[u8]>) -> Result<(Option<Vec<u8>>, T), F>,
) -> Result<T, F> {
    let path = path.as_ref();
    let _lock = lock(path, MAX_LOCK_WAIT)?;
    let before = match read_bounded(path, max_bytes) {
        Ok(bytes) => Some(bytes),
        Err(Error::NotFound { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let (after, told) = change(before.as_deref())?;
    if let Some(after) = after {
        put(path, &after, Readers::Owner)?;
    }
    Ok(told)
}

/// Returns the lock, held until it is dropped. The file stays, since removing it would let two hold it.
pub(super) fn lock(path: &Path, wait: Duration) -> Result<File, Error> {
    let failed = |source| explain("lock", path, source);
    create_parent(path, Readers::Owner).map_err(failed)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    with_readers(&mut options, Readers::Owner);
    let file = options.open(beside).map_err(failed)?;
    hold(&file, wait).map_err(failed)?;
    Ok(file)
}

/// Locks an open file, which others may hold for a while.
pub(super) fn hold(file: &File, wait: Duration) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if began.elapsed() >= wait => {
                return Err(io::Error::new(
                    io::ErrorKind::WouldBlock,
                    format!("another process has held the lock for {wait:?}"),
                ));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
        }
    }
}
