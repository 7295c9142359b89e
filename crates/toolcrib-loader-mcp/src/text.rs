//! Making a server's words safe to show.

use toolcrib_model::is_invisible;

/// The most characters of a tool's description that a model sees. The longest in common servers have about 3,000.
pub const MAX_DESCRIPTION_CHARS: usize = 4_096;

/// The most characters of a tool's title.
pub const MAX_TITLE_CHARS: usize = 256;

/// The most characters of an error that a server reports. The rest of a stack trace helps no model.
pub const MAX_ERROR_CHARS: usize = 4_096;

/// The most characters of what a server says of how to use it.
pub const MAX_INSTRUCTIONS_CHARS: usize = 8_192;

/// The most characters of what a server says of its progress.
pub const MAX_PROGRESS_CHARS: usize = 256;

/// The most characters of a name of no use that is repeated.
pub(crate) const MAX_SHOWN_NAME_CHARS: usize = 80;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';
const CONTROL_SEQUENCE: char = '\u{9b}';

/// Takes out what shows nothing, moves the cursor, turns the direction of text or hides letters in tag characters, and
/// cuts the rest at `max_chars`. Line breaks and tabs stay.
pub(crate) fn clean(text: &str, max_chars: usize) -> String {
    let visible = without_escapes(text);
    let mut chars = visible.trim().chars();
    let mut cleaned: String = chars.by_ref().take(max_chars).collect();
    if chars.next().is_some() {
        cleaned.push('…');
    }
    cleaned
}

fn without_escapes(text: &str) -> String {
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
            '\n' | '\t' => out.push(c),
            _ if is_invisible(c) => {}
            _ => out.push(c),
        }
    }
    out
}

/// Up to the final byte of the sequence, as ECMA-48 has it.
fn skip_control_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Up to the bell or the string terminator; to the end of the line when neither comes.
fn skip_string_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
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
