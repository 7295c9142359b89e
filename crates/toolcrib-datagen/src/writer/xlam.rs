//! xLAM: a query, its tools, and the calls that answer it.

use serde_json::{Map, Value, json};

use super::names::Names;
use super::schema_type::{json_type, without_overloads};
use crate::conversation::{Call, Conversation, ConversationTool, Message};

/// Renders the first message of the user with the calls that the assistant answers it with; none if it asks back.
/// Returns `None` if the user says nothing.
pub(super) fn row(conversation: &Conversation, names: &Names) -> Option<Value> {
    let (query, calls) = first_turn(conversation)?;
    let answers: Vec<Value> =
        calls.iter().map(|call| json!({"name": names.of(&call.name), "arguments": call.arguments})).collect();
    let tools = without_overloads(&conversation.tools, calls);
    let tools: Vec<Value> = tools.into_iter().map(|tool| description(tool, names)).collect();
    Some(json!({
        "id": conversation.id,
        "query": query,
        "tools": Value::from(tools).to_string(),
        "answers": Value::from(answers).to_string(),
    }))
}

/// Returns the first message of the user, and the calls of the next message of the assistant.
pub(super) fn first_turn(conversation: &Conversation) -> Option<(&str, &[Call])> {
    let mut messages = conversation.messages.iter();
    let query = messages.find_map(|message| match message {
        Message::User { content } => Some(content.as_str()),
        _ => None,
    })?;
    let calls = messages.find_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls.as_slice()),
        _ => None,
    });
    Some((query, calls.unwrap_or_default()))
}

fn description(tool: &ConversationTool, names: &Names) -> Value {
    let required: Vec<&str> = tool
        .parameters
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    let parameters: Map<String, Value> = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let mut parameter = Map::new();
            let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            parameter.insert("description".into(), text.into());
            parameter.insert(
                "type".into(),
                type_name(&tool.parameters, schema, required.contains(&name.as_str())).into(),
            );
            if let Some(default) = schema.get("default") {
                parameter.insert("default".into(), default.clone());
            }
            (name.clone(), parameter.into())
        })
        .collect();
    json!({
        "name": names.of(&tool.name.to_string()),
        "description": tool.description,
        "parameters": parameters,
    })
}

/// Returns the name of a type in Python, as the format has it.
fn type_name(root: &Value, schema: &Value, is_required: bool) -> String {
    let name = match json_type(root, schema) {
        Some("string") => "str",
        Some("integer") => "int",
        Some("number") => "float",
        Some("boolean") => "bool",
        Some("array") => "list",
        Some("object") => "dict",
        _ => "any",
    };
    if is_required { name.to_owned() } else { format!("{name}, optional") }
}
