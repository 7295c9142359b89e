//! Binary data in results, such as images and sounds.
//!
//! Results carry it as base64, in the content blocks of MCP (`{"type": "image", "data", "mimeType"}`, and the `blob` of
//! a resource) and as `data:` URLs. A model gets its type and size, and a handle.

use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use crate::text::grouped;

/// The minimum size of data that is extracted, since a handle takes space too. Images and sounds are always extracted,
/// so that they can be shown.
const MIN_DATA_BYTES: usize = 96;

/// The maximum number of handles for the binary data of one result. Further data is described by type and size alone.
const MAX_PARTS: usize = 16;

/// The maximum length of a media type that is shown.
const MAX_MEDIA_TYPE_BYTES: usize = 100;

/// The media type of data without a declared type.
const UNKNOWN: &str = "application/octet-stream";

/// Binary data that was extracted from a result.
pub(crate) struct BinaryData {
    /// The data in base64, as received.
    pub(crate) data: String,
    pub(crate) media_type: String,
    /// The number of decoded bytes.
    pub(crate) bytes: usize,
}

/// Extracts binary data from a value, and replaces it by its type, its size and the handle from `keep`.
pub(crate) fn extract(value: &mut Value, store: &mut dyn FnMut(BinaryData) -> Option<String>) {
    let mut parts = 0;
    visit(value, &mut |part| {
        parts += 1;
        if parts <= MAX_PARTS { store(part) } else { None }
    });
}

/// Returns the type of the content block for data of a media type, if there is one.
pub(crate) fn kind_of_media(media_type: &str) -> Option<&'static str> {
    let lower = media_type.get(..6).unwrap_or_default().to_ascii_lowercase();
    ["image", "audio"].into_iter().find(|kind| lower.strip_prefix(kind) == Some("/"))
}

/// Returns content blocks for the images and sounds in a value whose data was extracted.
pub(crate) fn media(value: &Value) -> Vec<Value> {
    let found = toolcrib_model::result::media_handles(value, MAX_PARTS);
    let block =
        |media: &toolcrib_model::result::MediaHandle<'_>| json!({"type": media.kind, "handle": media.handle});
    found.iter().map(block).collect()
}

fn visit(value: &mut Value, store: &mut dyn FnMut(BinaryData) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some((head, media_type, bytes)) = data_url(text) {
                let mut data = std::mem::take(text);
                data.drain(..head);
                let part = BinaryData { data, media_type, bytes };
                let told = format!("{}, {} bytes", part.media_type, grouped(part.bytes));
                *text = match store(part) {
                    Some(handle) => format!("[{told}, kept as {handle}]"),
                    None => format!("[{told}, not kept]"),
                };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, store)),
        Value::Object(map) => {
            if let Some(part) = block(map) {
                map.insert("bytes".into(), part.bytes.into());
                if let Some(handle) = store(part) {
                    map.insert("handle".into(), handle.into());
                }
            }
            map.values_mut().for_each(|item| visit(item, store));
        }
        _ => {}
    }
}

/// Extracts the data of a content block.
fn block(map: &mut JsonObject) -> Option<BinaryData> {
    let is_media = matches!(map.get("type").and_then(Value::as_str), Some("image" | "audio"));
    let key = match is_media {
        true => "data",
        false if map.contains_key("uri") || map.contains_key("mimeType") => "blob",
        false => return None,
    };
    let least = if is_media { 1 } else { MIN_DATA_BYTES };
    let bytes = decoded_size(map.get(key)?.as_str()?, least)?;
    let media_type = media_type(map.get("mimeType").and_then(Value::as_str).unwrap_or(UNKNOWN));
    if let (false, Some(kind)) = (is_media, kind_of_media(&media_type)) {
        // Programs that show images find the data by this type.
        map.insert("type".into(), kind.into());
    }
    match map.shift_remove(key)? {
        Value::String(data) => Some(BinaryData { data, media_type, bytes }),
        _ => None,
    }
}

/// Returns the position of the data, its media type and its size, if a text consists of one `data:` URL.
fn data_url(text: &str) -> Option<(usize, String, usize)> {
    let (head, data) = text.strip_prefix("data:")?.split_once(',')?;
    let media = head.strip_suffix(";base64")?;
    let bytes = decoded_size(data, MIN_DATA_BYTES)?;
    let media = if media.is_empty() { UNKNOWN } else { media };
    Some((text.len() - data.len(), media_type(media), bytes))
}

fn media_type(given: &str) -> String {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "/+-._;= \"".contains(c);
    if given.len() <= MAX_MEDIA_TYPE_BYTES && given.chars().all(is_known) {
        given.to_owned()
    } else {
        UNKNOWN.to_owned()
    }
}

/// Returns the decoded size of a base64 text; `None` if it is not base64, or shorter than `least`.
fn decoded_size(data: &str, least: usize) -> Option<usize> {
    let mut letters = 0;
    for byte in data.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'-' | b'_' => letters += 1,
            b'=' | b'\r' | b'\n' => {}
            _ => return None,
        }
    }
    (data.len() >= least).then_some(letters * 3 / 4)
}
