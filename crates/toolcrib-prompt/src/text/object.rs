//! A JSON value as a call.

use serde_json::Value;
use toolcrib_document::StrictValue;
use toolcrib_model::JsonObject;

use super::{MAX_TEXT_CALLS, TextCall};
use crate::clean::cut;

/// Keys that the name of the tool stands under.
pub(super) const NAME_KEYS: [&str; 2] = ["name", "tool"];

/// Keys that the arguments stand under.
pub(super) const ARGUMENT_KEYS: [&str; 4] = ["arguments", "parameters", "params", "args"];

/// The longest name that is made out in a call that is not JSON, in bytes.
const MAX_GUESSED_NAME_BYTES: usize = 256;

/// The most characters of the parser's words that a model is given.
const MAX_REASON_CHARS: usize = 200;

/// The calls that a value stands for, which is known to be meant as one: an object, or an array of them.
pub(super) fn calls(value: Value, raw: &str) -> Vec<TextCall> {
    match value {
        // One more than are read, to show that there are more; each has its own copy of the raw text.
        Value::Array(items) if !items.is_empty() => {
            items.into_iter().take(MAX_TEXT_CALLS + 1).map(|item| call(item, raw)).collect()
        }
        value => vec![call(value, raw)],
    }
}

fn call(value: Value, raw: &str) -> TextCall {
    let Value::Object(mut object) = value else {
        let why = format!("a call must be a JSON object with `name` and `arguments`, not {}", kind(&value));
        return unreadable(String::new(), why, raw);
    };
    let name =
        NAME_KEYS.iter().find_map(|key| object.get(*key).and_then(Value::as_str)).unwrap_or_default().trim();
    let name = name.to_owned();
    if name.is_empty() {
        return unreadable(name, "the call has no `name`, the name of the tool as a text", raw);
    }
    let found = ARGUMENT_KEYS.iter().find_map(|key| object.shift_remove(*key).map(|value| (*key, value)));
    let arguments = found.map_or_else(|| Ok(JsonObject::new()), |(key, value)| arguments(key, value));
    TextCall { name, arguments, raw: raw.to_owned() }
}

/// The arguments that stand under a key: an object, a JSON text of one, or nothing.
fn arguments(key: &str, value: Value) -> Result<JsonObject, String> {
    match value {
        Value::Object(arguments) => Ok(arguments),
        Value::Null => Ok(JsonObject::new()),
        Value::String(text) if text.trim().is_empty() => Ok(JsonObject::new()),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(StrictValue(Value::Object(arguments))) => Ok(arguments),
            Ok(StrictValue(other)) => {
                Err(format!("`{key}` is a text that is not a JSON object: it is {}", kind(&other)))
            }
            Err(error) => Err(format!("`{key}` is a text that is not a JSON object: {}", reason(&error))),
        },
        other => Err(format!("`{key}` must be a JSON object, not {}", kind(&other))),
    }
}

/// A call of which no more is known than that it is one.
pub(super) fn unreadable(name: String, why: impl Into<String>, raw: &str) -> TextCall {
    TextCall { name, arguments: Err(why.into()), raw: raw.to_owned() }
}

/// The name that seems to be meant in a call that is not JSON: the text behind the first key for names.
pub(super) fn guess_name(text: &str) -> Option<&str> {
    let (_, rest) = NAME_KEYS.iter().find_map(|key| text.split_once(&format!("\"{key}\"")))?;
    let (name, _) = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?.split_once('"')?;
    is_name(name).then_some(name)
}

/// Whether a text can be the name of a tool as models write it.
pub(super) fn is_name(text: &str) -> bool {
    (1..=MAX_GUESSED_NAME_BYTES).contains(&text.len()) && !text.contains(char::is_whitespace)
}

/// What is wrong with a JSON text. The parser's words can quote it, so they are cut.
pub(super) fn reason(error: &serde_json::Error) -> String {
    cut(&error.to_string(), MAX_REASON_CHARS).into_owned()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
