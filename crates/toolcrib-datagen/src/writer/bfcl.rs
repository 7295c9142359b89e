//! The Berkeley Function-Calling Leaderboard: questions, and their possible answers.

use serde_json::{Map, Value, json};

use super::Rows;
use super::names::Names;
use super::schema_type::{json_type, without_overloads};
use super::xlam::first_turn;
use crate::conversation::{Call, Conversation, ConversationTool};
use crate::validate::tools::resolved;

/// The maximum depth of members and items that are written.
const MAX_DEPTH: usize = 8;

/// Renders the question and the possible answer of the first turn. Conversations without a call are questions of the
/// category `irrelevance`, which have no answer.
pub(super) fn rows(conversation: &Conversation, names: &Names) -> Rows {
    let Some((query, calls)) = first_turn(conversation) else { return Rows::default() };
    let tools = without_overloads(&conversation.tools, calls);
    let category = match (calls.len(), tools.len()) {
        (0, _) => "irrelevance",
        (1, 1) => "simple_python",
        (1, _) => "multiple",
        (_, 1) => "parallel",
        _ => "parallel_multiple",
    };
    // The category is the part before the last underscore.
    let id = format!("{category}_{}", conversation.id.replace('_', "-"));
    let functions: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({
                "name": names.of(&tool.name.to_string()),
                "description": tool.description,
                "parameters": parameters(&tool.parameters),
            })
        })
        .collect();
    let question = json!({
        "id": id,
        "question": [[{"role": "user", "content": query}]],
        "function": functions,
    });
    let truth: Vec<Value> = calls.iter().map(|call| truth(call, &tools, names)).collect();
    let second = if calls.is_empty() { Vec::new() } else { vec![json!({"id": id, "ground_truth": truth})] };
    Rows { main: vec![question], second }
}

/// Returns the accepted values of each argument. An optional argument that the call leaves out may be left out, or have
/// its default.
fn truth(call: &Call, tools: &[&ConversationTool], names: &Names) -> Value {
    let mut accepted = Map::new();
    for (name, value) in call.arguments.as_object().into_iter().flatten() {
        accepted.insert(name.clone(), json!([accepted_value(value)]));
    }
    let tool = tools.iter().find(|tool| tool.name.to_string() == call.name);
    let properties = tool.and_then(|tool| tool.parameters.get("properties")?.as_object());
    for (name, schema) in properties.into_iter().flatten() {
        if !accepted.contains_key(name) {
            let mut values = vec![json!("")];
            values.extend(schema.get("default").cloned());
            accepted.insert(name.clone(), values.into());
        }
    }
    json!({names.of(&call.name): accepted})
}

/// Returns a value as the checker compares it: each member of an object, or of an object in a list, has a list of
/// accepted values. The checker looks no deeper.
fn accepted_value(value: &Value) -> Value {
    let members = |value: &Value| match value {
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), json!([member]))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    };
    match value {
        Value::Array(items) => items.iter().map(members).collect(),
        value => members(value),
    }
}

/// Returns the schema of arguments in the form of the leaderboard, which has no references and needs `required`.
fn parameters(schema: &Value) -> Value {
    let required = schema.get("required").filter(|names| names.is_array()).cloned();
    json!({
        "type": "dict",
        "properties": properties(schema, resolved(schema, schema), 0),
        "required": required.unwrap_or_else(|| json!([])),
    })
}

fn properties(root: &Value, schema: &Value, depth: usize) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.map(|(name, schema)| (name.clone(), property(root, schema, depth + 1))).collect()
}

/// Returns the schema of a value: each has a type and a description. The types are those of the leaderboard: `dict` for
/// objects, `float` for numbers, and `any` for values of several types.
fn property(root: &Value, schema: &Value, depth: usize) -> Value {
    let schema = resolved(root, schema);
    let mut keywords = schema.as_object().cloned().unwrap_or_default();
    let (properties_of, items) = (keywords.remove("properties"), keywords.remove("items"));
    let name = match json_type(root, schema) {
        Some("object") => "dict",
        Some("number") => "float",
        Some(name @ ("string" | "integer" | "boolean" | "array")) => name,
        _ => "any",
    };
    keywords.insert("type".to_owned(), name.into());
    keywords.entry("description").or_insert_with(|| "".into());
    match name {
        "dict" if properties_of.is_some() && depth < MAX_DEPTH => {
            keywords.insert("properties".to_owned(), properties(root, schema, depth));
        }
        "array" if depth < MAX_DEPTH => {
            let items = items.as_ref().unwrap_or(&Value::Bool(true));
            keywords.insert("items".to_owned(), property(root, items, depth + 1));
        }
        "array" => {
            keywords.insert("items".to_owned(), json!({"type": "any"}));
        }
        _ => {}
    }
    keywords.into()
}
