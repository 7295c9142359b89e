//! Folding of words: lower case, no accents, one form for equivalent characters.

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// Folds one word, so that `Été`, `ÉTÉ` and `ete` are the same.
///
/// Compatibility forms (full-width letters, ligatures) become plain characters. Marks that belong to the letters of
/// their script (Devanagari virama, Thai tones, kana voicing) are kept.
pub(crate) fn fold(word: &str) -> String {
    if word.is_ascii() {
        let mut plain = String::with_capacity(word.len());
        plain.extend(word.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()));
        return plain;
    }
    let mut plain = String::with_capacity(word.len());
    for c in
        DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(word.chars()).flat_map(char::to_lowercase)
    {
        match c {
            'ß' => plain.push_str("ss"),
            'æ' => plain.push_str("ae"),
            'œ' => plain.push_str("oe"),
            'ø' => plain.push('o'),
            'ł' => plain.push('l'),
            'đ' | 'ð' => plain.push('d'),
            'þ' => plain.push_str("th"),
            'ı' => plain.push('i'),
            _ if is_accent(c) => {}
            _ if c.is_alphanumeric() || is_mark(c) => plain.push(c),
            _ => {}
        }
    }
    ComposingNormalizerBorrowed::new_nfc().normalize(&plain).into_owned()
}

/// Returns true if the character modifies the one before it, so that it never begins or ends a word.
pub(crate) fn is_mark(c: char) -> bool {
    // The voicing marks of half-width kana become combining marks only when they are folded.
    !c.is_ascii() && (combining_class(c) != 0 || matches!(c, '\u{FF9E}' | '\u{FF9F}'))
}

/// Returns true for marks that can be dropped without changing the letter: the accents of Latin, Greek and Cyrillic
/// (classes from 200 on) and the vowel points of Hebrew and Arabic (10 to 36). The classes are those of Unicode's
/// `DerivedCombiningClass.txt`.
fn is_accent(c: char) -> bool {
    matches!(combining_class(c), 10..=36 | 200..)
}

fn combining_class(c: char) -> u8 {
    CanonicalCombiningClassMapBorrowed::new().get_u8(c)
}
