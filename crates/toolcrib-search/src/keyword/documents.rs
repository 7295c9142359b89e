//! An index of documents, apart from tools.

use super::inverted_index::InvertedIndexBuilder;
use super::{KeywordIndex, MAX_QUERY_TERMS, QueryTerm};
use crate::Error;
use crate::query::Query;
use crate::text::Analyzer;
use crate::tool_text::ToolText;

/// Documents that are found by their words, with BM25 and English stems.
///
/// ```
/// use toolcrib_search::DocumentIndex;
///
/// let index = DocumentIndex::build(["Parcels to Oslo take two days.", "The desk is closed on Sundays."])?;
/// let found = index.search("How long does a parcel to Oslo take?", 5);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].number, 0);
/// assert!(found[0].relevance > 0.3);
/// # Ok::<(), toolcrib_search::Error>(())
/// ```
pub struct DocumentIndex {
    terms: KeywordIndex,
    analyzer: Analyzer,
}

/// A document that matches a query.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FoundDocument {
    /// The number of the document, from 0, in the order in which the index was built.
    pub number: usize,
    /// The share of the query that the document has, from 0 to 1: its score relative to that of a document of average
    /// length with each word of the query once, also of words that no document has.
    pub relevance: f64,
}

impl DocumentIndex {
    /// Builds the index. Of each text, the first 32 KiB count.
    ///
    /// # Errors
    ///
    /// Returns an error for more texts than an index holds.
    pub fn build<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, Error> {
        let analyzer = Analyzer::new();
        let mut terms = InvertedIndexBuilder::new(analyzer);
        for text in texts {
            terms.add(&ToolText::of_document(text))?;
        }
        Ok(Self { terms: KeywordIndex::new(terms.finish()), analyzer })
    }

    /// Returns the documents that match a query best, best first. Of the query, the first
    /// [`MAX_QUERY_BYTES`](crate::MAX_QUERY_BYTES) count.
    pub fn search(&self, query: &str, limit: usize) -> Vec<FoundDocument> {
        let mut terms: Vec<QueryTerm> = Vec::new();
        for term in self.analyzer.terms_of(&Query::new(query).words) {
            let is_known =
                terms.iter().any(|known| known.variants.iter().any(|(text, _)| *text == term.text));
            if !is_known && terms.len() < MAX_QUERY_TERMS {
                terms.push(QueryTerm { word: term.word, variants: vec![(term.text, 1.0)] });
            }
        }
        let (found, weights) = self.terms.search(&terms, limit, |_| true);
        let whole: f32 = weights.iter().sum();
        let found = found.into_iter().map(|candidate| FoundDocument {
            number: candidate.document as usize,
            relevance: f64::from(candidate.score / whole).min(1.0),
        });
        found.collect()
    }
}

impl std::fmt::Debug for DocumentIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocumentIndex").field("documents", &self.terms.tools).finish_non_exhaustive()
    }
}
