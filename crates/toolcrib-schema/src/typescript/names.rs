//! Names and literals of TypeScript.

use serde_json::Value;
use toolcrib_model::text::{is_invisible, truncate_chars, words_of_name};

/// The most characters of the name of a type, without its number.
const MAX_TYPE_NAME_CHARS: usize = 60;

/// Names of types that the language or the runtime of scripts has.
const TAKEN: [&str; 17] = [
    "Array", "Boolean", "Date", "Error", "Function", "Infinity", "JSON", "Map", "Math", "NaN", "Number",
    "Object", "Promise", "Record", "Set", "String", "Symbol",
];

/// Returns the name of a type for the last part of a JSON pointer: `io.k8s.v1.PodSpec` becomes `PodSpec`.
pub(super) fn type_name(text: &str) -> String {
    let last = text.rsplit(['.', '/']).find(|part| !part.is_empty()).unwrap_or_default();
    let name = |text: &str| -> String {
        let words = words_of_name(text).into_iter().map(|word| {
            let mut letters = word.chars().filter(char::is_ascii_alphanumeric);
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        });
        words.collect()
    };
    let name = truncate_chars(&name(last), MAX_TYPE_NAME_CHARS).to_owned();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("Type{name}");
    }
    if TAKEN.contains(&name.as_str()) { format!("{name}Type") } else { name }
}

/// Returns true for a name that needs no quotes as a property. Reserved words need none.
pub(super) fn is_identifier(name: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
    name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit())
}

/// Writes the name of a property.
pub(super) fn property(name: &str) -> String {
    if is_identifier(name) { name.to_owned() } else { quoted(name) }
}

/// Writes the name of a method.
pub(super) fn method(name: &str) -> String {
    // `new (…)` would declare what a constructor gives.
    if name == "new" { quoted(name) } else { property(name) }
}

/// Writes a string, in single quotes where it needs no escapes: declarations are part of JSON, which escapes double
/// quotes.
pub fn quoted(text: &str) -> String {
    if !text.contains(|c: char| c == '\'' || c == '\\' || c.is_control() || is_invisible(c)) {
        return format!("'{text}'");
    }
    let json = Value::from(text).to_string();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_invisible(c) {
            out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns a text for a comment: on one line, without hidden characters and the end of a comment.
pub(super) fn comment(text: &str) -> String {
    let shown: String = text.chars().filter(|c| !is_invisible(*c) || c.is_whitespace()).collect();
    toolcrib_model::text::fold_spaces(&shown).replace("*/", "*\\/")
}
