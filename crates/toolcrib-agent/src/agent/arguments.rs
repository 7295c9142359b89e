//! Reading the arguments of a call.

use serde_json::Value;
use toolcrib_document::StrictValue;
use toolcrib_model::text::truncate_chars;
use toolcrib_model::{ErrorKind, JsonObject, ToolError};

use crate::chat::ToolFunction;

/// The length of the excerpt of a model's text that an error repeats to it, in characters.
const MAX_EXCERPT_CHARS: usize = 200;

/// The longest schema that a hint shows, in bytes.
const MAX_HINT_SCHEMA_BYTES: usize = 2000;

/// Parses arguments as a model writes them through its API. An empty text means no arguments, and an object that was
/// encoded twice is decoded twice.
pub(super) fn parse(raw: &str) -> Result<JsonObject, String> {
    if raw.trim().is_empty() {
        return Ok(JsonObject::new());
    }
    match StrictValue::parse(raw) {
        Ok(StrictValue(Value::Object(arguments))) => Ok(arguments),
        Ok(StrictValue(Value::Null)) => Ok(JsonObject::new()),
        Ok(StrictValue(Value::String(inner))) => match StrictValue::parse(&inner) {
            Ok(StrictValue(Value::Object(arguments))) => Ok(arguments),
            _ => Err("its arguments are a JSON text, not an object".to_owned()),
        },
        Ok(_) => Err("its arguments are JSON, but not an object".to_owned()),
        Err(error) if error.is_data() => Err(format!("its arguments cannot be taken: {error}")),
        Err(error) => Err(format!("its arguments are not JSON: {error}")),
    }
}

/// Returns the error that a model reads whose call cannot be read.
pub(super) fn malformed(name: &str, problem: &str, raw: &str, tools: &[ToolFunction]) -> ToolError {
    let called =
        if name.is_empty() { "a call without a name".to_owned() } else { format!("the call of `{name}`") };
    let message = format!("{called} was not run: {problem}; received: {}", excerpt(raw));
    let schema = tools.iter().find(|tool| tool.name == name).map(|tool| tool.parameters.to_string());
    let hint = match schema.filter(|schema| schema.len() <= MAX_HINT_SCHEMA_BYTES) {
        Some(schema) => format!("call again with the arguments as one JSON object that fits {schema}"),
        None => {
            "call again with the name of a tool, and the arguments as one JSON object, such as {}".to_owned()
        }
    };
    ToolError::new(ErrorKind::MalformedCall, message).with_hint(hint)
}

fn excerpt(raw: &str) -> String {
    let kept = truncate_chars(raw, MAX_EXCERPT_CHARS);
    if kept.len() == raw.len() { raw.to_owned() } else { format!("{kept}… ({} bytes)", raw.len()) }
}
