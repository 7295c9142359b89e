//! The images and audio of a result, whose data is stored under handles.

use serde_json::Value;

/// The deepest level of a value that is searched.
const MAX_DEPTH: usize = 16;

/// The text before the handle in the placeholder of a data URL.
const KEPT_AS: &str = ", kept as ";

/// Binary data of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The media type.
    pub media_type: String,
    /// The data in base64.
    pub data: String,
}

/// An image or audio that was moved out of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaHandle<'v> {
    /// The type of its content block: `image` or `audio`.
    pub kind: &'static str,
    /// The handle that it is stored under.
    pub handle: &'v str,
}

/// Returns the handles of images and audio in a value, up to a number of them, each once: from content blocks of MCP,
/// `{"type": "image", "handle"}`, and from placeholders of `data:` URLs, `[image/png, 300 bytes, kept as r_…]`.
pub fn media_handles(value: &Value, most: usize) -> Vec<MediaHandle<'_>> {
    let mut found = Vec::new();
    find(value, 0, most, &mut found);
    found
}

fn find<'v>(value: &'v Value, depth: usize, most: usize, found: &mut Vec<MediaHandle<'v>>) {
    if depth > MAX_DEPTH || found.len() >= most {
        return;
    }
    let media = match value {
        Value::String(text) => of_text(text),
        Value::Object(map) => {
            let kind = map.get("type").and_then(Value::as_str).and_then(kind_of);
            kind.zip(map.get("handle").and_then(Value::as_str))
        }
        _ => None,
    };
    if let Some((kind, handle)) = media {
        if found.iter().all(|other| other.handle != handle) {
            found.push(MediaHandle { kind, handle });
        }
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| find(item, depth + 1, most, found)),
        Value::Object(map) => map.values().for_each(|item| find(item, depth + 1, most, found)),
        _ => {}
    }
}

fn of_text(text: &str) -> Option<(&'static str, &str)> {
    let inside = text.strip_prefix('[')?.strip_suffix(']')?;
    let (told, handle) = inside.rsplit_once(KEPT_AS)?;
    let kind = kind_of(told.split_once('/')?.0)?;
    handle.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some((kind, handle))
}

fn kind_of(name: &str) -> Option<&'static str> {
    ["image", "audio"].into_iter().find(|kind| *kind == name)
}
