//! The API `generateContent` of Gemini.

pub(super) mod reply;
pub(super) mod request;

use serde_json::Value;

use super::assembly::text;

/// The key of a part's signature.
const SIGNATURE: &str = "thoughtSignature";

/// Adds the text of a part of a reply, and returns true for a call.
fn read_part(part: &Value, content: &mut String) -> bool {
    if !is_thought(part) {
        content.push_str(text(part, "text"));
    }
    part.get("functionCall").is_some()
}

fn is_thought(part: &Value) -> bool {
    part.get("thought").and_then(Value::as_bool) == Some(true)
}
