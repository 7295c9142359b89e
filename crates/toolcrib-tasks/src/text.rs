//! Texts as they are told.

use toolcrib_model::QualifiedName;

/// Returns the name of a tool as models read it, however a call named it.
pub(crate) fn shown_name(tool: &str) -> String {
    tool.parse::<QualifiedName>().map_or_else(|_| tool.to_owned(), |name| name.shown())
}

/// The beginning of a text, at most so many characters of it; one that is cut ends with `…`.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
