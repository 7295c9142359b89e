//! Text formatting.

use toolcrib_model::QualifiedName;

/// Returns the display name of a tool, regardless of its spelling in a call.
pub(crate) fn shown_name(tool: &str) -> String {
    tool.parse::<QualifiedName>().map_or_else(|_| tool.to_owned(), |name| name.shown())
}

/// Truncates a text to a number of characters. A truncated text ends with `…`.
pub(crate) fn truncate_chars(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Truncates a text to a number of bytes. A truncated text ends with `…`.
pub(crate) fn truncate_bytes(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(bytes)).unwrap_or_default())
}
