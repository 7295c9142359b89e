//! Texts of user interfaces as plain sentences, and pairs of a text and its translation.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use regex::Regex;

use super::language::ENGLISH;

/// The most bytes of an English text before it is cleaned.
const MAX_RAW_BYTES: usize = 900;

/// The most bytes of one side of a pair that is split into sentences.
const MAX_BYTES: usize = 1_200;

/// The most bytes of an English text that is not split.
const MAX_ENGLISH_BYTES: usize = 200;

/// What is no word of a person: markup, placeholders, links and code.
const NO_WORDS: &str = r"<[^>]*>|\{\{[^}]*\}\}|\{[^}]*\}|%\([^)]*\)[sdif]?|%[sdif]|\$t\([^)]*\)|\[%[^\]]*%\]|\[[^\]]*\]\([^)]*\)|https?://\S+|`[^`]*`|&[a-z]+;";

/// The ends of sentences behind which there is a space, and those of scripts that write none.
const ENDS_BEFORE_SPACE: [char; 5] = ['.', '!', '?', '।', '։'];
const ENDS: [char; 3] = ['。', '！', '？'];

/// A text in English and its translation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Translation {
    pub(crate) english: String,
    pub(crate) text: String,
    pub(crate) source: &'static str,
}

/// The pairs of each language, each of them once.
#[derive(Debug)]
pub(crate) struct Translations {
    no_words: Regex,
    pub(crate) of_languages: BTreeMap<&'static str, BTreeSet<Translation>>,
}

impl Translations {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { no_words: Regex::new(NO_WORDS)?, of_languages: BTreeMap::new() })
    }

    /// Adds a text and its translation, sentence by sentence if both have as many.
    pub(crate) fn add(&mut self, language: &'static str, source: &'static str, english: &str, text: &str) {
        let is_message_format = english.contains(", plural,") || english.contains(", select,");
        if language == ENGLISH || english.len() > MAX_RAW_BYTES || is_message_format {
            return;
        }
        let (english, text) = (self.clean(english), self.clean(text));
        if english.len().max(text.len()) > MAX_BYTES {
            return;
        }
        let (ours, theirs) = (sentences(&english), sentences(&text));
        if ours.len() == theirs.len() && ours.len() > 1 {
            for (english, text) in ours.into_iter().zip(theirs) {
                self.add_pair(language, source, english, text);
            }
        } else if english.len() < MAX_ENGLISH_BYTES {
            self.add_pair(language, source, &english, &text);
        }
    }

    /// Returns the number of pairs of a source.
    pub(crate) fn count_of(&self, source: &str) -> usize {
        self.of_languages.values().flatten().filter(|pair| pair.source == source).count()
    }

    fn add_pair(&mut self, language: &'static str, source: &'static str, english: &str, text: &str) {
        let letters = english.bytes().filter(u8::is_ascii_alphabetic).count();
        if letters < 2 || text.is_empty() || english.to_lowercase() == text.to_lowercase() {
            return;
        }
        let pair = Translation { english: english.to_owned(), text: text.to_owned(), source };
        self.of_languages.entry(language).or_default().insert(pair);
    }

    fn clean(&self, text: &str) -> String {
        let text = self.no_words.replace_all(text, " ");
        let is_gap = |c: char| {
            c.is_whitespace() || c.is_control() || matches!(c, '_' | '*' | '#' | '"' | '“' | '”' | '«' | '»')
        };
        text.split(is_gap).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// Splits a text behind the ends of its sentences.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut previous = None;
    for (place, c) in text.char_indices() {
        let ends = match previous {
            Some(previous) if c == ' ' => ENDS_BEFORE_SPACE.contains(&previous) || ENDS.contains(&previous),
            Some(previous) => ENDS.contains(&previous) && !ENDS.contains(&c),
            None => false,
        };
        if ends {
            found.extend(text.get(start..place));
            start = place;
        }
        previous = Some(c);
    }
    found.extend(text.get(start..));
    found.into_iter().map(str::trim).filter(|sentence| !sentence.is_empty()).collect()
}
