//! Texts that are cut.

/// The beginning of a text, at most so many characters of it; one that is cut ends with `…`.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
