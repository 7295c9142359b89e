//! Conversion of read resources to MCP contents.

use rmcp::model::{MetaObject, ResourceContents};
use serde::Deserialize;
use serde_json::Value;

/// The media type and the `_meta` of a text.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextInfo {
    mime_type: Option<String>,
    #[serde(rename = "_meta")]
    meta: Option<MetaObject>,
}

/// Returns the contents of a resource under the URI that the client requested. `about_text` is what the server says of
/// a text.
pub(super) fn contents(
    value: Value,
    own: &str,
    asked: &str,
    about_text: Option<&Value>,
) -> Vec<ResourceContents> {
    let text = |text: String| {
        let TextInfo { mime_type, meta } =
            about_text.and_then(|about| TextInfo::deserialize(about).ok()).unwrap_or_default();
        ResourceContents::TextResourceContents { uri: asked.to_owned(), mime_type, text, meta }
    };
    match value {
        Value::String(found) => vec![text(found)],
        Value::Array(items) if items.iter().all(|item| ResourceContents::deserialize(item).is_ok()) => {
            let read = items.into_iter().filter_map(|mut item| {
                if item.get("uri").and_then(Value::as_str) == Some(own) {
                    item.as_object_mut()?.insert("uri".into(), asked.into());
                }
                ResourceContents::deserialize(item).ok()
            });
            read.collect()
        }
        Value::Object(mut binary) if binary.contains_key("data") && binary.contains_key("mimeType") => {
            let mut take = |key: &str| match binary.shift_remove(key) {
                Some(Value::String(text)) => Some(text),
                _ => None,
            };
            let (mime_type, blob) = (take("mimeType"), take("data").unwrap_or_default());
            vec![ResourceContents::BlobResourceContents {
                uri: asked.to_owned(),
                mime_type,
                blob,
                meta: None,
            }]
        }
        other => vec![text(other.to_string())],
    }
}
