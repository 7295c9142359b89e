//! The keyword retriever: an inverted index, scored with BM25F.
//!
//! BM25F adds the weighted frequencies of a term over the fields *before* they saturate. A word that occurs in the
//! name, the description and a parameter counts once, strongly, instead of three times (Robertson, Zaragoza, Taylor:
//! "Simple BM25 extension to multiple weighted fields", 2004).

pub(crate) mod builder;
mod documents;
mod inverted_index;
mod max_score;
pub(crate) mod synonyms;
#[cfg(test)]
mod tests;
pub(crate) mod vocabulary;
pub(crate) mod word_index;

pub use self::documents::{DocumentIndex, FoundDocument};
pub use self::inverted_index::MAX_TOOLS;

use bytes::Bytes;

use self::inverted_index::InvertedIndex;
use self::max_score::TermLists;
use crate::Field;
use crate::cache::{ByteReader, put_count};

const FIELDS: usize = Field::ALL.len();

/// The term saturation of BM25 (`k1`), chosen like the weights of the fields.
pub(crate) const SATURATION: f32 = 2.0;

/// A term of a query, with its variants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryTerm {
    /// The folded word of the query.
    pub word: String,
    /// The terms to look up, each with its share of the weight.
    pub variants: Vec<(String, f32)>,
}

/// The most terms of a query: one bit each in [`Candidate::terms`].
pub(crate) const MAX_QUERY_TERMS: usize = u64::BITS as usize;

/// The posting lists of all tools.
pub(crate) struct KeywordIndex {
    terms: InvertedIndex,
    /// The number of tools.
    tools: usize,
}

/// The weight of each term of a query: the fewer tools contain it, the higher.
pub(crate) type Weights = Vec<f32>;

/// A tool that matches a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub document: u32,
    pub score: f32,
    /// The matched terms of the query, one bit each.
    pub terms: u64,
    /// The matched fields, one bit each.
    pub fields: u8,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    /// Orders by score. The lower number, which is the earlier name, wins a tie.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.document.cmp(&self.document))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl KeywordIndex {
    fn new((terms, tools): (InvertedIndex, usize)) -> Self {
        Self { terms, tools }
    }

    /// Writes the index.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        put_count(bytes, self.tools);
        self.terms.encode(bytes);
    }

    /// Reads an index that [`encode`](Self::encode) wrote to `file`, where the posting lists stay. Returns `None` unless it has this many tools.
    pub(crate) fn decode(reader: &mut ByteReader<'_>, file: &Bytes, tools: usize) -> Option<Self> {
        (reader.count()? == tools).then_some(())?;
        Some(Self::new((InvertedIndex::decode(reader, file)?, tools)))
    }

    /// Returns the number of tools that contain a term.
    pub(crate) fn tools_with(&self, term: &str) -> usize {
        self.terms.postings(term).postings.len()
    }

    /// Returns true if any tool contains the term in any field.
    pub(crate) fn contains(&self, term: &str) -> bool {
        self.tools_with(term) > 0
    }

    /// Returns the visible tools that match the terms best, best first, and the weight of each term.
    pub(crate) fn search(
        &self,
        terms: &[QueryTerm],
        limit: usize,
        is_visible: impl Fn(u32) -> bool,
    ) -> (Vec<Candidate>, Weights) {
        let (mut lists, weights) = self.lists(terms);
        (max_score::best(&mut lists, limit, is_visible), weights)
    }

    /// Returns the score of each of these tools.
    pub(crate) fn scores(&self, terms: &[QueryTerm], mut documents: Vec<u32>) -> Vec<Candidate> {
        documents.sort_unstable();
        let (mut lists, _) = self.lists(terms);
        documents.into_iter().map(|document| max_score::score_of(&mut lists, document)).collect()
    }

    /// Looks up the terms.
    fn lists(&self, terms: &[QueryTerm]) -> (Vec<TermLists<'_>>, Weights) {
        let terms = terms.iter().take(MAX_QUERY_TERMS).enumerate().map(|(bit, term)| {
            let variants = term.variants.iter().map(|(text, share)| (self.terms.postings(text), *share));
            let variants: Vec<_> = variants.filter(|(list, _)| !list.postings.is_empty()).collect();
            // The rarity of a term is that of the word itself. Its synonyms count only if no tool contains the word.
            let idf = self.idf(variants.first().map_or(0, |(list, _)| list.postings.len()));
            (TermLists::new(&variants, idf, bit), idf)
        });
        terms.unzip()
    }

    /// Returns the weight of a term that `documents` tools contain (the IDF of BM25, which is never negative).
    fn idf(&self, documents: usize) -> f32 {
        let (all, with) = (as_f32(self.tools), as_f32(documents));
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of terms and tools, far below 2^24, or not worth the digits"
)]
fn as_f32(count: usize) -> f32 {
    count as f32
}
