//! Text of models, servers and files, made fit to be shown on a terminal.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

/// What else than visible characters a text may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Nothing: a name or a value, which has to be seen as it is.
    Line,
    /// Line breaks and tabs, and the joiners that emoji and some scripts need: prose.
    Lines,
}

/// The text with every character that steers a terminal, turns the direction of text or shows nothing written as
/// `\u{…}`.
pub(crate) fn printable(text: &str, layout: Layout) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (layout, c) {
            (Layout::Lines, '\r') if chars.peek() == Some(&'\n') => {}
            (Layout::Lines, c) if matches!(c, '\n' | '\t') || is_joiner(c) => out.push(c),
            (_, c) if is_invisible(c) => out.extend(c.escape_unicode()),
            (_, c) => out.push(c),
        }
    }
    out
}

/// The beginning of a text as one line. Where there is more, its size in all is told.
pub(crate) fn excerpt(text: &str, max_bytes: usize) -> String {
    cut(text, Layout::Line, max_bytes)
}

/// The beginning of a printable text; where there is more, its size in all is told.
pub(crate) fn cut(text: &str, layout: Layout, max_bytes: usize) -> String {
    let (start, rest) = text.split_at(text.floor_char_boundary(max_bytes));
    let shown = printable(start, layout);
    if rest.is_empty() { shown } else { format!("{shown}… ({} bytes)", text.len()) }
}

/// The same JSON document with those characters as `\u` escapes. They stand only inside of strings there.
pub(crate) fn printable_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_invisible(c) && !is_joiner(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Control characters, C1 among them, and the format characters of Unicode that show nothing or turn the direction of
/// text: bidirectional controls, zero-width characters, fillers, tags.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5
            | 0x180B..=0x180F | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F
            | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
            | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

/// The zero-width joiners and the two presentation selectors in common use.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}' | '\u{FE0E}' | '\u{FE0F}')
}
