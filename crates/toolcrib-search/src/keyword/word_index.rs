//! The index of the words of all tools, in memory and in the cache.

use crate::cache::ByteReader;
use crate::keyword::KeywordIndex;
use crate::keyword::vocabulary::Vocabulary;

/// The index of the words of all tools.
pub(crate) struct WordIndex {
    pub keyword: KeywordIndex,
    /// The words of names, titles, tags and aliases.
    pub vocabulary: Vocabulary,
}

impl WordIndex {
    /// Writes the index.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        self.vocabulary.encode(bytes);
        self.keyword.encode(bytes);
    }

    /// Reads an index that [`encode`](Self::encode) wrote. Returns `None` unless it has this many names.
    pub(crate) fn decode(reader: &mut ByteReader<'_>, names: usize) -> Option<Self> {
        let (vocabulary, keyword) = (Vocabulary::decode(reader)?, KeywordIndex::decode(reader, names)?);
        reader.rest.is_empty().then_some(Self { keyword, vocabulary })
    }
}
