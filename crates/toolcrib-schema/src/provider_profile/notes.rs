//! Constraints that an API does not accept, described in words.

use serde_json::{Map, Value};

use crate::value_size::json_within;

/// The most bytes of one value that are told.
const MAX_VALUE_BYTES: usize = 120;

/// The most that is told of one part.
const MAX_NOTES: usize = 16;

/// The most bytes of all that is told of one part.
const MAX_NOTES_BYTES: usize = 500;

/// Keywords that say nothing to a model.
const SILENT: &[&str] = &[
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$ref",
    "$defs",
    "definitions",
    "$comment",
    "additionalProperties",
    "unevaluatedProperties",
    "title",
    "readOnly",
    "writeOnly",
    "deprecated",
    "nullable",
];

/// The constraints left out of a part.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<String>);

impl Notes {
    /// A keyword that is left out.
    pub(super) fn add(&mut self, keyword: &str, value: &Value) {
        if SILENT.contains(&keyword) || keyword.starts_with("x-") {
            return;
        }
        if json_within(value, MAX_VALUE_BYTES).is_ok() {
            self.say(format!("{keyword}: {value}"));
        }
    }

    /// A sentence about what is left out.
    pub(super) fn say(&mut self, note: String) {
        if self.0.len() < MAX_NOTES && !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    /// Puts what was left out behind the description.
    pub(super) fn put(self, part: &mut Map<String, Value>) {
        let mut text = String::new();
        for note in self.0 {
            if text.len() + note.len() < MAX_NOTES_BYTES {
                let separator = if text.is_empty() { "" } else { "; " };
                text = format!("{text}{separator}{note}");
            }
        }
        if text.is_empty() {
            return;
        }
        let described = part.get("description").and_then(Value::as_str).unwrap_or_default();
        let separator = if described.is_empty() { "" } else { " " };
        let description = format!("{described}{separator}({text})");
        part.insert("description".into(), description.into());
    }
}
