//! Normalization of the arguments of tools that make a call later.

use serde_json::Value;
use toolcrib_model::tool::DeferredCall;
use toolcrib_model::{JsonObject, ToolError};

use super::{NAME_KEYS, PARAMS_KEYS, only_key, read, take_params, two_names};

/// Returns the arguments of a tool that makes a call later, with the names of its schema.
pub(crate) fn normalize_deferred(
    call: &DeferredCall,
    mut arguments: JsonObject,
) -> Result<JsonObject, ToolError> {
    let Some(within) = call.within.as_deref() else { return renamed(call, arguments) };
    let inner = match arguments.get(within) {
        Some(Value::Object(inner)) => inner.clone(),
        Some(Value::String(text)) if text.trim_start().starts_with('{') => match read(text, within)? {
            Value::Object(inner) => inner,
            _ => return Ok(arguments),
        },
        _ => return Ok(arguments),
    };
    arguments.insert(within.to_owned(), renamed(call, inner)?.into());
    Ok(arguments)
}

fn renamed(call: &DeferredCall, mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
    let given: Vec<&str> =
        NAME_KEYS.into_iter().filter(|key| arguments.get(*key).is_some_and(Value::is_string)).collect();
    match given.as_slice() {
        [] => return Ok(arguments),
        [key] => {
            if let Some(name) = arguments.shift_remove(*key) {
                arguments.insert(call.name.clone(), name);
            }
        }
        several => return Err(two_names(several)),
    }
    if only_key(&arguments, &PARAMS_KEYS)?.is_some()
        && let Some(params) = take_params(&mut arguments)?
    {
        arguments.insert("params".to_owned(), params.into());
    }
    Ok(arguments)
}
