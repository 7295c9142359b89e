//! The Messages API of Anthropic.

pub(super) mod reply;
pub(super) mod request;

use serde_json::Value;

use super::assembly::text;

/// Adds the text of a block of a message, and returns true for a call.
fn read_block(block: &Value, content: &mut String) -> bool {
    match text(block, "type") {
        "text" => content.push_str(text(block, "text")),
        "tool_use" => return true,
        _ => {}
    }
    false
}
