//! The `WordPiece` tokenizer of BERT's uncased models: it lowercases a text, drops accents, and separates punctuation and
//! ideographs. Then it splits each word into the longest token that the word begins with, and so on with the rest.
//!
//! (Devlin, Chang, Lee, Toutanova: "BERT: Pre-training of Deep Bidirectional Transformers", 2019.)

use icu_normalizer::DecomposingNormalizerBorrowed;
use toolcrib_model::text::truncate_bytes;

use super::character_class::{CharacterClass, class};
use super::table::{Table, TokenId};

/// The most tokens of one text that count. The teacher model of the table reads the same number.
pub const MAX_TEXT_TOKENS: usize = 256;

/// The most bytes of one text that are read: 64 for each token.
pub const MAX_TEXT_BYTES: usize = 64 * MAX_TEXT_TOKENS;

/// The most characters of one word. A longer word is unknown.
pub const MAX_WORD_CHARACTERS: usize = 100;

impl Table<'_> {
    /// Returns the tokens of a text, at most [`MAX_TEXT_TOKENS`] from its first [`MAX_TEXT_BYTES`]. Each word that has
    /// no tokens becomes one [unknown](TokenId::UNKNOWN) token.
    pub fn tokens(&self, text: &str) -> Vec<TokenId> {
        let text = truncate_bytes(text, MAX_TEXT_BYTES);
        let mut words = TokenizerState {
            table: self,
            word: String::new(),
            characters: 0,
            tokens: Vec::with_capacity(64),
        };
        if text.is_ascii() {
            words.read(text.chars());
        } else {
            words.read(DecomposingNormalizerBorrowed::new_nfd().normalize_iter(text.chars()));
        }
        words.tokens.truncate(MAX_TEXT_TOKENS);
        words.tokens
    }

    /// Returns the share of a text that is known, from 0 to 1. It counts tokens of two and more characters, relative to
    /// all tokens except punctuation, single letters and digits. Words that are split into characters, and ideographs,
    /// carry almost no information in the table. Returns 0 for a text without countable tokens.
    pub(super) fn coverage(&self, text: &str) -> f32 {
        let (mut known, mut all) = (0_u16, 0_u16);
        for token in self.tokens(text) {
            let text = self.text_of(token);
            let alone = text.len() == 1 && !self.continues(token);
            if !alone {
                all = all.saturating_add(1);
                let characters = text.iter().filter(|byte| byte.cast_signed() >= -0x40).count();
                known = known.saturating_add(u16::from(characters > 1));
            }
        }
        if all == 0 { 0.0 } else { f32::from(known) / f32::from(all) }
    }
}

/// The state of tokenizing a text.
struct TokenizerState<'t, 'a> {
    table: &'t Table<'a>,
    /// The word that is being read.
    word: String,
    /// The number of its characters, including those beyond the limit.
    characters: usize,
    tokens: Vec<TokenId>,
}

impl TokenizerState<'_, '_> {
    fn read(&mut self, characters: impl Iterator<Item = char>) {
        for c in characters {
            if self.tokens.len() >= MAX_TEXT_TOKENS {
                return;
            }
            match class(c) {
                CharacterClass::Letter => self.push(c),
                CharacterClass::Space => self.end(),
                CharacterClass::Alone => {
                    self.end();
                    self.push(c);
                    self.end();
                }
                CharacterClass::Nothing => {}
            }
        }
        self.end();
    }

    fn push(&mut self, c: char) {
        for c in c.to_lowercase() {
            self.characters += 1;
            if self.characters <= MAX_WORD_CHARACTERS {
                self.word.push(c);
            }
        }
    }

    /// Splits the word into tokens and begins the next one.
    fn end(&mut self) {
        if self.characters == 0 {
            return;
        }
        let first = self.tokens.len();
        let mut rest = if self.characters <= MAX_WORD_CHARACTERS { self.word.as_bytes() } else { &[] };
        let mut known = !rest.is_empty();
        while !rest.is_empty() {
            let continues = rest.len() < self.word.len();
            let longest = rest.len().min(self.table.longest());
            let found = (1..=longest).rev().find_map(|length| {
                let (piece, left) = rest.split_at_checked(length)?;
                Some((self.table.find(piece, continues)?, left))
            });
            let Some((token, left)) = found else {
                known = false;
                break;
            };
            self.tokens.push(token);
            rest = left;
        }
        if !known {
            self.tokens.truncate(first);
            self.tokens.push(TokenId::UNKNOWN);
        }
        self.word.clear();
        self.characters = 0;
    }
}
