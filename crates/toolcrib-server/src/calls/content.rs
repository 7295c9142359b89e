//! Conversion of results to MCP content.

use std::borrow::Cow;

use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource};
use serde::Deserialize as _;
use serde_json::{Value, json};
use toolcrib_app::AppUris;
use toolcrib_model::result::media_handles;
use toolcrib_model::{JsonObject, ToolResult};
use toolcrib_port::{CallContext, ResultStore};

/// The URI prefix of a stored result.
const RESULT_SCHEME: &str = "toolcrib://result/";

/// The key in `_meta` that lists the violations of the `outputSchema` by a result.
pub(crate) const BREACHES: &str = "toolcrib/outputViolations";

/// The maximum number of reported schema violations.
const MAX_BREACHES: usize = 10;

/// The maximum length of a reported violation, in characters.
const MAX_BREACH_CHARS: usize = 300;

/// The maximum number of images and audio blocks that accompany the text of a result.
const MAX_MEDIA: usize = 8;

/// The content block types of MCP.
const BLOCKS: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

/// Returns the URI of a stored result.
pub(crate) fn result_uri(handle: &str) -> String {
    format!("{RESULT_SCHEME}{handle}")
}

/// Returns the handle in the URI of a stored result.
pub(crate) fn handle_of(uri: &str) -> Option<&str> {
    uri.strip_prefix(RESULT_SCHEME)
}

/// Converts a result to MCP content: text that any client shows, unchanged images and audio, the structured content if
/// there is any, and finally the line of facts. A failure of the tool is a result too, so that the client's model reads
/// it.
pub(crate) fn content(result: ToolResult, store: &dyn ResultStore, context: &CallContext) -> CallToolResult {
    let facts = result.facts().map(ContentBlock::text);
    if let Some(error) = result.error {
        let text = serde_json::to_string(&error).unwrap_or_else(|_| error.to_string());
        return CallToolResult::error(std::iter::once(ContentBlock::text(text)).chain(facts).collect());
    }
    let link = result
        .handle()
        .map(|handle| Resource::new(result_uri(handle), format!("the whole result of {}", result.name)));
    let breaches = breaches(&result);
    let client = result.client_content().unwrap_or_default();
    // A preview replaces what is too large for a model.
    let own_blocks = if result.is_preview() { None } else { self::blocks(&client.content, store, context) };
    let (structured, mut blocks) = match result.result {
        // The facts state that there is no result.
        Value::Null => (None, Vec::new()),
        Value::String(text) => {
            let media = media(&Value::String(text.clone()), store, context);
            (None, with_media(ContentBlock::text(text), media))
        }
        Value::Array(items) => match blocks(&items, store, context) {
            Some(blocks) => (None, blocks),
            None => (None, as_text(&Value::Array(items), store, context)),
        },
        Value::Object(map) => both(map, store, context),
        other => (None, vec![ContentBlock::text(other.to_string())]),
    };
    if let Some(own_blocks) = own_blocks {
        blocks = own_blocks;
    }
    blocks.extend(link.map(ContentBlock::ResourceLink));
    blocks.extend(facts);
    let mut content = CallToolResult::success(blocks);
    content.structured_content = structured;
    if !client.meta.is_empty() {
        content.meta = Some(MetaObject(client.meta));
    }
    if let Some(breaches) = breaches {
        content.meta.get_or_insert_default().insert(BREACHES.into(), breaches.into());
    }
    content
}

/// Returns the result of a tool that is listed with an `outputSchema`, with its structured content, or with the reason
/// why it is missing.
///
/// Clients refuse a result without structured content that fits the schema, and do not check errors. A result without
/// structured content is therefore sent as an error that states what happened.
pub(crate) fn with_structure(
    result: ToolResult,
    structure: Result<Value, &'static str>,
    store: &dyn ResultStore,
    context: &CallContext,
) -> CallToolResult {
    let mut told = content(result, store, context);
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

/// Sets the URIs of user interfaces in links to those by which clients know them. `namespace` is that of the server.
pub(crate) fn publish_links(blocks: &mut [ContentBlock], namespace: &str, app_uris: &AppUris) {
    for block in blocks {
        if let ContentBlock::ResourceLink(link) = block
            && let Cow::Owned(public) = app_uris.public(&link.uri, namespace)
        {
            link.uri = public;
        }
    }
}

/// Returns a value as text, followed by the images and audio in it.
fn as_text(value: &Value, store: &dyn ResultStore, context: &CallContext) -> Vec<ContentBlock> {
    with_media(ContentBlock::text(value.to_string()), media(value, store, context))
}

fn with_media(text: ContentBlock, media: Vec<ContentBlock>) -> Vec<ContentBlock> {
    std::iter::once(text).chain(media).collect()
}

/// Returns the images and audio of a value that is sent as text, at most [`MAX_MEDIA`].
fn media(value: &Value, store: &dyn ResultStore, context: &CallContext) -> Vec<ContentBlock> {
    let shown = media_handles(value, MAX_MEDIA).into_iter().filter_map(|found| {
        let media = store.media(found.handle, context)?;
        let block = json!({"type": found.kind, "mimeType": media.media_type, "data": media.data});
        ContentBlock::deserialize(block).ok()
    });
    shown.collect()
}

/// Returns the violations of the declared schema by a result, if there are any.
fn breaches(result: &ToolResult) -> Option<Vec<String>> {
    let texts = result.output_violations().take(MAX_BREACHES);
    let all: Vec<_> = texts.map(|text| text.chars().take(MAX_BREACH_CHARS).collect()).collect();
    (!all.is_empty()).then_some(all)
}

/// Returns the structured content and the blocks of a result that has both, or the structured content and its text.
fn both(
    map: JsonObject,
    store: &dyn ResultStore,
    context: &CallContext,
) -> (Option<Value>, Vec<ContentBlock>) {
    if let (2, Some(structured), Some(items)) =
        (map.len(), map.get("structuredContent"), map.get("content").and_then(Value::as_array))
        && let Some(blocks) = blocks(items, store, context)
    {
        return (Some(structured.clone()), blocks);
    }
    let structured = Value::Object(map);
    let blocks = as_text(&structured, store, context);
    (Some(structured), blocks)
}

/// Returns the blocks of a result that is a list of blocks only.
fn blocks(items: &[Value], store: &dyn ResultStore, context: &CallContext) -> Option<Vec<ContentBlock>> {
    let is_block =
        |item: &Value| item.get("type").and_then(Value::as_str).is_some_and(|kind| BLOCKS.contains(&kind));
    if items.is_empty() || !items.iter().all(is_block) {
        return None;
    }
    items.iter().map(|item| ContentBlock::deserialize(restored(item, store, context)).ok()).collect()
}

/// Returns a block for a client: an image or audio block with its data, and other extracted binary data as a resource
/// link, because it is too large for a conversation.
fn restored(block: &Value, store: &dyn ResultStore, context: &CallContext) -> Value {
    let Some(map) = block.as_object() else { return block.clone() };
    let inside = map.get("resource").and_then(Value::as_object).unwrap_or(map);
    let Some(handle) = inside.get("handle").and_then(Value::as_str) else { return block.clone() };
    let kind = inside.get("type").and_then(Value::as_str).filter(|kind| matches!(*kind, "image" | "audio"));
    if let Some((kind, media)) = kind.zip(store.media(handle, context)) {
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
