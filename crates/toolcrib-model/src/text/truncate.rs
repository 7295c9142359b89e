//! Beginnings of texts, cut between characters.

use std::borrow::Cow;

/// Returns the beginning of a text of at most this number of bytes.
pub fn truncate_bytes(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// Returns the beginning of a text of at most this number of characters.
pub fn truncate_chars(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Returns the beginning of a text of at most this number of bytes, with `…` where the text is longer.
pub fn ellipsize_bytes(text: &str, bytes: usize) -> Cow<'_, str> {
    with_ellipsis(text, truncate_bytes(text, bytes))
}

/// Returns the beginning of a text of at most this number of characters, with `…` where the text is longer.
pub fn ellipsize_chars(text: &str, chars: usize) -> Cow<'_, str> {
    with_ellipsis(text, truncate_chars(text, chars))
}

fn with_ellipsis<'a>(text: &'a str, beginning: &str) -> Cow<'a, str> {
    if beginning.len() == text.len() { text.into() } else { format!("{beginning}…").into() }
}

#[cfg(test)]
mod tests {
    use super::{ellipsize_bytes, ellipsize_chars, truncate_bytes, truncate_chars};

    #[test]
    fn a_text_is_cut_between_characters() {
        for (bytes, expected) in [(0, ""), (2, "a"), (3, "aé"), (9, "aé")] {
            assert_eq!(truncate_bytes("aé", bytes), expected);
        }
        for (chars, expected) in [(0, ""), (1, "a"), (2, "aé"), (9, "aé")] {
            assert_eq!(truncate_chars("aé", chars), expected);
        }
    }

    #[test]
    fn only_a_text_that_was_cut_ends_with_an_ellipsis() {
        assert_eq!(ellipsize_bytes("aé", 3), "aé");
        assert_eq!(ellipsize_bytes("aé", 2), "a…");
        assert_eq!(ellipsize_chars("aé", 2), "aé");
        assert_eq!(ellipsize_chars("aé", 1), "a…");
        assert_eq!(ellipsize_chars("", 0), "");
    }
}
