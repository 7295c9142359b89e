//! Images, sounds and other data that nobody reads as text.
//!
//! Results carry them as base64, in the shapes that MCP has for them (`{"type": "image", "data", "mimeType"}`, and the
//! `blob` of a resource) and as `data:` URLs. A model gets their type and size, and a handle.

use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use super::words::grouped;

/// Shorter data stays where it is, as a handle would take as much room; but for pictures and sounds, which are shown.
const MIN_DATA_BYTES: usize = 96;

/// The most handles for the binary parts of one result. Further parts are told by type and size alone.
const MAX_PARTS: usize = 16;

/// The most bytes of a media type that are told.
const MAX_MEDIA_TYPE_BYTES: usize = 100;

/// The media type of data that does not say.
const UNKNOWN: &str = "application/octet-stream";

/// Data that was taken out of a result.
pub(super) struct Part {
    /// Base64, as it was.
    pub(super) data: String,
    pub(super) media_type: String,
    /// How many bytes it stands for.
    pub(super) bytes: usize,
}

/// Takes binary data out of a value and puts its type, its size and the handle under which `keep` keeps it there.
pub(super) fn take_out(value: &mut Value, keep: &mut dyn FnMut(Part) -> Option<String>) {
    let mut parts = 0;
    visit(value, &mut |part| {
        parts += 1;
        if parts <= MAX_PARTS { keep(part) } else { None }
    });
}

/// Returns the type of content block that shows data of a media type, where one does.
pub(super) fn kind_of_media(media_type: &str) -> Option<&'static str> {
    let lower = media_type.get(..6).unwrap_or_default().to_ascii_lowercase();
    ["image", "audio"].into_iter().find(|kind| lower.strip_prefix(kind) == Some("/"))
}

/// Returns the blocks that stand for pictures and sounds in a value whose data was taken out.
pub(super) fn media(value: &Value) -> Vec<Value> {
    let found = toolcrib_model::media_handles(value, MAX_PARTS);
    let block = |media: &toolcrib_model::MediaHandle<'_>| json!({"type": media.kind, "handle": media.handle});
    found.iter().map(block).collect()
}

fn visit(value: &mut Value, keep: &mut dyn FnMut(Part) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some((head, media_type, bytes)) = data_url(text) {
                let mut data = std::mem::take(text);
                data.drain(..head);
                let part = Part { data, media_type, bytes };
                let told = format!("{}, {} bytes", part.media_type, grouped(part.bytes));
                *text = match keep(part) {
                    Some(handle) => format!("[{told}, kept as {handle}]"),
                    None => format!("[{told}, not kept]"),
                };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, keep)),
        Value::Object(map) => {
            if let Some(part) = block(map) {
                map.insert("bytes".into(), part.bytes.into());
                if let Some(handle) = keep(part) {
                    map.insert("handle".into(), handle.into());
                }
            }
            map.values_mut().for_each(|item| visit(item, keep));
        }
        _ => {}
    }
}

/// The data of a content block, which is taken out of it.
fn block(map: &mut JsonObject) -> Option<Part> {
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
        // By it whoever shows pictures finds it.
        map.insert("type".into(), kind.into());
    }
    match map.shift_remove(key)? {
        Value::String(data) => Some(Part { data, media_type, bytes }),
        _ => None,
    }
}

/// Where the data of a text begins that is a `data:` URL and nothing else, its type and size.
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

/// How many bytes a base64 text stands for; `None` when it is none, or shorter than `least`.
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
