//! Cache files that make the next start faster. Each file is either complete or ignored, their number is bounded, and a
//! deleted file is written again.

pub(crate) mod dataflow_cache;
pub(crate) mod index_cache;

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

/// The length of a digest in bytes.
pub(crate) const DIGEST: usize = 32;

/// The age from which on an unfinished file is abandoned: no process can still be writing it.
const STALE: Duration = Duration::from_hours(1);

/// Appends the digest of all bytes.
pub(crate) fn append_digest(bytes: &mut Vec<u8>) {
    let digest = Sha256::digest(&bytes);
    bytes.extend_from_slice(&digest);
}

/// Returns the bytes before the digest, or `None` if the digest does not match them.
pub(crate) fn strip_digest(bytes: &[u8]) -> Option<&[u8]> {
    let (content, digest) = bytes.split_last_chunk::<DIGEST>()?;
    (Sha256::digest(content).as_slice() == digest).then_some(content)
}

/// Deletes files of this extension next to `file` until at most `most` are left, and the others have at most `max_bytes`
/// together. It keeps `file` and the ones that were written or [touched](touch) last. Unfinished files that a crash left
/// behind are deleted too.
pub(crate) fn keep_newest(file: &Path, extension: &str, most: usize, max_bytes: u64) {
    let entries = file.parent().and_then(|folder| fs::read_dir(folder).ok());
    let entries = entries.into_iter().flatten().filter_map(Result::ok);
    let mut others = Vec::new();
    for path in entries.map(|entry| entry.path()).filter(|path| path != file) {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        let Ok(changed) = metadata.modified() else { continue };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("new") if SystemTime::now().duration_since(changed).is_ok_and(|age| age > STALE) => {
                let _ = fs::remove_file(path);
            }
            Some(other) if other == extension => others.push((changed, path, metadata.len())),
            _ => {}
        }
    }
    others.sort();
    let (mut count, mut bytes) = (1, 0_u64);
    for (_, path, length) in others.into_iter().rev() {
        (count, bytes) = (count + 1, bytes.saturating_add(length));
        if count > most || bytes > max_bytes {
            let _ = fs::remove_file(path);
        }
    }
}

/// Marks a file as used. If that fails, the file is deleted earlier than necessary.
pub(crate) fn touch(file: &Path) {
    let _ = fs::File::options().append(true).open(file).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Writes a count of items in memory. If it does not fit, the file is rejected when it is read.
pub(crate) fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

/// Writes a length-prefixed byte string.
pub(crate) fn put_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    put_count(bytes, content.len());
    bytes.extend_from_slice(content);
}

/// A reader of the remaining bytes of a file. It allocates nothing for a count that the file has not backed with as
/// many bytes.
pub(crate) struct ByteReader<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(crate) fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn take_array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads a count that [`put_count`] wrote.
    pub(crate) fn count(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(*self.take_array()?)).ok()
    }

    /// Reads bytes that [`put_bytes`] wrote.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    /// Reads bytes that [`put_bytes`] wrote, as text.
    pub(crate) fn text(&mut self) -> Option<&'a str> {
        str::from_utf8(self.bytes()?).ok()
    }
}
