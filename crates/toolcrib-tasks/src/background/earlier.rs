//! The names that calls in the background had before there was one action for all.

use serde_json::json;
use toolcrib_model::{JsonObject, ToolCall};
use toolcrib_policy::RUNTIME_NAMESPACE;

/// The call of `background_run` that a call by an earlier name means: `background_status`, `background_result`,
/// `background_wait`, `background_cancel`, `cancel_bg_task` and `background_list`. They are listed nowhere.
pub fn renamed(call: &ToolCall) -> Option<ToolCall> {
    let name = match call.name.rsplit_once(['.', ':']) {
        Some((before, name)) if before.trim_end_matches(':') == RUNTIME_NAMESPACE => name,
        Some(_) => return None,
        None => &call.name,
    };
    let mode = match name {
        "background_status" | "background_result" => JsonObject::new(),
        "background_wait" => JsonObject::from_iter([("wait".to_owned(), json!(true))]),
        "background_cancel" | "cancel_bg_task" => JsonObject::from_iter([("cancel".to_owned(), json!(true))]),
        "background_list" => JsonObject::from_iter([("list".to_owned(), json!(true))]),
        _ => return None,
    };
    let mut arguments = call.arguments.clone();
    arguments.extend(mode);
    let name = format!("{RUNTIME_NAMESPACE}::background_run");
    Some(ToolCall { name, arguments, call_id: call.call_id.clone() })
}
