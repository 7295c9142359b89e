//! The Berkeley Function-Calling Leaderboard: questions, and their possible answers.

use serde_json::{Map, Value, json};

use super::Rows;
use super::names::Names;
use super::xlam::first_turn;
use crate::conversation::{Call, Conversation};

/// Renders the question and the possible answer of the first turn. Conversations without a call are questions of the
/// category `irrelevance`, which have no answer.
pub(super) fn rows(conversation: &Conversation, names: &Names) -> Rows {
    let Some((query, calls)) = first_turn(conversation) else { return Rows::default() };
    let category = match (calls.len(), conversation.tools.len()) {
        (0, _) => "irrelevance",
        (1, 1) => "simple",
        (1, _) => "multiple",
        (_, 1) => "parallel",
        _ => "parallel_multiple",
    };
    let id = format!("{category}_{}", conversation.id);
    let functions: Vec<Value> = conversation
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": names.of(&tool.name.to_string()),
                "description": tool.description,
                "parameters": with_leaderboard_types(&tool.parameters),
            })
        })
        .collect();
    let question = json!({
        "id": id,
        "question": [[{"role": "user", "content": query}]],
        "function": functions,
    });
    let truth: Vec<Value> = calls.iter().map(|call| truth(call, conversation, names)).collect();
    let second = if calls.is_empty() { Vec::new() } else { vec![json!({"id": id, "ground_truth": truth})] };
    Rows { main: vec![question], second }
}

/// Returns the accepted values of each argument. An optional argument that the call leaves out may be left out, or have
/// its default.
fn truth(call: &Call, conversation: &Conversation, names: &Names) -> Value {
    let mut accepted = Map::new();
    for (name, value) in call.arguments.as_object().into_iter().flatten() {
        accepted.insert(name.clone(), json!([accepted_value(value)]));
    }
    let tool = conversation.tools.iter().find(|tool| tool.name.to_string() == call.name);
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

/// Returns a value as the checker compares it: each member of an object has a list of accepted values.
fn accepted_value(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), json!([accepted_value(member)])))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(accepted_value).collect(),
        leaf => leaf.clone(),
    }
}

/// Returns a schema with the names of types that the leaderboard uses: `dict` for objects, `float` for numbers.
fn with_leaderboard_types(schema: &Value) -> Value {
    match schema {
        Value::Object(keywords) => keywords
            .iter()
            .map(|(keyword, value)| {
                let value = match (keyword.as_str(), value.as_str()) {
                    ("type", Some("object")) => "dict".into(),
                    ("type", Some("number")) => "float".into(),
                    _ => with_leaderboard_types(value),
                };
                (keyword.clone(), value)
            })
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(values) => values.iter().map(with_leaderboard_types).collect(),
        other => other.clone(),
    }
}
