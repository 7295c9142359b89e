//! From a server's answer to a result that a model can read.

use rmcp::model::{
    CallToolResult, ContentBlock, ElicitRequestParams, ErrorCode, ErrorData, ResourceContents,
};
use serde::Deserialize as _;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, ToolError};

use crate::MAX_QUESTIONS;
use crate::text::{MAX_ERROR_CHARS, clean};

/// Error code of the protocol: the user has to open a URL first.
const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32042);

/// What the address of a resource of a server begins with wherever its own address is not enough: the namespace of the
/// server follows, and its own address. `toolcrib serve` reads resources under such addresses.
const SCHEME: &str = "toolcrib://";

/// Returns the address of a resource of the server of a namespace, as others know it.
fn qualified(uri: &str, namespace: &str) -> String {
    format!("{SCHEME}{namespace}/{uri}")
}

/// Returns the address under which the server of a namespace knows a resource.
pub(crate) fn own<'u>(uri: &'u str, namespace: &str) -> &'u str {
    let own = uri.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix(namespace)?.strip_prefix('/'));
    own.unwrap_or(uri)
}

/// Returns a content block as a value, with the addresses of resources as others know them.
pub(crate) fn block(mut block: ContentBlock, namespace: &str) -> Value {
    match &mut block {
        ContentBlock::ResourceLink(link) => link.uri = qualified(&link.uri, namespace),
        ContentBlock::Resource(embedded) => match &mut embedded.resource {
            ResourceContents::TextResourceContents { uri, .. }
            | ResourceContents::BlobResourceContents { uri, .. } => *uri = qualified(uri, namespace),
            _ => {}
        },
        _ => {}
    }
    serde_json::to_value(block).unwrap_or(Value::Null)
}

/// What a call returned: the structured value where there is one, the joined text where all is text, and the list of
/// content blocks as the protocol has them (`{"type", "mimeType", "data", …}`) otherwise. `namespace` is that of the server.
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

/// The text of all blocks, a line break between them; `None` when one of them is something else.
fn joined_text(content: &[ContentBlock]) -> Option<String> {
    let texts: Option<Vec<_>> = content.iter().map(|block| Some(block.as_text()?.text.as_str())).collect();
    Some(texts?.join("\n"))
}

fn blocks(content: Vec<ContentBlock>, namespace: &str) -> Value {
    content.into_iter().map(|content| block(content, namespace)).collect()
}

/// Whether the user has to open a page before the call can run.
pub(crate) fn wants_pages(error: &ErrorData) -> bool {
    error.code == URL_ELICITATION_REQUIRED
}

/// The pages that such an error names, as far as they can be read.
pub(crate) fn pages(error: &ErrorData) -> Vec<ElicitRequestParams> {
    let named = error.data.as_ref().and_then(|data| data.get("elicitations")).and_then(Value::as_array);
    let read = |page: &Value| ElicitRequestParams::deserialize(page).ok();
    let pages = named.into_iter().flatten().take(MAX_QUESTIONS + 1).filter_map(read);
    pages.filter(|page| matches!(page, ElicitRequestParams::UrlElicitationParams { .. })).collect()
}

/// What a JSON-RPC error means for the caller of the tool.
pub(crate) fn rpc_error(tool: &str, error: &ErrorData) -> ToolError {
    let message = clean(&error.message, MAX_ERROR_CHARS);
    let lower = message.to_lowercase();
    let names_tool = lower.contains(&tool.to_lowercase()) || lower.contains("tool");
    let unknown =
        ["not found", "unknown", "no such", "does not exist"].iter().any(|words| lower.contains(words));
    match error.code {
        ErrorCode::METHOD_NOT_FOUND => gone(&message),
        ErrorCode::INVALID_PARAMS if unknown && names_tool => gone(&message),
        ErrorCode::INVALID_PARAMS => ToolError::new(ErrorKind::InvalidArgs, message)
            .with_hint("the server checks more than the schema says; repair the arguments and call again"),
        URL_ELICITATION_REQUIRED => ToolError::new(ErrorKind::InputRequired, message),
        ErrorCode(code) => {
            ToolError::new(ErrorKind::ToolFailed, format!("the server reports error {code}: {message}"))
        }
    }
}

fn gone(message: &str) -> ToolError {
    ToolError::new(ErrorKind::ToolChanged, format!("the server no longer has this tool: {message}"))
        .with_hint("list the tools again and choose among those")
}
