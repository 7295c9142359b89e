//! The conversation in which a model simulates a tool.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_agent::Message;
use toolcrib_agent::chat::ResponseFormat;
use toolcrib_model::{JsonObject, Tool};
use toolcrib_policy::Call;
use toolcrib_schema::CompiledSchema;

use super::reply::{ERROR, RESULT, STATE};
use super::settings::SimulatedSettings;
use crate::session::RememberedCall;

/// The prompt for all tools.
const SYSTEM: &str = include_str!("system_prompt.md");

/// The prompt for tools with a state.
const STATEFUL: &str = include_str!("stateful_prompt.md");

/// The name of the schema of a reply.
const SCHEMA_NAME: &str = "tool_result";

/// Returns the system prompt and the messages for a call.
pub(super) fn conversation(
    settings: &SimulatedSettings,
    call: &Call,
    earlier: &[Arc<RememberedCall>],
    values: Option<&JsonObject>,
) -> (String, Vec<Message>) {
    let mut system = SYSTEM.trim_end().to_owned();
    if settings.stateful {
        system.push_str("\n\n");
        system.push_str(STATEFUL.trim_end());
    }
    let instructions = settings.instructions.trim();
    if !instructions.is_empty() {
        system.push_str("\n\n");
        system.push_str(instructions);
    }
    system.push_str("\n\nThe tool:\n");
    system.push_str(&definition(&call.tool).to_string());
    let mut messages = Vec::with_capacity(earlier.len() * 2 + 1);
    for example in earlier {
        messages.push(Message::user(json!({"arguments": example.arguments}).to_string()));
        messages.push(Message::assistant(example.reply.to_string()));
    }
    let mut request = JsonObject::new();
    request.insert("arguments".to_owned(), Value::Object(call.arguments.clone()));
    if let Some(values) = values {
        request.insert(STATE.to_owned(), Value::Object(values.clone()));
    }
    messages.push(Message::user(Value::Object(request).to_string()));
    (system, messages)
}

/// Returns the form of a reply, for servers that constrain what a model writes; `None` if the output schema refers to
/// itself in a way that a larger schema cannot contain.
pub(super) fn response_format(tool: &Tool, is_stateful: bool) -> Option<ResponseFormat> {
    let mut output = tool.output_parameters.to_value().into_owned();
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), "object".into());
    // References lead to the root.
    for definitions in ["$defs", "definitions"] {
        if let Some(moved) = output.as_object_mut().and_then(|output| output.shift_remove(definitions)) {
            schema.insert(definitions.to_owned(), moved);
        }
    }
    let mut properties = JsonObject::new();
    properties.insert(RESULT.to_owned(), output);
    properties.insert(ERROR.to_owned(), json!({"type": "string"}));
    if is_stateful {
        properties.insert(STATE.to_owned(), json!({"type": "object"}));
    }
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("additionalProperties".to_owned(), false.into());
    CompiledSchema::compile(&Value::Object(schema.clone())).ok()?;
    Some(ResponseFormat::JsonSchema { name: SCHEMA_NAME.to_owned(), schema, strict: None })
}

fn definition(tool: &Tool) -> Value {
    let mut definition = JsonObject::new();
    definition.insert("name".to_owned(), tool.name.to_string().into());
    definition.insert("description".to_owned(), tool.description.as_str().into());
    definition.insert("parameters".to_owned(), tool.parameters.to_value().into_owned());
    let output = tool.output_parameters.to_value();
    if output.as_object().is_none_or(|keywords| !keywords.is_empty()) {
        definition.insert("output_parameters".to_owned(), output.into_owned());
    }
    Value::Object(definition)
}
