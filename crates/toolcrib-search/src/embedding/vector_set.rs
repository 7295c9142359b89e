//! The vectors of one set of texts, in memory or mapped from their cache file.
//!
//! The file has a magic number, the dimension, the number of rows, the digest of the text of each row, the scale of each
//! row, and the quantized numbers of each row. Numbers are little-endian. It ends with the digest of all bytes before.

use bytes::Bytes;

use super::vector_index::{Row, VectorIndex};
use super::{ContentHash, MAX_DIMENSION};
use crate::cache::{ByteReader, append_digest, put_count, strip_digest};

/// The first bytes of a file: its type and the version of its format.
const MAGIC: &[u8; 8] = b"tcvecs02";

/// The vectors of a set of texts, in the order of the set.
#[derive(Clone)]
pub(crate) struct VectorSet {
    /// The digests of the texts, one after the other.
    contents: Bytes,
    index: VectorIndex,
}

impl VectorSet {
    /// Creates the set of these texts, each with its vector unless it has none.
    pub(crate) fn new<'a>(
        dimension: usize,
        contents: &[ContentHash],
        rows: impl ExactSizeIterator<Item = Option<Row<'a>>>,
    ) -> Self {
        let contents: Vec<u8> = contents.iter().flat_map(ContentHash::as_bytes).copied().collect();
        Self { contents: contents.into(), index: VectorIndex::new(dimension, rows) }
    }

    /// Returns the content of the file.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (bytes, scales) = self.index.parts();
        let mut file = MAGIC.to_vec();
        put_count(&mut file, self.index.dimension());
        put_count(&mut file, scales.len());
        file.extend_from_slice(&self.contents);
        file.extend(scales.iter().flat_map(|scale| scale.to_le_bytes()));
        file.extend_from_slice(bytes);
        append_digest(&mut file);
        file
    }

    /// Reads a file that [`encode`](Self::encode) wrote. The vectors stay there. Returns `None` if the file is damaged,
    /// or has another format or dimension.
    pub(crate) fn decode(file: &Bytes, dimension: usize) -> Option<Self> {
        let mut reader = ByteReader { rest: strip_digest(file)?.strip_prefix(MAGIC)? };
        (reader.count()? == dimension && dimension <= MAX_DIMENSION).then_some(())?;
        let rows = reader.count()?;
        let contents = reader.take(rows.checked_mul(ContentHash::BYTES)?)?;
        let (scales, _) = reader.take(rows.checked_mul(size_of::<f32>())?)?.as_chunks();
        let scales: Vec<f32> = scales.iter().map(|scale| f32::from_le_bytes(*scale)).collect();
        let is_valid = |scale: &f32| *scale == 0.0 || scale.is_normal() && *scale > 0.0;
        let bytes = reader.take(rows.checked_mul(dimension)?)?;
        (reader.rest.is_empty() && scales.iter().all(is_valid)).then_some(())?;
        let index = VectorIndex::from_parts(dimension, file.slice_ref(bytes), scales);
        Some(Self { contents: file.slice_ref(contents), index })
    }

    /// Returns true if this is the set of these texts, in this order.
    pub(crate) fn is_of(&self, contents: &[ContentHash]) -> bool {
        self.contents().eq(contents.iter().copied())
    }

    /// Returns the digests of the texts.
    pub(crate) fn contents(&self) -> impl Iterator<Item = ContentHash> {
        let (contents, _) = self.contents.as_chunks();
        contents.iter().map(|content| ContentHash::from_bytes(*content))
    }

    /// Returns the vectors.
    pub(crate) fn index(&self) -> &VectorIndex {
        &self.index
    }
}
