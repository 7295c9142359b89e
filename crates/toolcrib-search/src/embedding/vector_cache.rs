//! A cache of vectors on disk, so that a model embeds each text only once.
//!
//! There is one file for each model, replaced as a whole: a reader finds the old file or the new one, even after a
//! crash. Its last 32 bytes are the digest of all others; a file that does not match its digest is ignored. If two
//! processes write, the second one merges what the first one has written, unless both write at the same moment. Vectors
//! that are lost in this way are made again.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use toolcrib_io::files::{read_bounded, replace};

use super::vector_index::QuantizedVector;
use super::{ContentHash, MAX_DIMENSION};
use crate::cache::{DIGEST, append_digest, keep_newest, strip_digest};

/// The most bytes of the file of one model that vectors of other tools than the present ones may take up. The least
/// recently used vectors are dropped from a larger file. It holds 200,000 vectors of 256 numbers.
pub const MAX_CACHE_BYTES: usize = 64 << 20;

/// The most bytes of the file of one model. It holds 1,000,000 vectors of 384 numbers.
const MAX_LARGE_CACHE_BYTES: usize = 512 << 20;

/// The most models that have a file. The least recently written file is deleted.
pub const MAX_CACHED_MODELS: usize = 4;

/// The first bytes of a file: its type and the version of its format.
const MAGIC: &[u8; 8] = b"tcvecs01";

const EXTENSION: &str = "vectors";

/// The cache file of one model.
pub(crate) struct Cache {
    folder: PathBuf,
    file: PathBuf,
    dimension: usize,
    max_bytes: usize,
}

/// Vectors by content, the least recently used first.
pub(crate) type CachedVectors = Vec<(ContentHash, QuantizedVector)>;

impl Cache {
    /// Creates the cache of a model in a folder.
    pub(crate) fn new(folder: &Path, model: &str, dimension: usize) -> Self {
        let name = format!("{:?}", ContentHash::of(model, &[dimension.to_string()]));
        let file = folder.join(name.get(..24).unwrap_or(&name)).with_extension(EXTENSION);
        Self { folder: folder.to_owned(), file, dimension, max_bytes: MAX_CACHE_BYTES }
    }

    #[cfg(test)]
    pub(crate) fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Returns the vectors in the file. Returns none if the file is missing, damaged, or has another format.
    pub(crate) fn read(&self) -> CachedVectors {
        let rows =
            read_bounded(&self.file, MAX_LARGE_CACHE_BYTES as u64).ok().and_then(|bytes| self.rows(&bytes));
        rows.unwrap_or_default()
    }

    /// Merges vectors into the file and marks them as the most recently used.
    pub(crate) fn write(
        &self,
        used: &HashMap<ContentHash, QuantizedVector>,
    ) -> Result<(), toolcrib_io::Error> {
        let kept = self.read();
        let known: HashSet<&ContentHash> = kept.iter().map(|(content, _)| content).collect();
        let mut added: Vec<_> = used.iter().filter(|(content, _)| !known.contains(content)).collect();
        // Sorted, so that the same vectors make the same file.
        added.sort_by_key(|(content, _)| **content);
        let (touched, others): (Vec<_>, Vec<_>) = kept
            .iter()
            .map(|(content, row)| (content, row))
            .partition(|(content, _)| used.contains_key(content));
        let room = |bytes: usize| bytes.saturating_sub(MAGIC.len() + DIGEST) / self.record();
        let room = room(self.max_bytes).max(used.len()).min(room(MAX_LARGE_CACHE_BYTES));
        let rows: Vec<_> = others.into_iter().chain(touched).chain(added).collect();
        let dropped = rows.len().saturating_sub(room);
        let mut bytes = Vec::with_capacity(MAGIC.len() + DIGEST + (rows.len() - dropped) * self.record());
        bytes.extend_from_slice(MAGIC);
        for (content, row) in rows.into_iter().skip(dropped) {
            bytes.extend_from_slice(content.as_bytes());
            bytes.extend_from_slice(&row.scale.to_le_bytes());
            bytes.extend(row.bytes.iter().map(|byte| byte.cast_unsigned()));
        }
        append_digest(&mut bytes);
        replace(&self.file, &bytes)?;
        keep_newest(&self.folder, EXTENSION, &self.file, MAX_CACHED_MODELS);
        Ok(())
    }

    /// Returns the length of one vector in the file, in bytes.
    fn record(&self) -> usize {
        ContentHash::BYTES + size_of::<f32>() + self.dimension
    }

    fn rows(&self, bytes: &[u8]) -> Option<CachedVectors> {
        let records = strip_digest(bytes)?.strip_prefix(MAGIC)?.chunks_exact(self.record());
        if self.dimension > MAX_DIMENSION || !records.remainder().is_empty() {
            return None;
        }
        records.map(record).collect()
    }
}

fn record(bytes: &[u8]) -> Option<(ContentHash, QuantizedVector)> {
    let (content, rest) = bytes.split_first_chunk::<{ ContentHash::BYTES }>()?;
    let (scale, numbers) = rest.split_first_chunk::<{ size_of::<f32>() }>()?;
    let scale = Some(f32::from_le_bytes(*scale)).filter(|scale| scale.is_normal() && *scale > 0.0)?;
    let bytes = numbers.iter().map(|byte| byte.cast_signed()).collect();
    Some((ContentHash::from_bytes(*content), QuantizedVector { scale, bytes }))
}
