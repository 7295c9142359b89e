//! A result as MCP has it.

use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde::Deserialize as _;
use serde_json::{Value, json};
use toolcrib_model::{JsonObject, ToolResult, media_handles};
use toolcrib_port::{CallContext, ToolCaller};

/// The resource of a result that is kept.
const RESULT_SCHEME: &str = "toolcrib://result/";

/// The key of `_meta` that says how a result breaks its `outputSchema`.
pub(crate) const BREACHES: &str = "toolcrib/outputViolations";

/// The most breaches of a schema that a client is told.
const MAX_BREACHES: usize = 10;

/// The most characters of each.
const MAX_BREACH_CHARS: usize = 300;

/// The most pictures and sounds that stand beside the text of a result.
const MAX_MEDIA: usize = 8;

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

/// A result as MCP has it: text that any client shows, pictures and sounds as they were, the structure where there is one, and
/// last the line of facts. A failure of the tool is a result too, so that the client's model reads it.
pub(crate) fn content(result: ToolResult, caller: &dyn ToolCaller, context: &CallContext) -> CallToolResult {
    let facts = result.facts().map(ContentBlock::text);
    if let Some(error) = result.error {
        let text = serde_json::to_string(&error).unwrap_or_else(|_| error.to_string());
        return CallToolResult::error(std::iter::once(ContentBlock::text(text)).chain(facts).collect());
    }
    let breaches = breaches(&result);
    let (structured, mut blocks) = match result.result {
        // It is told as a fact.
        Value::Null => (None, Vec::new()),
        Value::String(text) => {
            let media = media(&Value::String(text.clone()), caller, context);
            (None, with_media(ContentBlock::text(text), media))
        }
        Value::Array(items) => match blocks(&items, caller, context) {
            Some(blocks) => (None, blocks),
            None => (None, as_text(&Value::Array(items), caller, context)),
        },
        Value::Object(map) => both(map, caller, context),
        other => (None, vec![ContentBlock::text(other.to_string())]),
    };
    if let Some(handle) = result.metadata.get("handle").and_then(Value::as_str) {
        let kept = Resource::new(result_uri(handle), format!("the whole result of {}", result.name));
        blocks.push(ContentBlock::ResourceLink(kept));
    }
    blocks.extend(facts);
    let mut content = CallToolResult::success(blocks);
    content.structured_content = structured;
    if let Some(breaches) = breaches {
        content.meta.get_or_insert_default().insert(BREACHES.into(), breaches.into());
    }
    content
}

/// Returns the result of a tool that is listed with an `outputSchema`, with its structure, or the reason why it has none.
///
/// Clients refuse a result without a structure that fits the schema, and do not check errors. So a result that has none is told
/// as an error that says what has happened.
pub(crate) fn with_structure(
    result: ToolResult,
    structure: Result<Value, &'static str>,
    caller: &dyn ToolCaller,
    context: &CallContext,
) -> CallToolResult {
    let mut told = content(result, caller, context);
    if told.is_error == Some(true) {
        return told;
    }
    match structure {
        Ok(structure) => told.structured_content = Some(structure),
        Err(reason) => {
            told.is_error = Some(true);
            told.structured_content = None;
            told.content.insert(0, ContentBlock::text(reason));
        }
    }
    told
}

/// Returns a value as text, and the pictures and sounds that are in it.
fn as_text(value: &Value, caller: &dyn ToolCaller, context: &CallContext) -> Vec<ContentBlock> {
    with_media(ContentBlock::text(value.to_string()), media(value, caller, context))
}

fn with_media(text: ContentBlock, media: Vec<ContentBlock>) -> Vec<ContentBlock> {
    std::iter::once(text).chain(media).collect()
}

/// Returns the pictures and sounds of a value that is told as text, up to [`MAX_MEDIA`].
fn media(value: &Value, caller: &dyn ToolCaller, context: &CallContext) -> Vec<ContentBlock> {
    let shown = media_handles(value, MAX_MEDIA).into_iter().filter_map(|found| {
        let media = caller.media(found.handle, context)?;
        let block = json!({"type": found.kind, "mimeType": media.media_type, "data": media.data});
        ContentBlock::deserialize(block).ok()
    });
    shown.collect()
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
    let blocks = as_text(&structured, caller, context);
    (Some(structured), blocks)
}

/// The blocks of a result that is a list of nothing else.
fn blocks(items: &[Value], caller: &dyn ToolCaller, context: &CallContext) -> Option<Vec<ContentBlock>> {
    let is_block =
        |item: &Value| item.get("type").and_then(Value::as_str).is_some_and(|kind| BLOCKS.contains(&kind));
    if items.is_empty() || !items.iter().all(is_block) {
        return None;
    }
    items.iter().map(|item| ContentBlock::deserialize(restored(item, caller, context)).ok()).collect()
}

/// Returns a block as a client gets it: a picture or a sound with its data, and other data that was taken out of it as the
/// address of a resource. No conversation has room for that.
fn restored(block: &Value, caller: &dyn ToolCaller, context: &CallContext) -> Value {
    let Some(map) = block.as_object() else { return block.clone() };
    let inside = map.get("resource").and_then(Value::as_object).unwrap_or(map);
    let Some(handle) = inside.get("handle").and_then(Value::as_str) else { return block.clone() };
    let kind = inside.get("type").and_then(Value::as_str).filter(|kind| matches!(*kind, "image" | "audio"));
    if let Some((kind, media)) = kind.zip(caller.media(handle, context)) {
        return json!({"type": kind, "mimeType": media.media_type, "data": media.data});
    }
    let name = inside.get("uri").and_then(Value::as_str).unwrap_or("binary data");
    let mut link = json!({"type": "resource_link", "uri": result_uri(handle), "name": name});
    if let Some(link) = link.as_object_mut() {
        let from = |key: &str| inside.get(key).cloned();
        link.extend(from("mimeType").map(|media_type| ("mimeType".to_owned(), media_type)));
        link.extend(from("bytes").map(|bytes| ("size".to_owned(), bytes)));
    }
    link
}
