//! Text of models, servers and files, made fit to be shown on a terminal.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use toolcrib_model::text::{is_invisible, is_joiner};

/// The invisible characters that a text may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Nothing: a name or a value, which has to be seen as it is.
    Line,
    /// Line breaks and tabs, and the joiners that emoji and some scripts need: prose.
    Lines,
}

/// Returns the text with every character that steers a terminal, turns the direction of text or shows nothing written
/// as
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

/// Returns the beginning of a text as one line. Where there is more, its size in all is told.
pub(crate) fn excerpt(text: &str, max_bytes: usize) -> String {
    cut(text, Layout::Line, max_bytes)
}

/// Returns the beginning of a printable text; where there is more, its size in all is told.
pub(crate) fn cut(text: &str, layout: Layout, max_bytes: usize) -> String {
    let (start, rest) = text.split_at(text.floor_char_boundary(max_bytes));
    let shown = printable(start, layout);
    if rest.is_empty() { shown } else { format!("{shown}… ({} bytes)", text.len()) }
}

/// Returns the same JSON document with those characters as `\u` escapes. They stand only inside of strings there.
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
