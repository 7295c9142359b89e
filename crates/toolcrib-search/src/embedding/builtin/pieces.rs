//! The tokenizer of the multilingual table: words are cut into the longest pieces that the table has.
//!
//! Accents stay, since they distinguish words in most languages. Scripts that do not write spaces are cut at any
//! character, so their pieces have no form that continues a word.

use icu_normalizer::ComposingNormalizerBorrowed;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use toolcrib_model::text::{truncate_bytes, truncate_chars};

use super::table::{Table, TokenId};
use super::wordpiece::{MAX_TEXT_BYTES, MAX_TEXT_TOKENS, MAX_WORD_CHARACTERS};

/// The fewest bytes of a piece that carries a meaning: one ideograph or syllable, or two letters of most scripts.
const MIN_PIECE_BYTES: usize = 3;

impl Table<'_> {
    /// Returns the pieces of a text, at most [`MAX_TEXT_TOKENS`] from its first [`MAX_TEXT_BYTES`]. Characters that the
    /// table does not have become [unknown](TokenId::UNKNOWN) tokens.
    pub fn pieces(&self, text: &str) -> Vec<TokenId> {
        let mut pieces = Vec::new();
        each_word(text, |word, is_unspaced| self.cut(word, is_unspaced, &mut pieces));
        pieces.truncate(MAX_TEXT_TOKENS);
        pieces
    }

    /// Returns the words of a text that [`pieces`](Self::pieces) cuts, each with true if its script writes no spaces.
    pub fn words(text: &str) -> Vec<(String, bool)> {
        let mut words = Vec::new();
        each_word(text, |word, is_unspaced| words.push((word.to_owned(), is_unspaced)));
        words
    }

    /// Returns the share of these pieces that the table has, from 0 to 1. Pieces of one or two bytes are letters that
    /// carry almost nothing; they do not count. Returns 0 if none counts.
    pub(super) fn share_of_known_pieces(&self, pieces: &[TokenId]) -> f32 {
        let (mut known, mut all) = (0_u16, 0_u16);
        for piece in pieces {
            let is_known = self.text_of(*piece).len() >= MIN_PIECE_BYTES;
            known = known.saturating_add(u16::from(is_known));
            all = all.saturating_add(u16::from(is_known || *piece == TokenId::UNKNOWN));
        }
        if all == 0 { 0.0 } else { f32::from(known) / f32::from(all) }
    }

    /// Appends the pieces of one word.
    fn cut(&self, word: &str, is_unspaced: bool, pieces: &mut Vec<TokenId>) {
        let mut rest = truncate_chars(word, MAX_WORD_CHARACTERS).as_bytes();
        let whole = rest.len();
        while !rest.is_empty() && pieces.len() < MAX_TEXT_TOKENS {
            let continues = rest.len() < whole && !is_unspaced;
            let found = (1..=rest.len().min(self.longest())).rev().find_map(|length| {
                let (piece, left) = rest.split_at_checked(length)?;
                Some((self.find(piece, continues)?, left))
            });
            let (piece, left) = found.unwrap_or((TokenId::UNKNOWN, after_first_character(rest)));
            pieces.push(piece);
            rest = left;
        }
    }
}

/// Calls `found` with each word of a text in the form that pieces have, and with true if its script writes no spaces.
fn each_word(text: &str, mut found: impl FnMut(&str, bool)) {
    let text = truncate_bytes(text, MAX_TEXT_BYTES);
    let text = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
    let (mut word, mut is_unspaced) = (String::new(), false);
    for c in text.chars().flat_map(char::to_lowercase).chain([' ']) {
        if is_dropped(c) {
            continue;
        }
        let is_mark = is_mark(c);
        let ends = if is_mark { word.is_empty() } else { !c.is_alphanumeric() || unspaced(c) != is_unspaced };
        if ends && !word.is_empty() {
            found(&word, is_unspaced);
            word.clear();
        }
        if is_mark || c.is_alphanumeric() {
            is_unspaced = if is_mark { is_unspaced } else { unspaced(c) };
            word.push(c);
        }
    }
}

/// Returns the bytes behind the first character.
fn after_first_character(text: &[u8]) -> &[u8] {
    let length = 1 + text.iter().skip(1).take_while(|byte| byte.cast_signed() < -0x40).count();
    text.get(length..).unwrap_or_default()
}

/// Returns true for characters of scripts that do not write spaces: Thai, Myanmar, kana and ideographs.
fn unspaced(c: char) -> bool {
    matches!(
        c,
        '\u{e00}'..='\u{e7f}'
            | '\u{1000}'..='\u{109f}'
            | '々'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
    )
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && GeneralCategoryGroup::Mark.contains(CodePointMapData::<GeneralCategory>::new().get(c))
}

/// Returns true for characters that do not distinguish words: joiners, the Arabic tatweel, the dot that lowercasing
/// separates from the Turkish capital I, and the vowel points of Hebrew and Arabic.
fn is_dropped(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{640}' | '\u{307}')
        || (!c.is_ascii() && matches!(CanonicalCombiningClassMapBorrowed::new().get_u8(c), 10..=36))
}
