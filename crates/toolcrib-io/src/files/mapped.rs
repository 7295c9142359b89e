//! Files mapped into memory.

use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

use super::bounded::open_regular;
use super::path::explain;
use crate::Error;

/// Maps a file of at most `max_bytes` into memory, read-only. The pages are read when they are used, and the system
/// shares them between processes and may drop them again.
///
/// Map only files that are replaced as a whole, as [`replace`](super::replace) does: the mapping stays that of the old
/// file. On Unix, a process that shortens a mapped file ends every process that reads the lost pages.
///
/// # Errors
///
/// Returns an error if the path is not that of a regular file, if the file is larger, or if the system does not map it.
pub fn map_bounded(path: impl AsRef<Path>, max_bytes: u64) -> Result<Bytes, Error> {
    let path = path.as_ref();
    let failed = |source| explain("read", path, source);
    let file = open_regular(path)?;
    let length = file.metadata().map_err(failed)?.len();
    if length > max_bytes {
        return Err(Error::TooLarge { path: path.display().to_string(), limit: max_bytes });
    }
    if length == 0 {
        // Not every system maps an empty file.
        return Ok(Bytes::new());
    }
    #[expect(unsafe_code, reason = "no safe interface to the system's mappings is well kept")]
    // SAFETY: nothing writes to the bytes of this file in place: its writers replace it as a whole, and the mapping is
    // read-only.
    let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
    Ok(Bytes::from_owner(map))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::replace;

    #[test]
    fn a_mapping_stays_that_of_the_file_it_was_made_of() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        replace(&file, b"first").unwrap();
        let mapped = map_bounded(&file, 5).unwrap();
        replace(&file, b"second, and longer").unwrap();
        assert_eq!(&mapped[..], b"first");
        assert_eq!(&map_bounded(&file, 100).unwrap()[..], b"second, and longer");
    }

    #[test]
    fn larger_and_missing_files_and_folders_are_errors_and_an_empty_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        replace(&file, b"123456").unwrap();
        assert!(matches!(map_bounded(&file, 5), Err(Error::TooLarge { limit: 5, .. })));
        assert!(matches!(map_bounded(folder.path(), 5), Err(Error::WrongKind { .. })));
        assert!(map_bounded(folder.path().join("missing"), 5).is_err());
        replace(&file, b"").unwrap();
        assert!(map_bounded(&file, 5).unwrap().is_empty());
    }
}
