//! The classification of characters by BERT, before words are split into tokens.

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

/// The class of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharacterClass {
    /// A part of a word.
    Letter,
    /// A separate token.
    Alone,
    /// The end of a word.
    Space,
    /// A character that is ignored.
    Nothing,
}

/// Returns the class of a character of a decomposed text, in which accents are separate characters and are ignored.
pub(super) fn class(c: char) -> CharacterClass {
    match c {
        '\t' | '\n' | '\r' | ' ' => CharacterClass::Space,
        '\0' | char::REPLACEMENT_CHARACTER => CharacterClass::Nothing,
        _ if c.is_ascii_alphanumeric() => CharacterClass::Letter,
        _ if c.is_ascii_punctuation() || is_ideograph(c) => CharacterClass::Alone,
        _ => {
            let category = CodePointMapData::<GeneralCategory>::new().get(c);
            match category {
                GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::PrivateUse
                | GeneralCategory::NonspacingMark => CharacterClass::Nothing,
                _ if c.is_whitespace() => CharacterClass::Space,
                _ if GeneralCategoryGroup::Punctuation.contains(category) => CharacterClass::Alone,
                _ => CharacterClass::Letter,
            }
        }
    }
}

/// Returns true for unified ideographs, each of which is a separate token. Kana and Hangul are excluded.
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
