//! Edits of the texts of a result.

use serde_json::Value;
use toolcrib_model::{JsonObject, ToolResult};

/// The start of a text that holds binary data.
const DATA_URL: &str = "data:";

/// Replaces texts of a result wherever they are: in values and keys of the result and its metadata, and in its error. A
/// number counts as a text. `edit` returns the replacement of a text, or `None` to keep it. Images and audio in base64
/// are no texts. The recursion is as deep as the value nests, which the executor bounds.
pub(crate) fn edit_texts(result: &mut ToolResult, edit: &mut dyn FnMut(&str) -> Option<String>) {
    edit_value(&mut result.result, edit);
    if let Some(error) = &mut result.error {
        edit_text(&mut error.message, edit);
        if let Some(hint) = &mut error.hint {
            edit_text(hint, edit);
        }
    }
    edit_object(&mut result.metadata, edit);
}

fn edit_value(value: &mut Value, edit: &mut dyn FnMut(&str) -> Option<String>) {
    match value {
        Value::String(text) => edit_text(text, edit),
        Value::Number(number) => {
            if let Some(edited) = edit(&number.to_string()) {
                *value = edited.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| edit_value(item, edit)),
        Value::Object(map) => edit_object(map, edit),
        Value::Null | Value::Bool(_) => {}
    }
}

fn edit_object(map: &mut JsonObject, edit: &mut dyn FnMut(&str) -> Option<String>) {
    let is_media = map.contains_key("mimeType") && ["data", "blob"].iter().any(|key| map.contains_key(*key));
    for (key, value) in map.iter_mut() {
        if !(is_media && matches!(key.as_str(), "data" | "blob")) {
            edit_value(value, edit);
        }
    }
    if !map.keys().any(|key| edit(key).is_some()) {
        return;
    }
    for (key, value) in std::mem::take(map) {
        let mut shown = edit(&key).unwrap_or(key);
        // Two keys may differ only in what is removed.
        while map.contains_key(&shown) {
            shown.push('…');
        }
        map.insert(shown, value);
    }
}

fn edit_text(text: &mut String, edit: &mut dyn FnMut(&str) -> Option<String>) {
    if text.starts_with(DATA_URL) {
        return;
    }
    if let Some(edited) = edit(text) {
        *text = edited;
    }
}
