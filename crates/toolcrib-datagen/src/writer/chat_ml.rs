//! `ChatML` with calls as text.

use serde_json::{Value, json};

use super::messages::{text, tools};
use super::names::Names;
use crate::conversation::{Conversation, Message};

/// The instruction before the tools.
const INSTRUCTION: &str = "You may call functions. Their signatures are in <tools></tools>. For each call, write a JSON \
                           object with its name and arguments in a <tool_call></tool_call> element:\n<tool_call>\n\
                           {\"name\": \"function name\", \"arguments\": {}}\n</tool_call>";

pub(super) fn row(conversation: &Conversation, names: &Names) -> Value {
    let mut rendered = String::new();
    let mut messages = conversation.messages.iter().peekable();
    let system = match messages.peek() {
        Some(Message::System { content }) => Some(content.as_str()),
        _ => None,
    };
    if system.is_some() {
        messages.next();
    }
    let mut head = system.map(str::to_owned).unwrap_or_default();
    if !conversation.tools.is_empty() {
        let separator = if head.is_empty() { "" } else { "\n\n" };
        let lines: Vec<String> =
            tools(&conversation.tools, names).iter().map(|tool| tool["function"].to_string()).collect();
        head = format!("{head}{separator}{INSTRUCTION}\n<tools>\n{}\n</tools>", lines.join("\n"));
    }
    if !head.is_empty() {
        push(&mut rendered, "system", &head);
    }
    while let Some(message) = messages.next() {
        match message {
            Message::System { content } => push(&mut rendered, "system", content),
            Message::User { content } => push(&mut rendered, "user", content),
            Message::Assistant { content, calls } => {
                let calls = calls.iter().map(|call| {
                    let call = json!({"name": names.of(&call.name), "arguments": call.arguments});
                    format!("<tool_call>\n{call}\n</tool_call>")
                });
                let parts: Vec<String> =
                    Some(content.clone()).filter(|text| !text.is_empty()).into_iter().chain(calls).collect();
                push(&mut rendered, "assistant", &parts.join("\n"));
            }
            Message::Tool { content, .. } => {
                // The results of one message stand together.
                let mut parts = vec![response(content)];
                while let Some(Message::Tool { content, .. }) =
                    messages.next_if(|next| matches!(next, Message::Tool { .. }))
                {
                    parts.push(response(content));
                }
                push(&mut rendered, "tool", &parts.join("\n"));
            }
        }
    }
    json!({"text": rendered})
}

fn response(content: &Value) -> String {
    format!("<tool_response>\n{}\n</tool_response>", text(content))
}

fn push(rendered: &mut String, role: &str, text: &str) {
    for part in ["<|im_start|>", role, "\n", &without_marks(text), "<|im_end|>\n"] {
        rendered.push_str(part);
    }
}

/// Returns a text that cannot end its own message.
fn without_marks(text: &str) -> String {
    text.replace("<|im_", "<| im_")
}
