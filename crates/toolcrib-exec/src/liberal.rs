//! The arguments of tools that forward calls, in whatever shape a model writes them.
//!
//! Models know `execute_tool` from other runtimes, each with its own names. The shapes that say the same are brought into
//! one here, before anything is judged, so that the gate and the engine see one and the same call. What could mean two
//! things is an error.

mod clamp;
mod nest;
mod target;

use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};
use toolcrib_model::{ErrorKind, JsonObject, Tool, ToolCall, ToolError};
use toolcrib_policy::RUNTIME_NAMESPACE;

pub(crate) use clamp::clamped;
pub(crate) use nest::nested;
pub(crate) use target::Target;

/// The argument that names the tool, and what else it is called. A later one also says that an earlier one may be an
/// argument of the tool itself.
const NAME_KEYS: [&str; 4] = ["name", "tool", "tool_name", "function"];

/// The argument that holds the tool's arguments, and what else it is called.
const PARAMS_KEYS: [&str; 5] = ["params", "arguments", "args", "parameters", "input"];

/// The argument that holds several calls, and what else it is called.
const CALLS_KEYS: [&str; 5] = ["calls", "tools", "tool_calls", "actions", "tasks"];

/// The most bytes of arguments that are given as JSON in a text.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// What a tool of the runtime forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forwards {
    /// One call, as `execute_tool`.
    Call,
    /// Several, as `run_parallel`.
    Calls,
}

impl Forwards {
    /// What a tool says under `forwards`; only the runtime's own are believed.
    pub(crate) fn of(tool: &Tool) -> Option<Self> {
        if tool.name.namespace() != RUNTIME_NAMESPACE {
            return None;
        }
        match tool.metadata.get("forwards")?.as_str()? {
            "call" => Some(Self::Call),
            "calls" => Some(Self::Calls),
            _ => None,
        }
    }

    /// The arguments in the one shape that the tool's schema has.
    pub(crate) fn normalise(self, arguments: JsonObject) -> Result<JsonObject, ToolError> {
        match self {
            Self::Call => one(arguments),
            Self::Calls => many(arguments),
        }
    }

    /// Returns the calls that are forwarded. One without a name or without arguments has empty ones.
    pub(crate) fn calls(self, arguments: JsonObject) -> Result<Vec<ToolCall>, ToolError> {
        let (arguments, none) = (self.normalise(arguments)?, JsonObject::new());
        Ok(match self {
            Self::Call => vec![forwarded(&arguments)],
            Self::Calls => {
                let calls = arguments.get("calls").and_then(Value::as_array).into_iter().flatten();
                calls.map(|call| call.as_object().map_or_else(|| forwarded(&none), forwarded)).collect()
            }
        })
    }
}

fn forwarded(call: &JsonObject) -> ToolCall {
    let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
    let params = call.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
    ToolCall::new(name, params)
}

/// `{name, params}`.
fn one(mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
    let params = take_params(&mut arguments)?;
    let Some(key) = name_key(&arguments, params.is_some())? else {
        return match params {
            // The whole call stands where its arguments should.
            Some(inner) if arguments.is_empty() && is_a_call(&inner) => one(inner),
            Some(params) => {
                arguments.insert("params".into(), params.into());
                Ok(arguments)
            }
            None => Ok(arguments),
        };
    };
    let name = arguments.shift_remove(key).unwrap_or_default();
    // Without a place for them, all others are the arguments of the tool. With one, what is left over is no part of a
    // call, and the schema says so.
    let (params, rest) = match params {
        Some(params) => (params, arguments),
        None => (arguments, JsonObject::new()),
    };
    let mut normal = JsonObject::from_iter([("name".to_owned(), name), ("params".to_owned(), params.into())]);
    normal.extend(rest);
    Ok(normal)
}

/// `{calls: [{name, params}]}`.
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

/// Whether this is a call rather than the arguments of one.
fn is_a_call(inner: &JsonObject) -> bool {
    let is_known = |key: &String| key == "name" || PARAMS_KEYS.contains(&key.as_str());
    inner.contains_key("tool_name")
        || inner.len() == 2 && inner.contains_key("name") && inner.keys().all(is_known)
}

/// The key that names the tool. Of two, the last is meant where the other can be an argument of the tool, since there is
/// no other place for those; else they must agree.
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

/// Takes the arguments of the tool out, also those that stand in a text.
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

/// The one of these keys that is there.
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

/// JSON in a text, as strictly as any other input: twice the same key is an error.
fn read(text: &str, key: &str) -> Result<Value, ToolError> {
    let limits = Limits { max_bytes: MAX_TEXT_BYTES, ..Limits::default() };
    parse(text.as_bytes(), Format::Json, &limits).map(|document| document.value).map_err(|error| {
        ToolError::new(ErrorKind::InvalidArgs, format!("`{key}` is a text that is not JSON: {error}"))
            .with_hint("give `params` as an object, not as a text")
    })
}

#[cfg(test)]
mod tests;
