//! The Responses API of `OpenAI`, without state on the server.

pub(super) mod reply;
pub(super) mod request;

use serde_json::Value;

use super::assembly::text;

/// Adds the text of an item of a reply, and returns true for a call.
fn read_item(item: &Value, content: &mut String) -> bool {
    match text(item, "type") {
        "message" => {
            let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
            parts.for_each(|part| content.push_str(part_text(part)));
        }
        "function_call" => return true,
        _ => {}
    }
    false
}

/// Returns the text of a part of a message, which is an answer or a refusal.
fn part_text(part: &Value) -> &str {
    text(part, if text(part, "type") == "refusal" { "refusal" } else { "text" })
}
