//! Images, which models receive as such.

use std::io::Read as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use toolcrib_io::files::OpenFile;
use toolcrib_model::ToolError;

use super::errors::failed;

/// The maximum size of an image that is read, in bytes.
pub(crate) const MAX_IMAGE_BYTES: u64 = 8 * 1024 * 1024;

/// The content of a file: text, or an image in the format of results. The executor stores the data of an image and
/// creates a handle.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Image(Image),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Image {
    r#type: &'static str,
    mime_type: &'static str,
    /// Base64.
    data: String,
}

impl JsonSchema for Content {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Content".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "object"],
            "description": "The text; of an image `type`, `mimeType`, `bytes` and its `handle`.",
        })
    }
}

/// Returns the media type of an image by its first bytes, for the formats that models accept.
pub(super) fn media_type(beginning: &[u8]) -> Option<&'static str> {
    match beginning {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Reads the rest of an image, of which `bytes` have been read.
pub(super) fn image(
    path: &str,
    mime_type: &'static str,
    mut bytes: Vec<u8>,
    file: OpenFile,
) -> Result<Content, ToolError> {
    let (size, read) = (file.size(), bytes.len() as u64);
    let rest = (MAX_IMAGE_BYTES + 1).saturating_sub(read);
    let added = file.take(rest).read_to_end(&mut bytes);
    added.map_err(|error| failed(format!("cannot read `{path}`: {error}")))?;
    if bytes.len() as u64 > MAX_IMAGE_BYTES {
        let message = format!("`{path}` is an image of {size} bytes, at most {MAX_IMAGE_BYTES} are read");
        return Err(failed(message).with_hint("ask the user for a smaller one"));
    }
    Ok(Content::Image(Image { r#type: "image", mime_type, data: STANDARD.encode(bytes) }))
}
