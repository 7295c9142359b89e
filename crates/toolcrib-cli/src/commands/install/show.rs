//! A change of a configuration as a person is shown it: the entry that goes and the one that comes. Nothing else changes.

use std::ops::Range;

use serde_json::{Map, Value};

use super::edit::Edit;
use crate::commands::entry_secrets::{in_arguments, parts as secrets_in};
use crate::ui::printable::{Layout, cut};

/// The most bytes of a line that are shown.
const MAX_LINE_BYTES: usize = 300;

/// The most lines of an entry that are shown. One has a few.
const MAX_LINES: usize = 100;

/// Keys of an entry whose values are secrets, or may be.
const SECRET_KEYS: [&str; 3] = ["env", "headers", "http_headers"];

/// The replacement of a secret.
const MASK: &str = "***";

/// Returns the lines of an entry, each after the sign, without secrets.
pub(super) fn lines(edit: Edit, name: &str, sign: char, entry: &Value) -> Vec<String> {
    let text = match masked(entry) {
        Value::Object(entry) => edit.rendered(name, &entry),
        // No client takes it for a server.
        other => other.to_string(),
    };
    let more = text.lines().count().saturating_sub(MAX_LINES);
    let lines = text.lines().take(MAX_LINES);
    let mut lines: Vec<String> =
        lines.map(|line| format!("  {sign} {}", cut(line, Layout::Lines, MAX_LINE_BYTES))).collect();
    if more > 0 {
        lines.push(format!("  {sign} … and {more} more lines"));
    }
    lines
}

fn masked(entry: &Value) -> Value {
    let Value::Object(entry) = entry else { return Value::from(MASK) };
    let masked = entry.iter().map(|(key, value)| {
        let value = match value {
            Value::Object(map) if SECRET_KEYS.contains(&key.as_str()) => {
                Value::Object(map.keys().map(|name| (name.clone(), MASK.into())).collect::<Map<_, _>>())
            }
            Value::Array(items) => masked_arguments(items),
            Value::String(text) => without(text, secrets_in(text)).into(),
            Value::Object(_) => Value::from(MASK),
            other => other.clone(),
        };
        (key.clone(), value)
    });
    Value::Object(masked.collect())
}

fn masked_arguments(items: &[Value]) -> Value {
    let texts: Vec<&str> = items.iter().map(|item| item.as_str().unwrap_or_default()).collect();
    let secrets = in_arguments(&texts);
    let masked = items.iter().enumerate().map(|(at, item)| match item {
        Value::String(text) => {
            let own = secrets.iter().filter(|(argument, _)| *argument == at);
            without(text, own.map(|(_, range)| range.clone()).collect()).into()
        }
        Value::Array(_) | Value::Object(_) => Value::from(MASK),
        other => other.clone(),
    });
    masked.collect()
}

/// Returns a text with the mask in the place of these parts.
fn without(text: &str, parts: Vec<Range<usize>>) -> String {
    let mut text = text.to_owned();
    for part in parts.into_iter().rev() {
        text.replace_range(part, MASK);
    }
    text
}
