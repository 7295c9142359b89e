//! The Responses API of `OpenAI`, without state on the server.

pub(super) mod reply;
pub(super) mod request;

use serde_json::Value;

use super::assembly::text;

/// The type of a call of the tool that searches for others.
const TOOL_SEARCH_CALL: &str = "tool_search_call";

/// The type of a call of a tool that takes a text.
const CUSTOM_CALL: &str = "custom_tool_call";

/// The side that runs such a call.
const CLIENT: &str = "client";

/// Returns true for a call that the client runs.
fn is_call(item: &Value) -> bool {
    match text(item, "type") {
        "function_call" | CUSTOM_CALL => true,
        TOOL_SEARCH_CALL => text(item, "execution") == CLIENT,
        _ => false,
    }
}

/// Adds the text of an item of a reply, and returns true for a call.
fn read_item(item: &Value, content: &mut String) -> bool {
    match text(item, "type") {
        "message" => {
            let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
            parts.for_each(|part| content.push_str(part_text(part)));
        }
        _ => return is_call(item),
    }
    false
}

/// Returns the text of a part of a message, which is an answer or a refusal.
fn part_text(part: &Value) -> &str {
    text(part, if text(part, "type") == "refusal" { "refusal" } else { "text" })
}
