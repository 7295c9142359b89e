//! Conversion of a query text to the terms that are looked up.

pub(crate) mod clauses;

use toolcrib_model::text::truncate_bytes;

use crate::keyword::synonyms::Synonyms;
use crate::keyword::vocabulary::Vocabulary;
use crate::keyword::{KeywordIndex, MAX_QUERY_TERMS, QueryTerm};
use crate::settings::MAX_QUERY_BYTES;
use crate::text::{Analyzer, Gap, Word, is_stop, words};

/// The weight of a synonym relative to the word itself.
const SYNONYM_SHARE: f32 = 0.3;
/// The weight of a completed word relative to the word as written.
const PREFIX_SHARE: f32 = 0.6;
/// The weight of a corrected word relative to the word as written.
const FUZZY_SHARE: f32 = 0.6;

/// The most words of a query that form one phrase of an app's synonyms.
const MAX_PHRASE_WORDS: usize = 4;

/// A query, bounded and split into words.
pub(crate) struct Query<'a> {
    pub text: &'a str,
    pub words: Vec<Word>,
}

impl<'a> Query<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let text = truncate_bytes(text, MAX_QUERY_BYTES);
        Self { text, words: words(text) }
    }

    /// Returns the terms to look up, each once, at most [`MAX_QUERY_TERMS`].
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
            // A word that no tool contains may be incomplete or misspelled. A word that tools contain is taken
            // literally.
            if !index.contains(&term.text) {
                push(vocabulary.completions(&term.word), PREFIX_SHARE);
                push(vocabulary.corrections(&term.word), FUZZY_SHARE);
            }
            push(synonyms.of(&term.text), SYNONYM_SHARE);
            terms.push(QueryTerm { word: term.word, variants });
        }
        terms
    }

    /// Returns the query in the words of the tools: each word that no tool contains is replaced by a word of its
    /// synonym group that tools do contain. Returns `None` if there is no such word.
    ///
    /// An embedder does not know the terms that an app has for its things. The keyword retriever resolves them by the
    /// synonym group. The semantic retriever, and so the confidence, is given the reworded query.
    pub(crate) fn reworded(
        &self,
        analyzer: Analyzer,
        synonyms: &Synonyms,
        index: &KeywordIndex,
    ) -> Option<String> {
        if !synonyms.has_own() {
            return None;
        }
        let (mut text, mut copied, mut place) = (String::new(), 0, 0);
        while let Some(rest) = self.words.get(place..).filter(|rest| !rest.is_empty()) {
            // A longer query would be cut anyway.
            if text.len() > MAX_QUERY_BYTES {
                break;
            }
            let phrase = phrases(rest).find_map(|phrase| {
                let joined: String = phrase.iter().map(|word| word.text.as_str()).collect();
                let term = analyzer.stem(&joined);
                if index.contains(&term) {
                    return None;
                }
                let other =
                    synonyms.own(&term).find(|member| member.is_among(|term| index.contains(term)))?;
                Some((phrase, other))
            });
            let Some((phrase, other)) = phrase else {
                place += 1;
                continue;
            };
            if let Some((first, last)) = phrase.first().zip(phrase.last()) {
                text.push_str(self.text.get(copied..first.start).unwrap_or_default());
                text.push_str(&other.text);
                copied = last.end;
            }
            place += phrase.len();
        }
        if copied == 0 {
            return None;
        }
        text.push_str(self.text.get(copied..).unwrap_or_default());
        Some(text)
    }
}

/// Returns the phrases that `words` begins with, the longest first. A phrase does not span punctuation, and a stop word
/// alone is not a phrase.
fn phrases(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    let goes_on = |word: &&Word| matches!(word.gap, Gap::Fused | Gap::Compound | Gap::Spaced);
    let length = 1 + words.iter().skip(1).take(MAX_PHRASE_WORDS - 1).take_while(goes_on).count();
    let phrases = (1..=length).rev().filter_map(|length| words.get(..length));
    phrases.filter(|phrase| phrase.len() > 1 || phrase.iter().any(|word| !is_stop(word)))
}
