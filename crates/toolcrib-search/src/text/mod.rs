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

    /// The terms of words: each that is not a stop word, each compound joined, and pairs of unspaced characters.
    pub(crate) fn terms_of(self, words: &[Word]) -> Vec<Term> {
        let mut terms = Vec::with_capacity(words.len());
        let mut compound: Vec<&Word> = Vec::new();
        let mut previous: Option<&Word> = None;
        for word in words {
            let in_compound = !word.unspaced && matches!(word.gap, Gap::Fused | Gap::Compound);
            if !in_compound {
                self.push_joined(&compound, &mut terms);
                compound.clear();
            }
            if word.unspaced {
                let pair = previous.filter(|previous| previous.unspaced && word.gap == Gap::Fused);
                if let Some(first) = pair.filter(|first| !(is_stop(first) && is_stop(word))) {
                    let text = format!("{}{}", first.text, word.text);
                    terms.push(Term { word: text.clone(), text });
                }
                if !is_stop(word) {
                    terms.push(Term { text: word.text.clone(), word: word.text.clone() });
                }
            } else {
                compound.push(word);
                if !is_stop(word) {
                    terms.push(Term { text: self.stem(&word.text), word: word.text.clone() });
                }
            }
            previous = Some(word);
        }
        self.push_joined(&compound, &mut terms);
        terms
    }

    fn push_joined(self, compound: &[&Word], terms: &mut Vec<Term>) {
        if (2..=MAX_JOINED_PARTS).contains(&compound.len()) {
            let word: String = compound.iter().map(|word| word.text.as_str()).collect();
            terms.push(Term { text: self.stem(&word), word });
        }
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
