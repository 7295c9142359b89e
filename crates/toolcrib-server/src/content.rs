//! A result as MCP has it.

use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde::Deserialize as _;
use serde_json::Value;
use toolcrib_model::{JsonObject, ToolResult};
use toolcrib_port::{CallContext, ToolCaller};

/// The resource of a result that is kept.
const RESULT_SCHEME: &str = "toolcrib://result/";

/// The key of `_meta` that says how a result breaks its `outputSchema`.
pub(crate) const BREACHES: &str = "toolcrib/outputViolations";

/// The most breaches of a schema that a client is told.
const MAX_BREACHES: usize = 10;

/// The most characters of each.
const MAX_BREACH_CHARS: usize = 300;

/// The types of blocks that MCP has.
const BLOCKS: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

/// The address of a kept result.
pub(crate) fn result_uri(handle: &str) -> String {
    format!("{RESULT_SCHEME}{handle}")
}

/// The handle of such an address.
pub(crate) fn handle_of(uri: &str) -> Option<&str> {
    uri.strip_prefix(RESULT_SCHEME)
}

/// A result as MCP has it: text that any client shows, pictures and sounds as they were, and the structure where there is one. A
/// failure of the tool is a result too, so that the client's model reads it.
pub(crate) fn content(result: ToolResult, caller: &dyn ToolCaller, context: &CallContext) -> CallToolResult {
    if let Some(error) = result.error {
        let text = serde_json::to_string(&error).unwrap_or_else(|_| error.to_string());
        return CallToolResult::error(vec![ContentBlock::text(text)]);
    }
    let breaches = breaches(&result);
    let (structured, mut blocks) = match result.result {
        Value::String(text) => (None, vec![ContentBlock::text(text)]),
        Value::Array(items) => match blocks(&items, caller, context) {
            Some(blocks) => (None, blocks),
            None => (None, vec![ContentBlock::text(Value::Array(items).to_string())]),
        },
        Value::Object(map) => both(map, caller, context),
        other => (None, vec![ContentBlock::text(other.to_string())]),
    };
    if let Some(handle) = result.metadata.get("handle").and_then(Value::as_str) {
        let kept = Resource::new(result_uri(handle), format!("the whole result of {}", result.name));
        blocks.push(ContentBlock::ResourceLink(kept));
    }
    if let Some(breaches) = &breaches {
        let list: String = breaches.iter().flat_map(|breach| ["\n- ", breach.as_str()]).collect();
        blocks.push(ContentBlock::text(format!(
            "This result is not what the tool's `outputSchema` declares:{list}"
        )));
    }
    let mut content = CallToolResult::success(blocks);
    content.structured_content = structured;
    if let Some(breaches) = breaches {
        content.meta.get_or_insert_default().insert(BREACHES.into(), breaches.into());
    }
    content
}

/// Returns how a result breaks the schema that its tool declares, if it does.
fn breaches(result: &ToolResult) -> Option<Vec<String>> {
    let all = result.metadata.get("output_violations")?.as_array()?;
    let texts = all.iter().filter_map(Value::as_str).take(MAX_BREACHES);
    Some(texts.map(|text| text.chars().take(MAX_BREACH_CHARS).collect()).collect())
}

/// The structure and the blocks of a result that has both, or the structure and its text.
fn both(
    map: JsonObject,
    caller: &dyn ToolCaller,
    context: &CallContext,
) -> (Option<Value>, Vec<ContentBlock>) {
    if let (2, Some(structured), Some(items)) =
        (map.len(), map.get("structuredContent"), map.get("content").and_then(Value::as_array))
        && let Some(blocks) = blocks(items, caller, context)
    {
        return (Some(structured.clone()), blocks);
    }
    let structured = Value::Object(map);
    let text = ContentBlock::text(structured.to_string());
    (Some(structured), vec![text])
}

/// The blocks of a result that is a list of nothing else.
fn blocks(items: &[Value], caller: &dyn ToolCaller, context: &CallContext) -> Option<Vec<ContentBlock>> {
    let is_block =
        |item: &Value| item.get("type").and_then(Value::as_str).is_some_and(|kind| BLOCKS.contains(&kind));
    if items.is_empty() || !items.iter().all(is_block) {
        return None;
    }
    items
        .iter()
        .map(|item| {
            let mut item = item.clone();
            restore(&mut item, caller, context);
            ContentBlock::deserialize(item).ok()
        })
        .collect()
}

/// Puts data back that was taken out for a model, which has its own way to it.
pub(crate) fn restore(block: &mut Value, caller: &dyn ToolCaller, context: &CallContext) {
    let Some(map) = block.as_object_mut() else { return };
    let is_media = matches!(map.get("type").and_then(Value::as_str), Some("image" | "audio"));
    if let Some(resource) = map.get_mut("resource") {
        restore(resource, caller, context);
        return;
    }
    let key = if is_media { "data" } else { "blob" };
    let Some(handle) = map.get("handle").and_then(Value::as_str) else { return };
    if let Some(media) = caller.media(handle, context) {
        map.shift_remove("handle");
        map.shift_remove("bytes");
        map.insert(key.into(), media.data.into());
    }
}
