//! Files that save the next start its work. Each is whole or as good as none; there are few; and when one is gone, what it
//! held is made again.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

/// The bytes of a digest.
pub(crate) const DIGEST: usize = 32;

/// How old something half written is when nobody can be writing it any more.
const STALE: Duration = Duration::from_hours(1);

/// Puts the digest of all bytes behind them.
pub(crate) fn seal(bytes: &mut Vec<u8>) {
    let digest = Sha256::digest(&bytes);
    bytes.extend_from_slice(&digest);
}

/// What stands before the digest; none where the two do not agree.
pub(crate) fn unsealed(bytes: &[u8]) -> Option<&[u8]> {
    let (content, digest) = bytes.split_last_chunk::<DIGEST>()?;
    (Sha256::digest(content).as_slice() == digest).then_some(content)
}

/// Leaves `most` files of this extension in a folder, `file` and those that were written or [touched](touch) last; and removes
/// what crashes have left half written.
pub(crate) fn keep_newest(folder: &Path, extension: &str, file: &Path, most: usize) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut others = Vec::new();
    for path in entries.map(|entry| entry.path()).filter(|path| path != file) {
        let Ok(changed) = fs::metadata(&path).and_then(|metadata| metadata.modified()) else { continue };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("new") if SystemTime::now().duration_since(changed).is_ok_and(|age| age > STALE) => {
                let _ = fs::remove_file(path);
            }
            Some(other) if other == extension => others.push((changed, path)),
            _ => {}
        }
    }
    others.sort();
    let gone = (others.len() + 1).saturating_sub(most);
    for (_, path) in others.into_iter().take(gone) {
        let _ = fs::remove_file(path);
    }
}

/// Says that a file is in use. When that fails, it is removed earlier than it had to be.
pub(crate) fn touch(file: &Path) {
    let _ = fs::File::options().append(true).open(file).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Writes a number that counts something in memory. Where it does not fit, the file will not be read again.
pub(crate) fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

/// Writes bytes with their number before them.
pub(crate) fn put_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    put_count(bytes, content.len());
    bytes.extend_from_slice(content);
}

/// What is still to be read of a file. Nothing is set aside for a number before as many bytes were seen.
pub(crate) struct Parts<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> Parts<'a> {
    pub(crate) fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// What [`put_count`] wrote.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let (count, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        usize::try_from(u32::from_le_bytes(*count)).ok()
    }

    /// What [`put_bytes`] wrote.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    /// The same, when it is text.
    pub(crate) fn text(&mut self) -> Option<&'a str> {
        str::from_utf8(self.bytes()?).ok()
    }
}
