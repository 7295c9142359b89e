//! The conversion of a response body to a value. The declared content type is a hint; the bytes decide.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::Encoding;
use serde_json::{Value, json};
use toolcrib_io::http::{Response, essence, media_type_parameter};

use crate::media_type::MediaKind;

/// The byte order mark that some servers put in front of JSON.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The media type of unknown bytes.
const UNKNOWN: &str = "application/octet-stream";

const CUT_OFF: &str = "the body exceeds the size limit and is truncated";

/// Returns the value, and a description of the problem with it, if any.
pub(super) fn read(response: &Response, content_type: Option<&str>) -> (Value, Option<String>) {
    let body = response.body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&response.body);
    if body.is_empty() {
        return (Value::Null, None);
    }
    let cut_off = response.truncated.then(|| CUT_OFF.to_owned());
    // Servers that declare no content type mostly send JSON.
    let kind = content_type.map_or(MediaKind::Json, MediaKind::of);
    let mut problem = cut_off;
    if kind == MediaKind::Json && !response.truncated {
        match serde_json::from_slice(body) {
            Ok(value) => return (value, None),
            Err(error) if content_type.is_some() => {
                problem = Some(format!("the server declares the body as JSON, but it is not: {error}"));
            }
            Err(_) => {}
        }
    }
    let is_unknown = content_type.is_none_or(|content_type| essence(content_type) == UNKNOWN);
    if kind != MediaKind::Binary || is_unknown {
        match text(body, content_type, response.truncated) {
            Some(text) => return (text.into(), problem),
            None if is_unknown => {}
            None => {
                problem =
                    problem.or_else(|| Some("the server declares the body as text, but it is not".into()));
            }
        }
    }
    let media_type = content_type.unwrap_or(UNKNOWN);
    (json!({"mimeType": media_type, "bytes": body.len(), "blob": STANDARD.encode(body)}), problem)
}

/// Returns the body as text: as UTF-8 if it is valid, regardless of the declared encoding, or else in that encoding.
/// Returns `None` if the body is not text.
pub(super) fn text(body: &[u8], content_type: Option<&str>, is_cut: bool) -> Option<String> {
    let error = match std::str::from_utf8(body) {
        Ok(text) if text.contains('\0') => return None,
        Ok(text) => return Some(text.to_owned()),
        Err(error) => error,
    };
    // The last character was truncated.
    if is_cut && error.error_len().is_none() {
        return std::str::from_utf8(body.get(..error.valid_up_to())?).ok().map(str::to_owned);
    }
    let charset = content_type.and_then(|content_type| media_type_parameter(content_type, "charset"))?;
    let encoding = Encoding::for_label(charset.as_bytes())?;
    let (text, is_broken) = encoding.decode_without_bom_handling(body);
    (!is_broken && !text.contains('\0')).then(|| text.into_owned())
}
