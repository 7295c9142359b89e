//! The body of a request.

use std::collections::HashMap;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::HeaderValue;
use serde_json::Value;
use toolcrib_model::{Fingerprint, JsonObject};

use super::style;
use crate::Error;
use crate::operation::{BoundBody, Encoding, Part, Shape};

/// Base64 as people write it: with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The content type and the bytes; `None` when the call says nothing of the body and need not.
pub(crate) fn write(
    body: &BoundBody,
    arguments: &JsonObject,
) -> Result<Option<(HeaderValue, Vec<u8>)>, Error> {
    let (argument, value) = match &body.shape {
        Shape::Whole(argument) => match arguments.get(argument) {
            Some(value) => (argument.as_str(), value.clone()),
            None if body.required => return Err(Error::argument(argument, "is required and has no value")),
            None => return Ok(None),
        },
        Shape::Fields(names) => {
            let given: JsonObject =
                names.iter().filter_map(|name| Some((name.clone(), arguments.get(name)?.clone()))).collect();
            if given.is_empty() && !body.required {
                return Ok(None);
            }
            ("body", Value::Object(given))
        }
    };
    let fields =
        || value.as_object().ok_or_else(|| Error::argument(argument, "must be an object of form fields"));
    let (media_type, bytes) = match &body.encoding {
        Encoding::Json => (body.media_type.clone(), value.to_string().into_bytes()),
        Encoding::Form(writings) => {
            let pairs: Vec<String> = fields()?
                .iter()
                .filter(|(_, value)| !value.is_null())
                .flat_map(|(name, value)| match writings.get(name) {
                    Some(writing) => style::as_pairs(name, value, *writing),
                    None => style::as_form_field(name, value),
                })
                .collect();
            (body.media_type.clone(), pairs.join("&").into_bytes())
        }
        Encoding::Multipart(parts) => {
            // A digest of the content cannot stand in the content.
            let boundary = format!("toolcrib-{}", Fingerprint::of(&value));
            let bytes = multipart(fields()?, parts, &boundary)?;
            (format!("multipart/form-data; boundary={boundary}"), bytes)
        }
        Encoding::Text => match &value {
            Value::String(text) => (body.media_type.clone(), text.clone().into_bytes()),
            _ => return Err(Error::argument(argument, "must be a text")),
        },
        Encoding::Base64 => (body.media_type.clone(), decode(argument, &value)?),
    };
    let content_type = HeaderValue::from_str(&media_type)
        .map_err(|_| Error::malformed(format!("the media type {media_type:?} cannot be sent")))?;
    Ok(Some((content_type, bytes)))
}

/// `multipart/form-data` (RFC 7578): one part for each value, lists repeated.
fn multipart(fields: &JsonObject, parts: &HashMap<String, Part>, boundary: &str) -> Result<Vec<u8>, Error> {
    let plain = Part::default();
    let mut out = Vec::new();
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let part = parts.get(name).unwrap_or(&plain);
        let values = match value {
            Value::Array(values) => values.as_slice(),
            single => std::slice::from_ref(single),
        };
        for value in values {
            let escaped = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
            let mut head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{escaped}\"");
            let (default_type, content) = match value {
                value if part.binary => {
                    head.push_str("; filename=\"");
                    head.push_str(&escaped);
                    head.push('"');
                    (Some("application/octet-stream"), decode(name, value)?)
                }
                Value::Object(_) | Value::Array(_) => {
                    (Some("application/json"), value.to_string().into_bytes())
                }
                // Text is what a part is by default.
                scalar => (None, style::text_of(scalar).into_bytes()),
            };
            if let Some(media_type) = part.media_type.as_deref().or(default_type) {
                head.push_str("\r\nContent-Type: ");
                head.push_str(media_type);
            }
            out.extend_from_slice(head.as_bytes());
            out.extend_from_slice(b"\r\n\r\n");
            out.extend_from_slice(&content);
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(out)
}

fn decode(argument: &str, value: &Value) -> Result<Vec<u8>, Error> {
    let text =
        value.as_str().ok_or_else(|| Error::argument(argument, "must be a text: the content as base64"))?;
    BASE64
        .decode(text.trim())
        .map_err(|error| Error::argument(argument, format!("is not valid base64: {error}")))
}
