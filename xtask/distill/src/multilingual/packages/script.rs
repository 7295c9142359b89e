//! Texts in quotation marks, and objects of them in JavaScript.

use anyhow::Result;
use regex::Regex;
use serde_json::{Map, Value};

/// A key and its text on a line.
const ENTRY: &str = r#"(?m)^\s*(?:'([^']+)'|"([^"]+)"|([\w$]+))\s*:\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)"#;

/// Returns the texts of all objects of a file by their keys; of several with the same key, the first.
pub(super) fn texts(file: &str) -> Result<Value> {
    let mut found = Map::new();
    for entry in Regex::new(ENTRY)?.captures_iter(file) {
        let group = |number: usize| entry.get(number).map(|group| group.as_str());
        let key = group(1).or(group(2)).or(group(3)).unwrap_or_default();
        let text = unquoted(group(4).unwrap_or_default());
        found.entry(key).or_insert_with(|| Value::String(text));
    }
    Ok(Value::Object(found))
}

/// Returns a text without its quotation marks and escapes.
pub(super) fn unquoted(quoted: &str) -> String {
    let mut characters = quoted.chars();
    let quote = characters.next();
    let mut text = String::new();
    while let Some(c) = characters.next().filter(|c| Some(*c) != quote) {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let digits = match characters.next() {
            Some('n' | 't' | 'r') => {
                text.push(' ');
                continue;
            }
            Some('u') => 4,
            Some('x') => 2,
            Some(other) => {
                text.push(other);
                continue;
            }
            None => break,
        };
        let code: String = characters.by_ref().take(digits).collect();
        text.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
    }
    text
}
