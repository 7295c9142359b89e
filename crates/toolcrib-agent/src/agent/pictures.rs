//! Pictures of results, for models that see.

use serde_json::Value;
use toolcrib_model::ToolResult;
use toolcrib_port::{CallContext, ToolCaller};

use crate::Picture;

/// The most pictures of one result that a model is shown.
pub const MAX_PICTURES: usize = 4;

/// The largest picture that a model is shown, in bytes of base64: 5 MiB, which servers take.
pub const MAX_PICTURE_BYTES: usize = 5 * 1024 * 1024;

/// How deep a result is looked through.
const MAX_DEPTH: usize = 16;

/// The media types that servers take.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The pictures of a result, as the executor kept them. What is too large, or of another type, is told by its type and
/// size alone, as all of them are.
pub(super) fn pictures(
    call_id: &str,
    result: &ToolResult,
    caller: &dyn ToolCaller,
    context: &CallContext,
) -> Vec<Picture> {
    let mut handles = Vec::new();
    find(&result.result, 0, &mut handles);
    let kept = handles.into_iter().filter_map(|handle| caller.media(handle, context));
    let shown =
        kept.filter(|media| media.data.len() <= MAX_PICTURE_BYTES && TYPES.contains(&&*media.media_type));
    let picture = |media: toolcrib_port::Media| Picture {
        call_id: call_id.to_owned(),
        media_type: media.media_type,
        data: media.data,
    };
    shown.map(picture).collect()
}

/// The handles of the pictures in a result, in the shape that MCP has for them.
fn find<'a>(value: &'a Value, depth: usize, handles: &mut Vec<&'a str>) {
    if depth > MAX_DEPTH || handles.len() == MAX_PICTURES {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| find(item, depth + 1, handles)),
        Value::Object(map) => {
            if map.get("type").and_then(Value::as_str) == Some("image") {
                handles.extend(map.get("handle").and_then(Value::as_str));
                return;
            }
            map.values().for_each(|item| find(item, depth + 1, handles));
        }
        _ => {}
    }
}
