//! Calls in JSON notation.

use serde_json::Value;
use toolcrib_model::JsonObject;
use toolcrib_model::text::{kind_of, truncate_bytes};

use super::call::{MAX_TEXT_CALLS, TextCall};
use super::cursor::{Cursor, Stop};
use super::names::ToolNames;
use crate::sanitize::cut;

/// The keys of the name of the tool, the usual one first.
const NAME_KEYS: [&str; 9] = [
    "name",
    "tool",
    "tool_name",
    "function_name",
    "toolName",
    "function",
    "action",
    "method",
    "recipient_name",
];

/// The keys of the arguments.
const ARGUMENT_KEYS: [&str; 11] = [
    "arguments",
    "parameters",
    "params",
    "args",
    "input",
    "tool_input",
    "action_input",
    "tool_args",
    "function_args",
    "kwargs",
    "inputs",
];

/// The keys of a whole call, or of a list of calls.
const ENVELOPE_KEYS: [&str; 6] =
    ["function", "function_call", "tool_call", "tool_calls", "function_calls", "tool_uses"];

/// The other keys of a call. An unmarked object with further keys is not a call.
const OTHER_KEYS: [&str; 7] = ["id", "call_id", "tool_call_id", "type", "index", "jsonrpc", "thought"];

/// The longest name of a tool, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 256;

/// The most bytes of a shared text that each call of a list has as its raw text.
const MAX_SHARED_RAW_BYTES: usize = 16 * 1024;

/// The deepest nesting of envelopes.
const MAX_ENVELOPES: usize = 3;

/// The most characters of the input that an error for the model quotes.
const MAX_REASON_CHARS: usize = 200;

/// The error for the model if a call breaks off.
pub(super) const BREAKS_OFF: &str = "the call breaks off: the message ended inside of it. Write the whole call again, with less in it if it was too long";

/// Returns the calls of a value that is intended as such: an object, or an array of objects.
pub(super) fn calls(value: Value, raw: &str, names: &ToolNames) -> Vec<TextCall> {
    marked(value, raw, names, 0)
}

fn marked(value: Value, raw: &str, names: &ToolNames, depth: usize) -> Vec<TextCall> {
    match value {
        // One more than the bound, to show that there are more.
        Value::Array(items) if !items.is_empty() && depth <= MAX_ENVELOPES => {
            // Each call has a copy of the text that all are read from.
            let raw = truncate_bytes(raw, MAX_SHARED_RAW_BYTES);
            let calls = items.into_iter().take(MAX_TEXT_CALLS + 1);
            calls.flat_map(|item| marked(item, raw, names, depth + 1)).take(MAX_TEXT_CALLS + 1).collect()
        }
        Value::Object(object) => match envelope(&object) {
            Some(key) if depth < MAX_ENVELOPES => {
                marked(object.get(key).cloned().unwrap_or_default(), raw, names, depth + 1)
            }
            _ => vec![call(object, raw, names)],
        },
        other => {
            let why =
                format!("a call must be a JSON object with `name` and `arguments`, not {}", kind_of(&other));
            vec![unreadable(String::new(), why, raw)]
        }
    }
}

/// Returns the key of the whole call.
fn envelope(object: &JsonObject) -> Option<&'static str> {
    let holds_calls =
        |key: &&str| object.get(*key).is_some_and(|value| value.is_object() || value.is_array());
    let is_bare = !object.get("name").is_some_and(Value::is_string);
    ENVELOPE_KEYS.into_iter().filter(|_| is_bare).find(holds_calls)
}

