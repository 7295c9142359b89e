//! Refusals of the real API: requests that a scripted server would otherwise accept.

use std::collections::BTreeSet;

use serde_json::Value;

/// The longest name of a function, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Returns the reason why a request is invalid; `None` if it is valid.
pub(super) fn problem(request: &Value) -> Option<String> {
    if !request.get("model").is_some_and(Value::is_string) {
        return Some("`model` has to be a text".to_owned());
    }
    let messages = request.get("messages").and_then(Value::as_array)?;
    if messages.is_empty() {
        return Some("`messages` has to hold at least one".to_owned());
    }
    tools_problem(request).or_else(|| messages_problem(messages))
}

/// Checks that names are valid and unique.
fn tools_problem(request: &Value) -> Option<String> {
    let tools = request.get("tools")?.as_array()?;
    if tools.is_empty() {
        return Some("`tools` may be left out, but not be empty".to_owned());
    }
    let mut names = BTreeSet::new();
    tools.iter().find_map(|tool| {
        let name = tool.pointer("/function/name").and_then(Value::as_str).unwrap_or_default();
        if !is_name(name) {
            return Some(format!("{name:?} is no name of a function"));
        }
        if tool.pointer("/function/parameters/type").and_then(Value::as_str) != Some("object") {
            return Some(format!("the parameters of {name:?} have to be of type object"));
        }
        (!names.insert(name)).then(|| format!("there are two functions {name:?}"))
    })
}

/// Checks that each call has exactly one result, right after the message that made it.
fn messages_problem(messages: &[Value]) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        if role == "tool" {
            let id = message.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
            let Some(position) = open.iter().position(|call| *call == id) else {
                return Some(format!("the result {id:?} answers no call of the message before it"));
            };
            open.remove(position);
            continue;
        }
        if let Some(id) = open.first() {
            return Some(format!("the call {id:?} has no result"));
        }
        let calls = message.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for call in calls {
            let arguments = call.pointer("/function/arguments").and_then(Value::as_str);
            if arguments.is_none_or(|text| serde_json::from_str::<Value>(text).is_err()) {
                return Some("the arguments of a call have to be JSON in a text".to_owned());
            }
            if !is_name(call.pointer("/function/name").and_then(Value::as_str).unwrap_or_default()) {
                return Some("a call has no name of a function".to_owned());
            }
            open.push(call.get("id").and_then(Value::as_str).unwrap_or_default());
        }
    }
    open.first().map(|id| format!("the call {id:?} has no result"))
}

pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS && name.chars().all(is_plain)
}
