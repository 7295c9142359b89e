//! The size of a request.

use serde_json::Value;

use crate::Message;
use crate::chat::ToolFunction;

/// The overhead of a message, and of a tool, in bytes.
const AROUND: usize = 24;

/// The size that is counted for a picture of any file size, in bytes: about a thousand tokens.
pub(super) const PICTURE_BYTES: usize = 4_000;

/// Returns the bytes of a system prompt and of tools.
pub(in crate::agent) fn fixed(system: &str, tools: &[ToolFunction]) -> usize {
    let tool = |tool: &ToolFunction| {
        tool.name.len() + tool.description.len() + tool.parameters.to_string().len() + AROUND
    };
    system.len() + tools.iter().map(tool).sum::<usize>()
}

/// Returns the bytes of messages.
pub(in crate::agent) fn size(messages: &[Message]) -> usize {
    messages.iter().map(message_size).sum()
}

/// Returns the bytes of a message.
pub(in crate::agent) fn message_size(message: &Message) -> usize {
    let bytes = match message {
        Message::User { content } => content.len(),
        Message::Assistant { content, tool_calls, reasoning, written, provider_items } => {
            let calls =
                tool_calls.iter().map(|call| call.id.len() + call.name.len() + call.arguments.len() + AROUND);
            // It goes as the one or the other.
            let whole = content.len() + calls.sum::<usize>();
            let whole = reasoning.len() + written.as_ref().map_or(whole, |written| written.len().max(whole));
            // The text is among them.
            let items = provider_items.iter().flat_map(|items| &items.items);
            whole.max(items.map(json_bytes).sum())
        }
        // The tools that it loads are about as large as what it says of them.
        Message::Tool { call_id, content, note, .. } => call_id.len() + content.len() + note.len(),
        Message::Pictures { pictures } => pictures.len() * PICTURE_BYTES,
    };
    bytes + AROUND
}

/// Returns about the bytes of a value as JSON. It is asked for all messages, so that it writes none of it.
fn json_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| json_bytes(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => {
            map.iter().map(|(key, item)| key.len() + json_bytes(item) + 4).sum::<usize>() + 2
        }
        _ => 4,
    }
}