/// Returns the keys of a kind whose values satisfy a condition.
fn keys(object: &JsonObject, keys: &[&'static str], wanted: fn(&Value) -> bool) -> Vec<&'static str> {
    keys.iter().copied().filter(|key| object.get(*key).is_some_and(wanted)).collect()
}

fn call(mut object: JsonObject, raw: &str, names: &ToolNames) -> TextCall {
    let found = keys(&object, &NAME_KEYS, Value::is_string);
    let name = found.first().and_then(|key| object.get(*key)?.as_str()).unwrap_or_default();
    let name = names.strip(name).to_owned();
    if name.is_empty() {
        return match single(&object, names) {
            Some((name, value)) => TextCall { arguments: arguments(&name, value), name, raw: raw.to_owned() },
            None => unreadable(name, "the call has no `name`, the name of the tool as a text", raw),
        };
    }
    if name.len() > MAX_NAME_BYTES {
        let why = format!("the name of a tool has at most {MAX_NAME_BYTES} bytes");
        return unreadable(String::new(), why, raw);
    }
    match keys(&object, &ARGUMENT_KEYS, |_| true).as_slice() {
        [] => match object.keys().find(|key| !is_other_key(key)) {
            None => TextCall { name, arguments: Ok(JsonObject::new()), raw: raw.to_owned() },
            Some(key) => {
                let why =
                    format!("the call has no `arguments`; put `{}` into them", cut(key, MAX_REASON_CHARS));
                unreadable(name, why, raw)
            }
        },
        [key] => {
            let value = object.shift_remove(*key).unwrap_or_default();
            TextCall { name, arguments: arguments(key, value), raw: raw.to_owned() }
        }
        [one, other, ..] => {
            unreadable(name, format!("the call has arguments under `{one}` and under `{other}`"), raw)
        }
    }
}

/// Returns true if a key is one of a call other than its arguments.
fn is_other_key(key: &str) -> bool {
    OTHER_KEYS.contains(&key)
        || NAME_KEYS.contains(&key)
        || matches!(key, "reason" | "reasoning" | "description")
}

/// Returns the call of an object that has the name of the tool as its only key.
fn single(object: &JsonObject, names: &ToolNames) -> Option<(String, Value)> {
    let (key, value) = object.iter().next().filter(|_| object.len() == 1)?;
    (names.knows(key) && value.is_object()).then(|| (key.clone(), value.clone()))
}

/// Returns the arguments under a key: an object, a JSON text of one, or nothing.
pub(super) fn arguments(key: &str, value: Value) -> Result<JsonObject, String> {
    match value {
        Value::Object(arguments) => Ok(arguments),
        Value::Null => Ok(JsonObject::new()),
        Value::String(text) => {
            from_text(&text).map_err(|why| format!("`{key}` is a text that is not a JSON object: {why}"))
        }
        other => Err(format!("`{key}` must be a JSON object, not {}", kind_of(&other))),
    }
}

/// Parses arguments from a JSON text.
pub(super) fn from_text(text: &str) -> Result<JsonObject, String> {
    if text.trim().is_empty() {
        return Ok(JsonObject::new());
    }
    let mut cursor = Cursor::new(text, 0, true);
    match super::value::value(&mut cursor) {
        Ok(Value::Object(arguments)) if cursor.rest().trim().is_empty() => Ok(arguments),
        Ok(Value::Object(_)) => Err("something follows the object".to_owned()),
        Ok(other) => Err(format!("it is {}", kind_of(&other))),
        Err(Stop::Out) => Err("it breaks off".to_owned()),
        Err(Stop::No(why)) => Err(why.into_owned()),
    }
}

/// Returns true if a value contains only calls of known tools: each has a name and arguments, and no other keys.
pub(super) fn is_call(value: &Value, names: &ToolNames) -> bool {
    match value {
        Value::Array(items) => {
            !items.is_empty() && items.iter().all(|item| item.is_object() && is_call(item, names))
        }
        Value::Object(object) => match envelope(object) {
            Some(key) => {
                let is_rest_plain =
                    object.keys().all(|other| other == key || OTHER_KEYS.contains(&other.as_str()));
                is_rest_plain && object.get(key).is_some_and(|inner| is_call(inner, names))
            }
            None => is_plain_call(object, names),
        },
        _ => false,
    }
}

fn is_plain_call(object: &JsonObject, names: &ToolNames) -> bool {
    let found = keys(object, &NAME_KEYS, |_| true);
    let [name] = found.as_slice() else { return false };
    let is_known =
        object.get(*name).and_then(Value::as_str).is_some_and(|name| is_name(name) && names.knows(name));
    is_known
        && keys(object, &ARGUMENT_KEYS, |_| true).len() == 1
        && keys(object, &OTHER_KEYS, |_| true).len() + 2 == object.len()
}

/// Returns true if this key may be the first of an object that is a call.
pub(super) fn may_begin_call(key: &str) -> bool {
    [&NAME_KEYS[..], &ARGUMENT_KEYS, &ENVELOPE_KEYS, &OTHER_KEYS].iter().any(|keys| keys.contains(&key))
}

/// Creates a call that cannot be read.
pub(super) fn unreadable(name: String, why: impl Into<String>, raw: &str) -> TextCall {
    TextCall { name, arguments: Err(why.into()), raw: raw.to_owned() }
}

/// Returns the probable name of a call that cannot be read: the text after the first key for names.
pub(super) fn guess_name(text: &str) -> Option<&str> {
    let behind = |key: &str| {
        let at =
            text.find(key).filter(|at| text.get(..*at).is_some_and(|before| before.ends_with(is_mark)))?;
        let rest =
            text.get(at + key.len()..)?.trim_start_matches(is_mark).trim_start().strip_prefix([':', '='])?;
        let name = rest.trim_start().strip_prefix(is_mark)?;
        name.split(is_mark).next().filter(|name| is_name(name))
    };
    ["name", "tool", "tool_name"].into_iter().find_map(behind)
}

/// Returns true if a call that cannot be read has arguments.
pub(super) fn has_arguments(text: &str) -> bool {
    ARGUMENT_KEYS.iter().any(|key| {
        text.find(key).is_some_and(|at| text.get(..at).is_some_and(|before| before.ends_with(is_mark)))
    })
}

fn is_mark(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '”' | '‘' | '’')
}

/// Returns true if a text can be the name of a tool as models write it.
pub(super) fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len()) && !text.contains(char::is_whitespace)
}
