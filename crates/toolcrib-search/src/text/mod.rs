//! From text to the terms that are indexed and looked up; the same road for tools and for queries.

mod fold;
mod stop_words;
mod words;

#[cfg(test)]
mod tests;

use frostem::{Algorithm, Stemmer};

use stop_words::{is_stop_character, is_stop_word};
pub(crate) use words::{Gap, Word, words};

/// The most parts of a compound that are also indexed as one joined term: `get_weather` gives `getweather`.
const MAX_JOINED_PARTS: usize = 6;

/// A term, and the folded words it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// What is looked up: stemmed.
    pub text: String,
    /// What was written: folded only.
    pub word: String,
}

/// Makes terms of words.
#[derive(Clone, Copy)]
pub(crate) struct Analyzer {
    stemmer: Stemmer,
}

impl Analyzer {
    pub(crate) fn new() -> Self {
        Self { stemmer: Stemmer::new(Algorithm::English) }
    }

    /// The stem of a folded word.
    pub(crate) fn stem(self, word: &str) -> String {
        self.stemmer.stem(word).into_owned()
    }

    /// The terms of a text, in order, repeated as often as they occur.
    pub(crate) fn terms(self, text: &str) -> Vec<Term> {
        self.terms_of(&words(text))
    }

    /// The terms of words: see [`each_term`].
    pub(crate) fn terms_of(self, words: &[Word]) -> Vec<Term> {
        let mut terms = Vec::with_capacity(words.len());
        each_term(words, |word, has_stem| {
            let text = if has_stem { self.stem(word) } else { word.to_owned() };
            terms.push(Term { text, word: word.to_owned() });
        });
        terms
    }
}

/// Gives what the terms of words are made of, and whether it is to be stemmed: each word that is not a stop word, each
/// compound joined, and pairs of unspaced characters.
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

/// Gives a compound as one word.
fn join(compound: Option<&[Word]>, joined: &mut String, found: &mut impl FnMut(&str, bool)) {
    let compound = compound.filter(|compound| (2..=MAX_JOINED_PARTS).contains(&compound.len()));
    if let Some(compound) = compound {
        joined.clear();
        joined.extend(compound.iter().map(|word| word.text.as_str()));
        found(joined, true);
    }
}

/// Whether a folded word says nothing of what is looked for.
pub(crate) fn is_stop(word: &Word) -> bool {
    if word.unspaced { is_stop_character(&word.text) } else { is_stop_word(&word.text) }
}

/// At most `bytes` of a text, cut between characters.
pub(crate) fn truncated(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}
