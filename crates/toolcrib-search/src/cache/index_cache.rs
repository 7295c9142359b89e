//! A cache of the keyword index on disk, so that the same tools are indexed once.
//!
//! There is one file for each set of tools, named by the digest of their searchable text and replaced as a whole. A
//! reader finds a complete file or none, even after a crash or next to other writers, which would write the same
//! content. The file begins with [`MAGIC`] and that digest, and ends with the digest of all bytes before. Any other
//! file is replaced.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toolcrib_io::files::{map_bounded, replace};
use toolcrib_model::Tool;

use crate::cache::{self, append_digest, keep_newest, put_bytes, put_count, strip_digest, touch};
use crate::embedding::ContentHash;
use crate::keyword::word_index::WordIndex;
use crate::tool_text::each_piece;

/// The most bytes of the file of one set of tools; a larger index is not cached. It holds the words of more than
/// 1,000,000 tools.
const MAX_INDEX_CACHE_BYTES: usize = 512 << 20;

/// The most sets of tools that have a file. The least recently used file is deleted.
pub(crate) const MAX_CACHED_INDEXES: usize = 4;

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"tcwords3";

/// The version of the text analysis. It is raised whenever the same tools would give different terms.
pub(crate) const ANALYSIS_VERSION: u32 = 2;

/// The number of bytes that are hashed at once, since the pieces are short.
const HASH_CHUNK_BYTES: usize = 64 * 1024;

const EXTENSION: &str = "words";

/// The cache file of a set of tools.
pub(crate) struct IndexCache {
    file: PathBuf,
    key: [u8; cache::DIGEST],
    max_bytes: usize,
}

impl IndexCache {
    /// Creates the cache file of these tools, grouped by name.
    pub(crate) fn new(folder: &Path, overloads: &[&[&Tool]]) -> Self {
        let key = key(overloads);
        let name = format!("{:?}", ContentHash::from_bytes(key));
        let name = name.get(..24).unwrap_or(&name);
        let file = folder.join(name).with_extension(EXTENSION);
        Self { file, key, max_bytes: MAX_INDEX_CACHE_BYTES }
    }

    #[cfg(test)]
    pub(crate) fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Maps the index of this many names into memory. Returns `None` if there is no file, or if it does not match.
    pub(crate) fn read(&self, names: usize) -> Option<WordIndex> {
        let file = map_bounded(&self.file, MAX_INDEX_CACHE_BYTES as u64).ok()?;
        let content = || strip_digest(&file)?.strip_prefix(MAGIC)?.strip_prefix(&self.key);
        let words = content().and_then(|content| WordIndex::decode(content, &file, names));
        if words.is_none() {
            tracing::info!(file = %self.file.display(), "a damaged index cache is replaced");
        }
        touch(&self.file);
        words
    }

    /// Writes the index to the file. A failure costs time at the next start, nothing else.
    pub(crate) fn write(&self, words: &WordIndex) {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.key);
        words.encode(&mut bytes);
        append_digest(&mut bytes);
        if bytes.len() > self.max_bytes {
            tracing::debug!(bytes = bytes.len(), most = self.max_bytes, "the index is not cached");
            return;
        }
        match replace(&self.file, &bytes) {
            Ok(()) => keep_newest(&self.file, EXTENSION, MAX_CACHED_INDEXES, u64::MAX),
            Err(error) => tracing::debug!("the index is not cached: {error}"),
        }
    }
}

/// Returns the digest of everything that determines the index of these tools.
fn key(overloads: &[&[&Tool]]) -> [u8; cache::DIGEST] {
    let mut hash = Sha256::new();
    let mut bytes = ANALYSIS_VERSION.to_le_bytes().to_vec();
    put_bytes(&mut bytes, env!("CARGO_PKG_VERSION").as_bytes());
    for tools in overloads {
        put_count(&mut bytes, tools.len());
        for tool in *tools {
            each_piece(tool, |field, piece| {
                bytes.push(field as u8);
                put_bytes(&mut bytes, piece.as_bytes());
            });
            // The end of a tool: no field has this number.
            bytes.push(u8::MAX);
        }
        if bytes.len() >= HASH_CHUNK_BYTES {
            hash.update(&bytes);
            bytes.clear();
        }
    }
    hash.update(&bytes);
    hash.finalize().into()
}
