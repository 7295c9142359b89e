//! JSON inside of a text.
//!
//! Some servers parse a text argument that holds an object or a list, such as those that are made with the Python SDK of
//! MCP. What a rule forbids is forbidden in that form, too.

use std::borrow::Cow;

use serde_json::Value;
use toolcrib_model::text::string_end;

use super::MAX_DEPTH;

/// A text, as a server reads it that takes objects and lists out of texts.
#[derive(Debug, PartialEq)]
pub(super) enum Embedded {
    /// Nothing but a text.
    Text,
    /// An object or a list.
    Json(Value),
    /// A text that begins like JSON and is invalid.
    Malformed,
    /// More levels than are looked into.
    TooDeep,
}

/// Reads a text as Python's `json.loads` does, which is the most liberal parser in use: `NaN`, infinities, numbers beyond any
/// range and halves of surrogate pairs are values to it.
pub(super) fn embedded(text: &str) -> Embedded {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    if !text.starts_with(['{', '[']) {
        return Embedded::Text;
    }
    if let Ok(value) = serde_json::from_str(text) {
        return Embedded::Json(value);
    }
    let Some(relaxed) = relaxed(text) else { return Embedded::TooDeep };
    serde_json::from_str(&relaxed).map_or(Embedded::Malformed, Embedded::Json)
}

/// Replaces what strict parsers refuse and Python reads; `None` when the text is too deep.
fn relaxed(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut depth = 0_usize;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => 1 + string_end(rest.get(1..).unwrap_or_default()),
            '{' | '[' => {
                depth += 1;
                1
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                1
            }
            _ if is_of_word(first) => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        if depth >= MAX_DEPTH {
            return None;
        }
        let (token, after) = rest.split_at(length);
        match first {
            '"' => out.push_str(&whole_characters(token)),
            _ if is_of_word(first) && serde_json::from_str::<Value>(token).is_err() && is_value(token) => {
                out.push_str("null");
            }
            _ => out.push_str(token),
        }
        rest = after;
    }
    Some(out)
}

/// The bytes of an escape such as `\ud83d`.
const SURROGATE_BYTES: usize = 6;

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')
}

/// Returns true for a word that Python's JSON parser accepts as a value: the name of a number, or a number out of range.
fn is_value(word: &str) -> bool {
    matches!(word, "NaN" | "Infinity" | "-Infinity") || word.parse::<f64>().is_ok_and(f64::is_infinite)
}

/// Replaces the escapes of surrogates, which a strict parser refuses where they stand alone.
fn whole_characters(string: &str) -> Cow<'_, str> {
    if serde_json::from_str::<String>(string).is_ok() {
        return string.into();
    }
    let mut out = String::with_capacity(string.len());
    let mut rest = string;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let is_surrogate = escape.get(..4).is_some_and(|start| {
            let start = start.to_ascii_lowercase();
            ["\\ud8", "\\ud9", "\\uda", "\\udb", "\\udc", "\\udd", "\\ude", "\\udf"].contains(&&*start)
        });
        let (length, replacement) = if is_surrogate {
            (escape.len().min(SURROGATE_BYTES), Some("\\ufffd"))
        } else {
            (1 + escape.chars().nth(1).map_or(0, char::len_utf8), None)
        };
        let after = escape.get(length..);
        let escape = escape.get(..length).unwrap_or(escape);
        out.push_str(replacement.unwrap_or(escape));
        rest = after.unwrap_or_default();
    }
    out.push_str(rest);
    out.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Embedded, embedded};

    #[test]
    fn what_python_reads_as_an_object_or_a_list_is_read() {
        let cases = [
            (r#" {"force":true} "#, json!({"force": true})),
            ("[1]", json!([1])),
            (
                r#"{"force":true,"x":NaN,"y":[-Infinity,1e400]}"#,
                json!({"force": true, "x": null, "y": [null, null]}),
            ),
            (r#"{"force":true,"x":"\uD83d\n\\ud83d"}"#, json!({"force": true, "x": "\u{fffd}\n\\ud83d"})),
            (r#"{"force":false,"force":true}"#, json!({"force": true})),
        ];
        for (text, value) in cases {
            assert_eq!(embedded(text), Embedded::Json(value), "{text}");
        }
        for text in ["", "force", "\"{}\"", "1", "NaN", "see [1]"] {
            assert_eq!(embedded(text), Embedded::Text, "{text}");
        }
        for text in ["{{name}}", "[link](there)", "{'force': True}", "{\"a", "[\"\\ud8"] {
            assert_eq!(embedded(text), Embedded::Malformed, "{text}");
        }
        assert_eq!(embedded(&"[".repeat(1_000_000)), Embedded::TooDeep);
    }
}
