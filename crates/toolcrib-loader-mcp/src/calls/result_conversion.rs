//! The conversion of server responses into results.

use rmcp::model::{
    CallToolResult, ContentBlock, ElicitRequestParams, ErrorCode, ErrorData, ResourceContents,
};
use serde::Deserialize as _;
use serde_json::{Value, json};
use toolcrib_model::tool::app::APP_SCHEME;
use toolcrib_model::{ErrorKind, ToolError};

use crate::elicitation::MAX_QUESTIONS;
use crate::text::{MAX_ERROR_CHARS, clean};

/// The error code of the protocol for calls that need the user to open a URL first.
const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32042);

/// The scheme of qualified resource URIs, which are valid outside of their server: the namespace of the server follows,
/// then the server's URI. `toolcrib serve` reads resources by such URIs.
const SCHEME: &str = "toolcrib://";

/// Returns the qualified URI of a resource. Hosts know a user interface by its own URI.
fn qualified_uri(uri: &str, namespace: &str) -> String {
    if uri.starts_with(APP_SCHEME) {
        return uri.to_owned();
    }
    format!("{SCHEME}{namespace}/{uri}")
}

/// Returns the server's URI of a resource, without the qualification.
pub(crate) fn server_uri<'u>(uri: &'u str, namespace: &str) -> &'u str {
    let server_uri =
        uri.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix(namespace)?.strip_prefix('/'));
    server_uri.unwrap_or(uri)
}

/// Returns a content block as a value, with qualified resource URIs.
pub(crate) fn block(mut block: ContentBlock, namespace: &str) -> Value {
    match &mut block {
        ContentBlock::ResourceLink(link) => link.uri = qualified_uri(&link.uri, namespace),
        ContentBlock::Resource(embedded) => match &mut embedded.resource {
            ResourceContents::TextResourceContents { uri, .. }
            | ResourceContents::BlobResourceContents { uri, .. } => *uri = qualified_uri(uri, namespace),
            _ => {}
        },
        _ => {}
    }
    serde_json::to_value(block).unwrap_or(Value::Null)
}

/// Converts the result of a call: to its structured content if there is any, to the joined text if all content is text,
/// and otherwise to the list of content blocks as the protocol defines them (`{"type", "mimeType", "data", …}`).
/// `namespace` is that of the server.
pub(crate) fn convert(result: CallToolResult, namespace: &str) -> Result<Value, ToolError> {
    if result.is_error == Some(true) {
        return Err(failure(&result));
    }
    let text = joined_text(&result.content);
    Ok(match (result.structured_content, text) {
        (Some(structured), Some(_)) => structured,
        (Some(structured), None) => {
            json!({"structuredContent": structured, "content": blocks(result.content, namespace)})
        }
        (None, Some(_)) if result.content.is_empty() => Value::Null,
        (None, Some(text)) => Value::String(text),
        (None, None) => blocks(result.content, namespace),
    })
}

fn failure(result: &CallToolResult) -> ToolError {
    let texts: Vec<_> =
        result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str())).collect();
    let message = match (&result.structured_content, texts.is_empty()) {
        (Some(structured), true) => structured.to_string(),
        (None, true) => "the tool reported a failure and gave no reason".to_owned(),
        (_, false) => texts.join("\n"),
    };
    ToolError::new(ErrorKind::ToolFailed, clean(&message, MAX_ERROR_CHARS))
}

/// Returns the text of all blocks, joined by line breaks; `None` if a block is not text.
fn joined_text(content: &[ContentBlock]) -> Option<String> {
    let texts: Option<Vec<_>> = content.iter().map(|block| Some(block.as_text()?.text.as_str())).collect();
    Some(texts?.join("\n"))
}

fn blocks(content: Vec<ContentBlock>, namespace: &str) -> Value {
    content.into_iter().map(|content| block(content, namespace)).collect()
}

/// Returns true if the user has to open a page before the call can run.
pub(crate) fn wants_pages(error: &ErrorData) -> bool {
    error.code == URL_ELICITATION_REQUIRED
}

/// Returns the pages that such an error names, without the unreadable ones.
pub(crate) fn pages(error: &ErrorData) -> Vec<ElicitRequestParams> {
    let named = error.data.as_ref().and_then(|data| data.get("elicitations")).and_then(Value::as_array);
    let read = |page: &Value| ElicitRequestParams::deserialize(page).ok();
    let pages = named.into_iter().flatten().take(MAX_QUESTIONS + 1).filter_map(read);
    pages.filter(|page| matches!(page, ElicitRequestParams::UrlElicitationParams { .. })).collect()
}

/// Returns the tool error for a JSON-RPC error.
pub(crate) fn rpc_error(tool: &str, error: &ErrorData) -> ToolError {
    let message = clean(&error.message, MAX_ERROR_CHARS);
    let lower = message.to_lowercase();
    let names_tool = lower.contains(&tool.to_lowercase()) || lower.contains("tool");
    let unknown =
        ["not found", "unknown", "no such", "does not exist"].iter().any(|words| lower.contains(words));
    match error.code {
        ErrorCode::METHOD_NOT_FOUND => removed(&message),
        ErrorCode::INVALID_PARAMS if unknown && names_tool => removed(&message),
        ErrorCode::INVALID_PARAMS => ToolError::new(ErrorKind::InvalidArgs, message)
            .with_hint("the server checks more than the schema says; repair the arguments and call again"),
        URL_ELICITATION_REQUIRED => ToolError::new(ErrorKind::InputRequired, message),
        ErrorCode(code) => {
            ToolError::new(ErrorKind::ToolFailed, format!("the server reports error {code}: {message}"))
        }
    }
}

fn removed(message: &str) -> ToolError {
    ToolError::new(ErrorKind::ToolChanged, format!("the server no longer has this tool: {message}"))
        .with_hint("list the tools again and choose among those")
}
