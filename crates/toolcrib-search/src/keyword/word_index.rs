//! The index of the words of all tools, in memory and in the cache.

use bytes::Bytes;

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

    /// Reads an index that [`encode`](Self::encode) wrote, from these bytes of `file`. Returns `None` unless it has this many names.
    pub(crate) fn decode(content: &[u8], file: &Bytes, names: usize) -> Option<Self> {
        let mut reader = ByteReader { rest: content };
        let vocabulary = Vocabulary::decode(&mut reader)?;
        let keyword = KeywordIndex::decode(&mut reader, file, names)?;
        reader.rest.is_empty().then_some(Self { keyword, vocabulary })
    }
}
