//! A cache of vectors on disk, so that a model embeds each text only once.
//!
//! There is one file for each set of texts and model, named by the digests of both and replaced as a whole. A reader
//! finds a complete file or none, even after a crash or next to other writers, which would write the same content. The
//! file of the same set is mapped into memory. For another set, the vectors of the texts that it has in common with
//! earlier sets are copied from their files.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toolcrib_io::files::{map_bounded, replace};

use super::ContentHash;
use super::vector_set::VectorSet;
use crate::cache::{DIGEST, keep_newest, touch};

/// The most bytes of all cached sets other than the one that was written last. The least recently used sets are deleted.
pub const MAX_CACHE_BYTES: u64 = 512 << 20;

/// The most bytes of one set; a larger one is not cached. It holds 1,000,000 vectors of 384 numbers.
const MAX_SET_BYTES: u64 = 512 << 20;

/// The most sets that have a file. The least recently used file is deleted.
pub const MAX_CACHED_SETS: usize = 32;

const EXTENSION: &str = "vectors";

/// The length of a digest in the name of a file.
const NAME_CHARS: usize = 24;

/// The cache files of one model.
pub(crate) struct VectorCache {
    folder: PathBuf,
    /// The digest of the model, with which the names of its files begin.
    model: String,
    dimension: usize,
    max_bytes: u64,
}

/// Returns the name of a model, the digest of its id and dimension.
pub(super) fn model_name(model: &str, dimension: usize) -> String {
    name(&ContentHash::of(model, &[dimension.to_string()]))
}

/// Returns the name of the set of these texts and this model.
pub(super) fn set_name(model: &str, contents: &[ContentHash]) -> String {
    let mut hash = Sha256::new();
    for content in contents {
        hash.update(content.as_bytes());
    }
    let digest: [u8; DIGEST] = hash.finalize().into();
    format!("{model}-{}", name(&ContentHash::from_bytes(digest)))
}

impl VectorCache {
    /// Creates the cache of a model in a folder.
    pub(crate) fn new(folder: &Path, model: &str, dimension: usize) -> Self {
        let model = model_name(model, dimension);
        Self { folder: folder.to_owned(), model, dimension, max_bytes: MAX_CACHE_BYTES }
    }

    #[cfg(test)]
    pub(crate) fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Maps the set of these texts into memory. Returns `None` if it has no file, or a damaged one.
    pub(crate) fn open(&self, contents: &[ContentHash]) -> Option<VectorSet> {
        let file = self.file(contents);
        let set = self.read(&file).filter(|set| set.is_of(contents))?;
        touch(&file);
        Some(set)
    }

    /// Maps all sets of the model into memory. Damaged files are left out.
    pub(crate) fn open_all(&self) -> Vec<VectorSet> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok);
        let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(|path| self.is_file(path)).collect();
        // Sorted, so that the same files give the same vectors.
        files.sort();
        files.iter().filter_map(|file| self.read(file)).collect()
    }

    /// Writes a set, and maps its file into memory instead. If that fails, the set is returned as it is: the failure
    /// costs time at the next start, nothing else.
    pub(crate) fn write(&self, set: VectorSet) -> VectorSet {
        let contents: Vec<ContentHash> = set.contents().collect();
        let (file, bytes) = (self.file(&contents), set.encode());
        if bytes.len() as u64 > MAX_SET_BYTES {
            tracing::debug!(bytes = bytes.len(), most = MAX_SET_BYTES, "the vectors are not cached");
            return set;
        }
        if let Err(error) = replace(&file, &bytes) {
            tracing::debug!("the vectors are not cached: {error}");
            return set;
        }
        keep_newest(&file, EXTENSION, MAX_CACHED_SETS, self.max_bytes);
        self.read(&file).filter(|mapped| mapped.is_of(&contents)).unwrap_or(set)
    }

    fn read(&self, file: &Path) -> Option<VectorSet> {
        VectorSet::decode(&map_bounded(file, MAX_SET_BYTES).ok()?, self.dimension)
    }

    /// Returns the file of a set.
    fn file(&self, contents: &[ContentHash]) -> PathBuf {
        self.folder.join(set_name(&self.model, contents)).with_extension(EXTENSION)
    }

    /// Returns true if the name is that of a set of this model.
    fn is_file(&self, path: &Path) -> bool {
        let name = path.file_stem().and_then(|name| name.to_str());
        let set = name.and_then(|name| name.strip_prefix(&self.model)?.strip_prefix('-'));
        set.is_some() && path.extension().is_some_and(|extension| extension == EXTENSION)
    }
}

/// Returns the part of a digest that names a file.
fn name(digest: &ContentHash) -> String {
    let mut name = format!("{digest:?}");
    name.truncate(NAME_CHARS);
    name
}
