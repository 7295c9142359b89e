//! Word segmentation: at white space and punctuation, inside `camelCase` and `snake_case`, between letters and digits,
//! and at each character if a script does not write spaces.

use toolcrib_model::text::truncate_chars;

use super::fold::{fold, is_mark};

/// The most characters of a word that are read. A longer one is an encoded blob, not a word.
const MAX_WORD_CHARS: usize = 64;

/// The separator between a word and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// No separator: a change of case, a boundary of letters and digits, or characters of an unspaced script.
    Fused,
    /// Underscores or a hyphen, which join the parts of a compound.
    Compound,
    /// Other punctuation without white space, as in `math.sqrt` and `files::read`.
    Linked,
    /// White space only.
    Spaced,
    /// Any other separator, and the start of the text. No phrase spans it.
    Break,
}

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The folded word.
    pub text: String,
    /// True if it is one character of a script that does not write spaces.
    pub unspaced: bool,
    /// The separator before it.
    pub gap: Gap,
    /// The offset of its first byte in the text.
    pub start: usize,
    /// The offset behind its last byte in the text.
    pub end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Unspaced,
}

/// Splits `text` into folded words.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, first)) = chars.next() {
        let Some(class) = class(first) else { continue };
        let mut end = start + first.len_utf8();
        let mut previous = class;
        while let Some(&(at, c)) = chars.peek() {
            let goes_on = is_mark(c)
                || (class != Class::Unspaced && apostrophe_inside(text, at, c))
                || self::class(c).is_some_and(|next| joins(previous, next, text, at));
            if !goes_on {
                break;
            }
            if let Some(next) = self::class(c) {
                previous = next;
            }
            end = at + c.len_utf8();
            chars.next();
        }
        let raw = text.get(start..end).unwrap_or_default();
        let bounded = truncate_chars(raw, MAX_WORD_CHARS);
        let folded = fold(without_elision(bounded));
        if folded.is_empty() {
            continue;
        }
        let gap = match words.last() {
            Some(last) => gap(text.get(last.end..start).unwrap_or_default()),
            None => Gap::Break,
        };
        words.push(Word { text: folded, unspaced: class == Class::Unspaced, gap, start, end });
    }
    words
}

/// Classifies the characters between two words.
fn gap(between: &str) -> Gap {
    if between.is_empty() {
        Gap::Fused
    } else if between == " " {
        Gap::Spaced
    } else if between == "-" || between.chars().all(|c| c == '_') {
        Gap::Compound
    } else if between.chars().all(char::is_whitespace) {
        if between.contains('\n') { Gap::Break } else { Gap::Spaced }
    } else if matches!(between, "." | "::" | ":" | "/" | "\\") {
        Gap::Linked
    } else {
        Gap::Break
    }
}

fn class(c: char) -> Option<Class> {
    if c.is_ascii() {
        return match c {
            'a'..='z' => Some(Class::Lower),
            'A'..='Z' => Some(Class::Upper),
            '0'..='9' => Some(Class::Digit),
            _ => None,
        };
    }
    if is_unspaced(c) {
        Some(Class::Unspaced)
    } else if c.is_numeric() {
        Some(Class::Digit)
    } else if c.is_uppercase() {
        Some(Class::Upper)
    } else if c.is_alphabetic() {
        Some(Class::Lower)
    } else {
        None
    }
}

/// Returns true if the character of class `next` at byte `at` continues the word that ends before it.
fn joins(previous: Class, next: Class, text: &str, at: usize) -> bool {
    match (previous, next) {
        (Class::Lower | Class::Upper, Class::Lower) | (Class::Digit, Class::Digit) => true,
        // `HTTPServer` is `HTTP` and `Server`; `userIDs` ends in the word `IDs`.
        (Class::Upper, Class::Upper) => {
            let mut rest = text.get(at..).unwrap_or_default().chars().skip(1);
            match rest.next().map(|c| (c, class(c))) {
                Some((c, Some(Class::Lower))) => {
                    c == 's' && rest.next().is_none_or(|c| class(c) != Some(Class::Lower))
                }
                _ => true,
            }
        }
        _ => false,
    }
}

fn apostrophe_inside(text: &str, at: usize, c: char) -> bool {
    matches!(c, '\'' | '’')
        && text
            .get(at + c.len_utf8()..)
            .and_then(|rest| rest.chars().next())
            .is_some_and(|c| matches!(class(c), Some(Class::Lower | Class::Upper)))
}

/// Removes an elision: `user's` → `user`, `l'adresse` → `adresse`. `don't` stays one word.
fn without_elision(word: &str) -> &str {
    match word.split_once(['\'', '’']) {
        Some((head, "s" | "S")) => head,
        Some((head, tail)) if matches!(head.len(), 1) && "lLdDjJnNsScCmMtT".contains(head) => tail,
        Some((head, tail)) if head.eq_ignore_ascii_case("qu") => tail,
        _ => word,
    }
}

/// Returns true for scripts that do not write spaces between words, and for Hangul, whose words include their
/// particles.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        // Thai, Lao, Myanmar, Khmer
        0x0E01..=0x0E3A | 0x0E40..=0x0E4E | 0x0E81..=0x0EDF | 0x1000..=0x103F | 0x1780..=0x17D3
        // kana, bopomofo, ideographs
        | 0x3005..=0x3007 | 0x3041..=0x312F | 0x31A0..=0x31BF | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9D | 0x20000..=0x323AF
        // Hangul
        | 0x1100..=0x11FF | 0x3131..=0x318E | 0xAC00..=0xD7A3)
        && c.is_alphanumeric()
}
