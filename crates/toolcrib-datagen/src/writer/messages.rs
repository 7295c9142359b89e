//! Messages of the Chat Completions API, alone and as preference pairs.

use serde_json::{Value, json};

use super::names::Names;
use crate::conversation::{Conversation, ConversationTool, Message};

pub(super) fn row(conversation: &Conversation, names: &Names) -> Value {
    json!({"messages": messages(&conversation.messages, names), "tools": tools(&conversation.tools, names)})
}

/// Returns the preference pair of a conversation with a rejected branch.
pub(super) fn pair(conversation: &Conversation, names: &Names) -> Option<Value> {
    let branch = conversation.rejected.as_ref()?;
    let (prompt, chosen) = conversation.messages.split_at_checked(branch.from)?;
    Some(json!({
        "prompt": messages(prompt, names),
        "chosen": messages(chosen, names),
        "rejected": messages(&branch.messages, names),
        "tools": tools(&conversation.tools, names),
    }))
}

pub(super) fn tools(tools: &[ConversationTool], names: &Names) -> Vec<Value> {
    let function = |tool: &ConversationTool| {
        json!({"type": "function", "function": {
            "name": names.of(&tool.name.to_string()),
            "description": tool.description,
            "parameters": tool.parameters,
        }})
    };
    tools.iter().map(function).collect()
}

fn messages(messages: &[Message], names: &Names) -> Vec<Value> {
    let message = |message: &Message| match message {
        Message::System { content } => json!({"role": "system", "content": content}),
        Message::User { content } => json!({"role": "user", "content": content}),
        Message::Assistant { content, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": content})
        }
        Message::Assistant { content, calls } => {
            let content = Some(content).filter(|content| !content.is_empty());
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    let function = json!({"name": names.of(&call.name), "arguments": text(&call.arguments)});
                    json!({"id": call.id, "type": "function", "function": function})
                })
                .collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
        Message::Tool { call_id, content, .. } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text(content)})
        }
    };
    messages.iter().map(message).collect()
}

/// Returns a text as it is, and any other value as JSON.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
