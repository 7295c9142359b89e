//! From the text of a query to what is looked up.

use crate::keyword::{KeywordIndex, MAX_QUERY_TERMS, QueryTerm};
use crate::synonyms::Synonyms;
use crate::text::{Analyzer, Word, truncated, words};
use crate::vocabulary::Vocabulary;

/// The most bytes of a query that are read. Requests that people write stay below 2 KB.
pub const MAX_QUERY_BYTES: usize = 4 * 1024;

/// How much a synonym counts beside the word itself.
const SYNONYM_SHARE: f32 = 0.3;
/// How much a longer name word counts beside the beginning that was written.
const PREFIX_SHARE: f32 = 0.6;
/// How much a name word at one edit counts beside what was written.
const FUZZY_SHARE: f32 = 0.6;

/// A query, bounded and cut into words.
pub(crate) struct Query<'a> {
    pub text: &'a str,
    pub words: Vec<Word>,
}

impl<'a> Query<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let text = truncated(text, MAX_QUERY_BYTES);
        Self { text, words: words(text) }
    }

    /// The terms to look up, each once, at most [`MAX_QUERY_TERMS`].
    pub(crate) fn terms(
        &self,
        analyzer: Analyzer,
        synonyms: &Synonyms,
        vocabulary: &Vocabulary,
        index: &KeywordIndex,
    ) -> Vec<QueryTerm> {
        let mut terms: Vec<QueryTerm> = Vec::new();
        for term in analyzer.terms_of(&self.words) {
            if terms.len() == MAX_QUERY_TERMS {
                break;
            }
            let is_new =
                terms.iter().all(|known| known.variants.first().is_none_or(|(text, _)| *text != term.text));
            if !is_new {
                continue;
            }
            let mut variants = vec![(term.text.clone(), 1.0)];
            let mut push = |found: Vec<&str>, share: f32| {
                for text in found {
                    if variants.iter().all(|(known, _)| known != text) {
                        variants.push((text.to_owned(), share));
                    }
                }
            };
            // A word that no tool knows may be a part of a name or a slip; one that is known means what it says.
            if !index.contains(&term.text) {
                push(vocabulary.completions(&term.word), PREFIX_SHARE);
                push(vocabulary.corrections(&term.word), FUZZY_SHARE);
            }
            push(synonyms.of(&term.text), SYNONYM_SHARE);
            terms.push(QueryTerm { word: term.word, variants });
        }
        terms
    }
}
