//! Normalization of the arguments of tools that forward calls.
//!
//! Models know `execute_tool` from other runtimes, with varying names of arguments. This module brings equivalent forms
//! into one before the policy decides, so that the policy and the engine see the same call. An ambiguous form is an
//! error.

mod clamped_numbers;
mod deferred_call;
mod nested_fields;

use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};
use toolcrib_model::tool::Forwarding;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError};

pub(crate) use clamped_numbers::clamp_numbers;
pub(crate) use deferred_call::normalize_deferred;
pub(crate) use nested_fields::nest_fields;

/// The names of the argument with the tool's name. A later one also means that an earlier one may be an argument of the
/// tool itself.
const NAME_KEYS: [&str; 4] = ["name", "tool", "tool_name", "function"];

/// The names of the argument with the tool's arguments.
const PARAMS_KEYS: [&str; 5] = ["params", "arguments", "args", "parameters", "input"];

/// The names of the argument with several calls.
const CALLS_KEYS: [&str; 5] = ["calls", "tools", "tool_calls", "actions", "tasks"];

/// The maximum size of arguments that are given as JSON in a string.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Returns the arguments of a tool that forwards calls, in the form of its schema.
pub(crate) fn normalize_forwarding(
    forwarding: Forwarding,
    arguments: JsonObject,
) -> Result<JsonObject, ToolError> {
    match forwarding {
        Forwarding::Call => one(arguments),
        Forwarding::Calls => many(arguments),
    }
}

/// Returns the calls that a tool forwards. A missing name or missing arguments are empty.
pub(crate) fn forwarded_calls(
    forwarding: Forwarding,
    arguments: JsonObject,
) -> Result<Vec<ToolCall>, ToolError> {
    let (arguments, none) = (normalize_forwarding(forwarding, arguments)?, JsonObject::new());
    Ok(match forwarding {
        Forwarding::Call => vec![forwarded(&arguments)],
        Forwarding::Calls => {
            let calls = arguments.get("calls").and_then(Value::as_array).into_iter().flatten();
            calls.map(|call| call.as_object().map_or_else(|| forwarded(&none), forwarded)).collect()
        }
    })
}

fn forwarded(call: &JsonObject) -> ToolCall {
    let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
    let params = call.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
    ToolCall::new(name, params)
}

/// Normalizes to `{name, params}`.
fn one(mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
    let params = take_params(&mut arguments)?;
    let Some(key) = name_key(&arguments, params.is_some())? else {
        return match params {
            // The whole call is given in the place of its arguments.
            Some(inner) if arguments.is_empty() && is_a_call(&inner) => one(inner),
            Some(params) => {
                arguments.insert("params".into(), params.into());
                Ok(arguments)
            }
            None => Ok(arguments),
        };
    };
    let name = arguments.shift_remove(key).unwrap_or_default();
    // Without an argument for them, all others are the arguments of the tool. With one, any others are not part of a
    // call, and the schema reports them.
    let (params, rest) = match params {
        Some(params) => (params, arguments),
        None => (arguments, JsonObject::new()),
    };
    let mut normal = JsonObject::from_iter([("name".to_owned(), name), ("params".to_owned(), params.into())]);
    normal.extend(rest);
    Ok(normal)
}

/// Normalizes to `{calls: [{name, params}]}`.
fn many(mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
    let Some(key) = only_key(&arguments, &CALLS_KEYS)? else { return Ok(arguments) };
    let calls = match arguments.shift_remove(key).unwrap_or_default() {
        Value::String(text) => read(&text, key)?,
        Value::Object(call) => Value::Array(vec![call.into()]),
        calls => calls,
    };
    let calls = match calls {
        Value::Array(calls) => calls
            .into_iter()
            .map(|call| match call {
                Value::Object(call) => one(call).map(Value::Object),
                other => Ok(other),
            })
            .collect::<Result<Vec<_>, _>>()?
            .into(),
        other => other,
    };
    arguments.insert("calls".into(), calls);
    Ok(arguments)
}

/// Returns true if an object is a call rather than the arguments of one.
fn is_a_call(inner: &JsonObject) -> bool {
    let is_known = |key: &String| key == "name" || PARAMS_KEYS.contains(&key.as_str());
    inner.contains_key("tool_name")
        || inner.len() == 2 && inner.contains_key("name") && inner.keys().all(is_known)
}

/// Returns the key with the tool's name. Of two, the last counts if the other can be an argument of the tool because
/// there is no other place for arguments; otherwise they must agree.
fn name_key(arguments: &JsonObject, has_params: bool) -> Result<Option<&'static str>, ToolError> {
    let given: Vec<&'static str> =
        NAME_KEYS.into_iter().filter(|key| arguments.get(*key).is_some_and(Value::is_string)).collect();
    match given.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        [first, .., last] => {
            if has_params || arguments.get(*first) == arguments.get(*last) {
                return Err(two_names(&given));
            }
            Ok(Some(last))
        }
    }
}

fn two_names(given: &[&str]) -> ToolError {
    let message = format!("the tool is named more than once, by {}", listed(given));
    ToolError::new(ErrorKind::InvalidArgs, message).with_hint("give `name` and `params`, and nothing else")
}

/// Removes and returns the arguments of the tool, also those given as a string.
fn take_params(arguments: &mut JsonObject) -> Result<Option<JsonObject>, ToolError> {
    let Some(key) = only_key(arguments, &PARAMS_KEYS)? else { return Ok(None) };
    match arguments.shift_remove(key) {
        Some(Value::Object(params)) => Ok(Some(params)),
        Some(Value::Null) | None => Ok(Some(JsonObject::new())),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Some(JsonObject::new())),
        Some(Value::String(text)) => match read(&text, key)? {
            Value::Object(params) => Ok(Some(params)),
            _ => Err(no_object(key)),
        },
        Some(_) => Err(no_object(key)),
    }
}

fn no_object(key: &str) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, format!("`{key}` must be a JSON object"))
        .with_hint("give the arguments of the tool as `params: {\"argument\": value}`")
}

/// Returns the key that is present, of several with the same meaning.
fn only_key(arguments: &JsonObject, keys: &[&'static str]) -> Result<Option<&'static str>, ToolError> {
    let given: Vec<&'static str> = keys.iter().copied().filter(|key| arguments.contains_key(*key)).collect();
    match given.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => {
            let message = format!("{} say the same, and only one of them can be meant", listed(several));
            Err(ToolError::new(ErrorKind::InvalidArgs, message)
                .with_hint("give `name` and `params`, and nothing else"))
        }
    }
}

fn listed(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ")
}

/// Parses JSON in a string as strictly as any other input: a duplicate key is an error.
fn read(text: &str, key: &str) -> Result<Value, ToolError> {
    let limits = Limits { max_bytes: MAX_TEXT_BYTES, ..Limits::default() };
    parse(text.as_bytes(), Format::Json, &limits).map(|document| document.value).map_err(|error| {
        ToolError::new(ErrorKind::InvalidArgs, format!("`{key}` is a text that is not JSON: {error}"))
            .with_hint("give `params` as an object, not as a text")
    })
}

#[cfg(test)]
mod tests;
