//! Changing a file that other processes change too.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::path::explain;
use super::read_bounded;
use super::replace::{Readers, create_parent, put, with_readers};
use crate::Error;

/// How long a change waits for those of other processes. One of them takes a few milliseconds.
pub const MAX_LOCK_WAIT: Duration = Duration::from_secs(5);

/// How long it waits before it looks again.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Changes a file that the operator named, if it has no more than `max_bytes`: `change` is given what stands in it, `None`
/// where there is no file, and gives what shall stand there, `None` to leave it as it is, and what it wants to tell.
/// Changes by other threads and processes that use this function come before or after, never between: they take turns by a
/// lock on the file beside it whose name ends in `.lock`. Both files, and the folders above them that are missing, are
/// created so that only their owner may read them.
///
/// There is no root here: do not use it for a path that a model, a server or a document chose.
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

/// The lock, held until it is dropped. The file stays, since removing it would let two hold it.
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
