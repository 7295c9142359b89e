//! Text analysis: conversion of text to the terms that are indexed and looked up. It is the same for tools and for
//! queries.

mod fold;
mod stop_words;
mod words;

#[cfg(test)]
mod tests;

use frostem::{Algorithm, Stemmer};

use stop_words::{is_stop_character, is_stop_word};
pub(crate) use words::{Gap, Word, words};

/// The most parts of a compound that is also indexed as one joined term: `get_weather` gives `getweather`.
const MAX_JOINED_PARTS: usize = 6;

/// A term and the folded word it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// The stemmed form, which is looked up.
    pub text: String,
    /// The folded form.
    pub word: String,
}

/// An analyzer that converts words to terms.
#[derive(Clone, Copy)]
pub(crate) struct Analyzer {
    stemmer: Stemmer,
}

impl Analyzer {
    pub(crate) fn new() -> Self {
        Self { stemmer: Stemmer::new(Algorithm::English) }
    }

    /// Returns the stem of a folded word.
    pub(crate) fn stem(self, word: &str) -> String {
        self.stemmer.stem(word).into_owned()
    }

    /// Returns the terms of a text in order, including repetitions.
    pub(crate) fn terms(self, text: &str) -> Vec<Term> {
        self.terms_of(&words(text))
    }

    /// Returns the terms of words; see [`each_term`].
    pub(crate) fn terms_of(self, words: &[Word]) -> Vec<Term> {
        let mut terms = Vec::with_capacity(words.len());
        each_term(words, |word, has_stem| {
            let text = if has_stem { self.stem(word) } else { word.to_owned() };
            terms.push(Term { text, word: word.to_owned() });
        });
        terms
    }
}

/// Calls `found` with the source of each term and whether it needs stemming. The sources are each word that is not a
/// stop word, each compound joined, and pairs of characters of unspaced scripts.
pub(crate) fn each_term(words: &[Word], mut found: impl FnMut(&str, bool)) {
    let mut compound = 0..0;
    let mut joined = String::new();
    let mut previous: Option<&Word> = None;
    for (place, word) in words.iter().enumerate() {
        let in_compound = !word.unspaced && matches!(word.gap, Gap::Fused | Gap::Compound);
        if !in_compound {
            join(words.get(compound), &mut joined, &mut found);
            compound = place..place;
        }
        if word.unspaced {
            compound = place + 1..place + 1;
            let pair = previous.filter(|previous| previous.unspaced && word.gap == Gap::Fused);
            if let Some(first) = pair.filter(|first| !(is_stop(first) && is_stop(word))) {
                joined.clear();
                joined.extend([first.text.as_str(), &word.text]);
                found(&joined, false);
            }
        } else {
            compound.end = place + 1;
        }
        if !is_stop(word) {
            found(&word.text, !word.unspaced);
        }
        previous = Some(word);
    }
    join(words.get(compound), &mut joined, &mut found);
}

/// Calls `found` with a compound as one word.
fn join(compound: Option<&[Word]>, joined: &mut String, found: &mut impl FnMut(&str, bool)) {
    let compound = compound.filter(|compound| (2..=MAX_JOINED_PARTS).contains(&compound.len()));
    if let Some(compound) = compound {
        joined.clear();
        joined.extend(compound.iter().map(|word| word.text.as_str()));
        found(joined, true);
    }
}

/// Returns the words of a name joined without separators, for comparing spellings.
pub(crate) fn compact(text: &str) -> String {
    words(text).into_iter().map(|word| word.text).collect()
}

/// Returns true if a folded word is a stop word.
pub(crate) fn is_stop(word: &Word) -> bool {
    if word.unspaced { is_stop_character(&word.text) } else { is_stop_word(&word.text) }
}
