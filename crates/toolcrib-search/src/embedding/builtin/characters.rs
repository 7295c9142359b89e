//! What BERT makes of single characters, before words are cut into tokens.

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

/// What a character is for the tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A part of a word.
    Letter,
    /// A token of its own.
    Alone,
    /// The end of a word.
    Space,
    /// Nothing: left out, as if it were not there.
    Nothing,
}

/// The kind of a character in a text without composed characters: accents stand for themselves, and are left out.
pub(super) fn kind(c: char) -> Kind {
    match c {
        '\t' | '\n' | '\r' | ' ' => Kind::Space,
        '\0' | char::REPLACEMENT_CHARACTER => Kind::Nothing,
        _ if c.is_ascii_alphanumeric() => Kind::Letter,
        _ if c.is_ascii_punctuation() || is_ideograph(c) => Kind::Alone,
        _ => {
            let category = CodePointMapData::<GeneralCategory>::new().get(c);
            match category {
                GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::PrivateUse
                | GeneralCategory::NonspacingMark => Kind::Nothing,
                _ if c.is_whitespace() => Kind::Space,
                _ if GeneralCategoryGroup::Punctuation.contains(category) => Kind::Alone,
                _ => Kind::Letter,
            }
        }
    }
}

/// Whether a character is one of the unified ideographs, which BERT takes apart. Kana and Hangul are not among them.
fn is_ideograph(c: char) -> bool {
    matches!(
        u32::from(c),
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x2_0000..=0x2_A6DF
            | 0x2_A700..=0x2_B73F
            | 0x2_B740..=0x2_B81F
            | 0x2_B920..=0x2_CEAF
            | 0xF900..=0xFAFF
            | 0x2_F800..=0x2_FA1F
    )
}
