//! From the text of a query to what is looked up.

use crate::keyword::{KeywordIndex, MAX_QUERY_TERMS, QueryTerm};
use crate::synonyms::Synonyms;
use crate::text::{Analyzer, Gap, Word, is_stop, truncated, words};
use crate::vocabulary::Vocabulary;

/// The most bytes of a query that are read. Requests that people write stay below 2 KB.
pub const MAX_QUERY_BYTES: usize = 4 * 1024;

/// How much a synonym counts beside the word itself.
const SYNONYM_SHARE: f32 = 0.3;
/// How much a longer word counts beside the beginning that was written.
const PREFIX_SHARE: f32 = 0.6;
/// How much a word at one edit counts beside what was written.
const FUZZY_SHARE: f32 = 0.6;

/// The most words of a query that are one word of an app's synonyms.
const MAX_PHRASE_WORDS: usize = 4;

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
            // A word that no tool knows may be a part of one or a slip; one that is known means what it says.
            if !index.contains(&term.text) {
                push(vocabulary.completions(&term.word), PREFIX_SHARE);
                push(vocabulary.corrections(&term.word), FUZZY_SHARE);
            }
            push(synonyms.of(&term.text), SYNONYM_SHARE);
            terms.push(QueryTerm { word: term.word, variants });
        }
        terms
    }

    /// The query in the words of the tools: where no tool has a word, and a group of the app says which of theirs stands
    /// for it, that one. None where there is no such word.
    ///
    /// An embedder knows nothing of what an app calls its things. The keyword arm finds them by the group; to the arm of
    /// meaning, and so to the confidence, the query is one that uses the other word.
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
            // What is longer is cut anyway.
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

/// The phrases that words begin with, the longest first: no phrase goes across punctuation, and a word of asking is none.
fn phrases(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    let goes_on = |word: &&Word| matches!(word.gap, Gap::Fused | Gap::Compound | Gap::Spaced);
    let length = 1 + words.iter().skip(1).take(MAX_PHRASE_WORDS - 1).take_while(goes_on).count();
    let phrases = (1..=length).rev().filter_map(|length| words.get(..length));
    phrases.filter(|phrase| phrase.len() > 1 || phrase.iter().any(|word| !is_stop(word)))
}
