//! Invisible characters.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';
const CONTROL_SEQUENCE: char = '\u{9b}';

/// Returns true for a control character, and for a Unicode format character that is invisible or changes the direction of
/// text: bidirectional controls, zero-width characters, fillers, tags. Such characters make different names look the same,
/// and let text from outside differ from its appearance.
///
/// ```
/// assert!(toolcrib_model::text::is_invisible('\u{200B}'));
/// assert!(!toolcrib_model::text::is_invisible('é'));
/// ```
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5
            | 0x180B..=0x180F | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F
            | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
            | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

/// Returns true for an [invisible](is_invisible) character that is legitimate in texts, though not in names: the zero-width
/// joiners, which Persian and emoji need, and the two presentation selectors.
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}' | '\u{FE0E}' | '\u{FE0F}')
}

/// Returns true for a character that hides something in a displayed text: an [invisible](is_invisible) one that is neither
/// a [joiner](is_joiner) nor white space.
///
/// ```
/// assert!(toolcrib_model::text::is_hidden('\u{202E}'));
/// assert!(!toolcrib_model::text::is_hidden('\n'));
/// ```
pub fn is_hidden(c: char) -> bool {
    is_invisible(c) && !is_joiner(c) && !matches!(c, '\n' | '\r' | '\t')
}

/// Returns the text without [hidden](is_hidden) characters and escape sequences of terminals; borrowed where it has none.
///
/// ```
/// assert_eq!(toolcrib_model::text::visible_text("to\u{202E}\u{1b}[31mol"), "tool");
/// ```
pub fn visible_text(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ESCAPE => match chars.next() {
                Some('[') => skip_control_sequence(&mut chars),
                // Operating system commands, device control and the other string sequences.
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string_sequence(&mut chars),
                _ => {}
            },
            CONTROL_SEQUENCE => skip_control_sequence(&mut chars),
            c if is_hidden(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns the text without invisible characters except line breaks and tabs, trimmed and cut at `max_chars`. It suits
/// names and errors, which are compared and quoted; joiners are removed as well.
///
/// ```
/// assert_eq!(toolcrib_model::text::clean_text(" to\u{200D}ols ", 3), "too…");
/// ```
pub fn clean_text(text: &str, max_chars: usize) -> String {
    let visible = visible_text(text);
    let mut chars = visible.trim().chars().filter(|c| !is_invisible(*c) || matches!(c, '\n' | '\t'));
    let mut cleaned: String = chars.by_ref().take(max_chars).collect();
    if chars.next().is_some() {
        cleaned.push('…');
    }
    cleaned
}

/// Skips up to the final byte of the sequence, as ECMA-48 defines it.
fn skip_control_sequence(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Skips up to the bell or the string terminator; to the end of the line if neither occurs.
fn skip_string_sequence(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            BELL => return,
            ESCAPE => {
                chars.next_if(|c| *c == '\\');
                return;
            }
            _ => {}
        }
    }
}
