//! Multipart bodies (RFC 2046), in particular `multipart/form-data` (RFC 7578).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher, RandomState};

use serde_json::Value;
use toolcrib_io::http::essence;
use toolcrib_model::JsonObject;

use super::collision::FieldNames;
use super::style;
use crate::Error;
use crate::media_detection::of_content;
use crate::media_type::{JSON, MediaKind};
use crate::operation::MultipartField;
use crate::upload::Files;

/// The problem of an argument whose content is not a string.
pub(super) const NOT_CONTENT: &str = "must be a string: the content as base64, or `file:` and a path";

/// Returns the content type and the bytes: one part for each value, where the items of lists become separate parts.
pub(super) fn write(
    media_type: &str,
    fields: &JsonObject,
    parts: &HashMap<String, MultipartField>,
    files: &mut Files<'_>,
    mut names: FieldNames,
) -> Result<(String, Vec<u8>), Error> {
    let plain = MultipartField::default();
    let mut written = Vec::new();
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let part = parts.get(name).unwrap_or(&plain);
        if let Some(serialization) = part.serialization.filter(|_| value.is_array() || value.is_object()) {
            let fields = names
                .take(name, value, serialization)
                .and_then(|()| style::as_parts(name, value, serialization))
                .map_err(|problem| Error::argument(name, problem))?;
            for (name, text) in fields {
                written.push(encode_part(&name, &text.into(), part, files)?);
            }
            continue;
        }
        let values = match value {
            Value::Array(values) => values.as_slice(),
            single => std::slice::from_ref(single),
        };
        for value in values {
            written.push(encode_part(name, value, part, files)?);
        }
    }
    let boundary = boundary();
    let mut out = Vec::new();
    for (head, content) in &written {
        out.extend_from_slice(format!("--{boundary}\r\n{head}\r\n\r\n").as_bytes());
        out.extend_from_slice(content);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok((format!("{}; boundary={boundary}", essence(media_type)), out))
}

/// Returns the header and the content of a part.
fn encode_part(
    name: &str,
    value: &Value,
    part: &MultipartField,
    files: &mut Files<'_>,
) -> Result<(String, Vec<u8>), Error> {
    let mut head = format!("Content-Disposition: form-data; name=\"{}\"", quoted(name));
    let own_type = part.media_type();
    let (default_type, content) = match value {
        value if part.binary => {
            let text = value.as_str().ok_or_else(|| Error::argument(name, NOT_CONTENT))?;
            let content = files.content(name, text)?;
            // Writing to a string cannot fail.
            let _ = write!(head, "; filename=\"{}\"", quoted(content.name.as_deref().unwrap_or(name)));
            let media_type =
                of_content(part.content_type.as_deref(), content.media_type.as_deref(), &content.bytes);
            head.push_str("\r\nContent-Type: ");
            head.push_str(&media_type);
            return Ok((head, content.bytes));
        }
        Value::Object(_) | Value::Array(_) => (Some(JSON), value.to_string().into_bytes()),
        value if own_type.is_some_and(|own| MediaKind::of(own) == MediaKind::Json) => {
            (None, value.to_string().into_bytes())
        }
        // A part is text by default.
        scalar => (None, style::text_of(scalar).into_bytes()),
    };
    if let Some(media_type) = own_type.or(default_type) {
        head.push_str("\r\nContent-Type: ");
        head.push_str(media_type);
    }
    Ok((head, content))
}

/// Quotes a name in the same way as browsers.
fn quoted(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c == '"' || c.is_ascii_control() {
            let _ = write!(out, "%{:02X}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns a boundary that no part contains, since it is unpredictable.
fn boundary() -> String {
    // The standard library seeds each of these randomly, which is sufficient.
    let chance = || RandomState::new().build_hasher().finish();
    format!("toolcrib-{:016x}{:016x}", chance(), chance())
}
