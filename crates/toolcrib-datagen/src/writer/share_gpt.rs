//! `ShareGPT` with the roles of tool calls.

use serde_json::{Value, json};

use super::messages::{text, tools};
use super::names::Names;
use crate::conversation::{Conversation, Message};

/// Renders a conversation. Roles alternate in this format: a message with calls is the calls alone, and the results of
/// one message stand in one observation.
pub(super) fn row(conversation: &Conversation, names: &Names) -> Value {
    let mut system = "";
    let mut turns: Vec<Value> = Vec::new();
    let mut results: Vec<&Value> = Vec::new();
    for message in &conversation.messages {
        if !matches!(message, Message::Tool { .. }) {
            turns.extend(observation(&std::mem::take(&mut results)));
        }
        match message {
            Message::System { content } => system = content,
            Message::User { content } => turns.push(json!({"from": "human", "value": content})),
            Message::Assistant { content, calls } if calls.is_empty() => {
                turns.push(json!({"from": "gpt", "value": content}));
            }
            Message::Assistant { calls, .. } => {
                let calls: Vec<Value> = calls
                    .iter()
                    .map(|call| json!({"name": names.of(&call.name), "arguments": call.arguments}))
                    .collect();
                let value = one_or_all(&calls);
                turns.push(json!({"from": "function_call", "value": value.to_string()}));
            }
            Message::Tool { content, .. } => results.push(content),
        }
    }
    turns.extend(observation(&results));
    let functions: Vec<Value> = tools(&conversation.tools, names)
        .into_iter()
        .filter_map(|mut tool| Some(tool.get_mut("function")?.take()))
        .collect();
    json!({"conversations": turns, "system": system, "tools": Value::from(functions).to_string()})
}

fn one_or_all(values: &[Value]) -> Value {
    match values {
        [one] => one.clone(),
        all => Value::from(all),
    }
}

fn observation(results: &[&Value]) -> Option<Value> {
    let value = match results {
        [] => return None,
        [one] => text(one),
        all => all.iter().map(|result| (*result).clone()).collect::<Value>().to_string(),
    };
    Some(json!({"from": "observation", "value": value}))
}
