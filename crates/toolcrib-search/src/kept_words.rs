//! The index of words on disk, so that the same tools are read once.
//!
//! One file for each set of tools, named by the digest of all that they say of themselves, and replaced as a whole: a reader
//! finds a whole file or none, also after a crash and beside other writers, who would write the same. It begins with
//! [`MAGIC`] and that digest, and ends with the digest of all before. A file that is anything else is made anew.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toolcrib_io::files::{read_bounded, replace};
use toolcrib_model::Tool;

use crate::document::each_piece;
use crate::embedding::ContentHash;
use crate::kept::{self, Parts, keep_newest, put_bytes, put_count, seal, touch, unsealed};
use crate::reading::Words;

/// The most bytes of the file of one set of tools; of more, nothing is kept. It holds the words of some 100,000 tools.
pub const MAX_KEPT_BYTES: usize = 64 << 20;

/// For how many sets of tools there are files; the one that was not used for longest goes.
pub const MAX_KEPT_SETS: usize = 4;

/// From how many tools on their words are kept: fewer are read from the tools in the time that the disk takes.
pub const MIN_KEPT_TOOLS: usize = 1_000;

/// What a file begins with.
const MAGIC: &[u8; 8] = b"tcwords1";

/// The version of the way from a tool to its terms; raised when the same tools would give other terms.
pub(crate) const TERMS: u32 = 2;

/// Of how many bytes a digest is made at once: pieces are short.
const DIGESTED: usize = 64 * 1024;

const EXTENSION: &str = "words";

/// The file of a set of tools.
pub(crate) struct KeptWords {
    folder: PathBuf,
    file: PathBuf,
    key: [u8; kept::DIGEST],
    max_bytes: usize,
}

impl KeptWords {
    /// The file of these tools; those of one name stand together.
    pub(crate) fn new(folder: &Path, overloads: &[&[&Tool]]) -> Self {
        let key = key(overloads);
        let name = format!("{:?}", ContentHash::from_bytes(key));
        let name = name.get(..24).unwrap_or(&name);
        let file = folder.join(name).with_extension(EXTENSION);
        Self { folder: folder.to_owned(), file, key, max_bytes: MAX_KEPT_BYTES }
    }

    #[cfg(test)]
    pub(crate) fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// The words of so many names; none when there is no file, or one that does not fit.
    pub(crate) fn read(&self, names: usize) -> Option<Words> {
        let bytes = read_bounded(&self.file, MAX_KEPT_BYTES as u64).ok()?;
        let content = || unsealed(&bytes)?.strip_prefix(MAGIC)?.strip_prefix(&self.key);
        // The files of tantivy are not bounded here; they are what was written, but who wrote them is not known.
        let words = content().and_then(|content| {
            catch_unwind(AssertUnwindSafe(|| Words::decode(&mut Parts { rest: content }, names))).ok()?
        });
        if words.is_none() {
            tracing::info!(file = %self.file.display(), "a damaged file of words is made anew");
        }
        touch(&self.file);
        words
    }

    /// Keeps words. That they cannot be kept costs time at the next start, nothing else.
    pub(crate) fn write(&self, words: &Words) {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.key);
        if let Err(error) = words.encode(&mut bytes) {
            tracing::debug!("words are not kept: {error}");
            return;
        }
        seal(&mut bytes);
        if bytes.len() > self.max_bytes {
            tracing::debug!(bytes = bytes.len(), most = self.max_bytes, "words are not kept");
            return;
        }
        match replace(&self.file, &bytes) {
            Ok(()) => keep_newest(&self.folder, EXTENSION, &self.file, MAX_KEPT_SETS),
            Err(error) => tracing::debug!("words are not kept: {error}"),
        }
    }
}

/// The digest of all that shapes the words of these tools.
fn key(overloads: &[&[&Tool]]) -> [u8; kept::DIGEST] {
    let mut hash = Sha256::new();
    let mut bytes = TERMS.to_le_bytes().to_vec();
    for version in [env!("CARGO_PKG_VERSION"), tantivy::version_string()] {
        put_bytes(&mut bytes, version.as_bytes());
    }
    for tools in overloads {
        put_count(&mut bytes, tools.len());
        for tool in *tools {
            each_piece(tool, |field, piece| {
                bytes.push(field as u8);
                put_bytes(&mut bytes, piece.as_bytes());
            });
            // Where one tool ends: no field has this number.
            bytes.push(u8::MAX);
        }
        if bytes.len() >= DIGESTED {
            hash.update(&bytes);
            bytes.clear();
        }
    }
    hash.update(&bytes);
    hash.finalize().into()
}
