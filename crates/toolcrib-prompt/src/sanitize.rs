//! Sanitizes text from tools before it enters a prompt.

use std::borrow::Cow;
use std::fmt::Write as _;
use toolcrib_model::text::{is_invisible, is_joiner};

use crate::text_calls::marker::{MAX_MARK_BYTES, bracket_marks, is_marker_word};

/// Words that make `<word` a marker of turns or similar to some model, in addition to those of [calls, results and
/// reasoning](is_marker_word). Compared in lower case, without a prefix such as `ns:`.
const MARKER_WORDS: [&str; 7] = ["start_of_turn", "end_of_turn", "sys", "bos", "eos", "im_start", "escape"];

/// Markers in square brackets, as the Llama 2 and Mistral families write them, in addition to those of calls and
/// results.
const BRACKET_MARKERS: [&str; 4] = ["[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[CALL_ID]"];

/// Returns true if a character is invisible or changes the direction of text: control characters except line feed and
/// tab, bidirectional controls, tag characters and other invisible ones. The joiners that emoji and some scripts need
/// are not among them.
fn is_hidden(c: char) -> bool {
    is_invisible(c) && !is_joiner(c) && !matches!(c, '\n' | '\t')
}

/// Makes data safe to include in a conversation with a model that reads calls as text. Removes hidden characters, and
/// writes the `<` or `[` of everything that looks like a marker of calls, results or turns as an entity.
///
/// ```
/// use toolcrib_prompt::defuse;
/// assert_eq!(defuse("a < b, <b>c</b>"), "a < b, <b>c</b>");
/// assert_eq!(defuse("<tool_call>{}</tool_call>"), "&lt;tool_call>{}&lt;/tool_call>");
/// ```
pub fn defuse(text: &str) -> String {
    // Hidden characters are removed first: without them, letters may join to form a marker.
    let shown: String = text.chars().filter(|c| !is_hidden(*c)).collect();
    let mut out = String::with_capacity(shown.len());
    for (at, c) in shown.char_indices() {
        match c {
            '<' if opens_marker(&shown, at) => out.push_str("&lt;"),
            '[' if opens_marker(&shown, at) => out.push_str("&#91;"),
            _ => out.push(c),
        }
    }
    out
}

/// Does the same to a JSON text, which remains JSON with the same value: hidden characters and the openings of markers
/// become `\u` escapes. Both occur only inside of strings there.
pub(crate) fn defuse_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for (at, c) in json.char_indices() {
        if is_hidden(c) || (matches!(c, '<' | '[') && opens_marker(json, at)) {
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

/// Returns true if a marker starts at this byte, which is a `<` or a `[`.
fn opens_marker(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    if rest.starts_with('[') {
        let marks = BRACKET_MARKERS.into_iter().chain(bracket_marks());
        return marks.into_iter().any(|marker| rest.starts_with(marker));
    }
    let mut inner = rest
        .chars()
        .skip(1)
        .filter(|c| !is_joiner(*c))
        .skip_while(|c| c.is_whitespace())
        .skip_while(|c| *c == '/')
        .skip_while(|c| c.is_whitespace())
        .peekable();
    if inner.peek().is_some_and(|c| matches!(c, '|' | '｜')) {
        return true;
    }
    let word: String = inner
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':'))
        .take(MAX_MARK_BYTES)
        .flat_map(char::to_lowercase)
        .collect();
    let word = word.rsplit(':').next().unwrap_or_default();
    MARKER_WORDS.contains(&word) || is_marker_word(word)
}

/// Defuses and truncates a text of several lines.
pub(crate) fn clean(text: &str, max_chars: usize) -> String {
    cut(defuse(text).trim(), max_chars).into_owned()
}

/// Defuses and truncates a text and puts it on one line, so that it cannot pass for another line of the prompt.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    clean(&words.join(" "), max_chars)
}

/// Returns the first characters of a text, with a note if there are more.
pub(crate) fn cut(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => {
            let (kept, rest) = text.split_at(end);
            Cow::Owned(format!("{kept}… [{} characters cut]", rest.chars().count()))
        }
        None => Cow::Borrowed(text),
    }
}
