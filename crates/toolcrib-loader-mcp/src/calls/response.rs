//! The response of a server to a call: the value for the caller, and the parts for clients.

use rmcp::model::{CallToolResult, MetaObject, ReadResourceResult, ResourceContents};
use serde_json::{Value, json};
use toolcrib_model::{ClientContent, JsonObject, ResultNote, ToolResult};

use crate::apps::forwarded_meta;
use crate::calls::result_conversion::block;

/// The largest size, as JSON, of the parts of a result for clients. Larger parts are left out, with a warning.
const MAX_CLIENT_CONTENT_BYTES: usize = 192 * 1024;

/// The response to a call.
pub(crate) struct Response {
    pub(crate) value: Value,
    pub(crate) client_content: ClientContent,
}

impl Response {
    /// Adds the parts for clients to the result of the call.
    pub(crate) fn annotate(client_content: ClientContent, result: &mut ToolResult) {
        if client_content.is_empty() {
            return;
        }
        let bytes = json!(client_content).to_string().len();
        result.note(if bytes <= MAX_CLIENT_CONTENT_BYTES {
            ResultNote::ClientContent(client_content)
        } else {
            let message = format!(
                "the server addresses {bytes} bytes to clients, which is more than {MAX_CLIENT_CONTENT_BYTES}; they are \
                 left out"
            );
            ResultNote::Warning(message)
        });
    }
}

/// Returns the parts of a tool's result for clients. With a user interface, they include the texts, because it reads
/// them as well as the structured content.
pub(crate) fn of_tool(result: &CallToolResult, has_app: bool, namespace: &str) -> ClientContent {
    let is_text = result.content.iter().all(|block| block.as_text().is_some());
    // Other content is part of the value.
    let content = if has_app && is_text { result.content.as_slice() } else { &[] };
    ClientContent {
        meta: forwarded_meta(result.meta.clone()),
        content: content.iter().cloned().map(|content| block(content, namespace)).collect(),
    }
}

/// Returns the parts of a read resource for clients: the media type and the `_meta` of a text, whose value is only the
/// text.
pub(crate) fn of_resource(read: &ReadResourceResult) -> ClientContent {
    let content = match read.contents.as_slice() {
        [ResourceContents::TextResourceContents { uri, mime_type, meta, .. }] => {
            vec![about_text(uri, mime_type.as_deref(), meta.as_ref())]
        }
        _ => Vec::new(),
    };
    ClientContent { meta: forwarded_meta(read.meta.clone()), content }
}

fn about_text(uri: &str, media_type: Option<&str>, meta: Option<&MetaObject>) -> Value {
    let mut about = JsonObject::from_iter([("uri".to_owned(), uri.into())]);
    about.extend(media_type.map(|media_type| ("mimeType".to_owned(), media_type.into())));
    about.extend(meta.map(|meta| ("_meta".to_owned(), json!(meta))));
    about.into()
}
