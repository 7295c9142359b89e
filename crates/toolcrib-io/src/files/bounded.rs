//! Bounded reading of the operator's files.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::path::Path;

use super::path::explain;
use crate::Error;

/// Reads a whole file that the operator named, such as a configuration file, of at most `max_bytes`. A FIFO, a socket or a
/// device is refused without waiting for it.
///
/// The path is not confined to a root: do not pass a path that a model, a server or a document chose.
pub fn read_bounded(path: impl AsRef<Path>, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let path = path.as_ref();
    let failed = |source| explain("read", path, source);
    let mut bytes = Vec::new();
    let file = open_regular(path)?;
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if u64::try_from(bytes.len()).is_ok_and(|read| read > max_bytes) {
        return Err(Error::TooLarge { path: path.display().to_string(), limit: max_bytes });
    }
    Ok(bytes)
}

/// Opens a regular file for reading.
pub(super) fn open_regular(path: &Path) -> Result<File, Error> {
    let failed = |source| explain("read", path, source);
    let check = |found: &Metadata| {
        let expected = if found.is_dir() { "file" } else { "regular file" };
        let wrong = || Error::WrongKind { path: path.display().to_string(), expected };
        found.is_file().then_some(()).ok_or_else(wrong)
    };
    // Opening a device may have effects, so the kind is checked before as well.
    check(&std::fs::metadata(path).map_err(failed)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options);
    let file = options.open(path).map_err(failed)?;
    check(&file.metadata().map_err(failed)?)?;
    Ok(file)
}

/// Makes opening a FIFO return at once, so that it can be refused.
#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
}

#[cfg(not(unix))]
fn without_waiting(_options: &mut OpenOptions) {}
