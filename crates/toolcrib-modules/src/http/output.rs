//! The results of requests.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::UTF_8;
use http::Method;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_io::http::{Response, all_headers, essence, header_text, selected_headers};
use toolcrib_model::ToolError;

use super::charset::{decode_text, is_json};
use super::errors::{failed, status_error};
use super::final_response::FinalResponse;

/// The media type of bytes of an unknown type.
const UNKNOWN: &str = "application/octet-stream";

/// The maximum length of a media type in a result, in characters.
const MAX_MEDIA_TYPE_BYTES: usize = 100;

/// The response of a server, with any status.
#[derive(Serialize, JsonSchema)]
pub(super) struct ResponseOutput {
    /// The status.
    status: u16,
    /// True if the status is 200 to 299.
    ok: bool,
    /// The URL of the response, after redirects.
    #[serde(skip_serializing_if = "Option::is_none")]
    redirected_to: Option<String>,
    /// The content type, as the server declares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// The headers that describe the content; all of them for `HEAD`.
    headers: BTreeMap<String, String>,
    /// JSON as a value, else the text; of an image or other data its type, size and `handle`. Null if there is no body.
    body: Value,
    /// Further remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    notes: Vec<String>,
}

/// The data of a successful response.
#[derive(Serialize, JsonSchema)]
pub(super) struct ApiOutput {
    /// The status.
    status: u16,
    /// The headers about pages, limits and versions.
    headers: BTreeMap<String, String>,
    /// The data of the response. Null if it is empty.
    data: Value,
}

pub(super) fn response(method: &Method, received: FinalResponse) -> ResponseOutput {
    let response = &received.response;
    let is_head = *method == Method::HEAD;
    let mut notes = Vec::from_iter(received.redirect_refusal);
    let body = if is_head { Value::Null } else { body(response, &mut notes) };
    ResponseOutput {
        status: response.status.as_u16(),
        ok: response.status.is_success(),
        redirected_to: received.was_redirected.then(|| received.url.to_string()),
        content_type: header_text(&response.headers, CONTENT_TYPE).map(shortened),
        headers: if is_head {
            all_headers(&response.headers).collect()
        } else {
            selected_headers(&response.headers).collect()
        },
        body,
        notes,
    }
}

pub(super) fn api_data(method: &Method, received: &FinalResponse) -> Result<ApiOutput, ToolError> {
    let response = &received.response;
    if !response.status.is_success() {
        return Err(status_error(method, received));
    }
    let shown = received.shown();
    if response.truncated {
        let message =
            format!("the JSON of {shown} is longer than {} bytes, which are read", response.body.len());
        return Err(failed(message).with_hint("ask for less of it, as by a page; or use `http.download`"));
    }
    let body = response.body.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(&response.body);
    let no_json = |error| {
        let declared = header_text(&response.headers, CONTENT_TYPE).map_or("no type".into(), shortened);
        failed(format!("the response of {shown}, of {declared}, is not JSON: {error}"))
            .with_hint("`http.get` shows a response as it is, `http.fetch_page` the text of a page")
    };
    let data = if body.is_empty() { Value::Null } else { serde_json::from_slice(body).map_err(no_json)? };
    Ok(ApiOutput {
        status: response.status.as_u16(),
        headers: selected_headers(&response.headers).collect(),
        data,
    })
}

/// Returns the body as a value. The declared content type is a hint; the bytes decide.
fn body(response: &Response, notes: &mut Vec<String>) -> Value {
    let body = &response.body;
    if body.is_empty() {
        return Value::Null;
    }
    if let Some(encoding) = compression(response) {
        notes.push(format!("the body is compressed by {encoding}, which was not asked for"));
        return blob(body, UNKNOWN);
    }
    let content_type = header_text(&response.headers, CONTENT_TYPE);
    let kind = content_type.map(essence);
    let is_cut = response.truncated;
    let text = decode_text(body, content_type, is_cut);
    if let Some(decoded) = text {
        if is_cut {
            let read = body.len();
            notes.push(format!(
                "the body is longer than {read} bytes and was cut; `http.download` fetches all of it"
            ));
        }
        if decoded.is_wrong {
            notes.push(format!("bytes that are not {} are shown as \u{FFFD}", decoded.encoding.name()));
        }
        // Servers that declare no content type mostly send JSON.
        if kind.as_deref().is_none_or(is_json) && !is_cut {
            match serde_json::from_str(&decoded.text) {
                Ok(value) => return value,
                Err(error) if kind.is_some() => {
                    notes.push(format!("the server says that the body is JSON, and it is not: {error}"));
                }
                Err(_) => {}
            }
        }
        if decoded.encoding != UTF_8 {
            notes.push(format!("decoded from {}", decoded.encoding.name()));
        }
        return decoded.text.into();
    }
    if is_cut {
        notes.push(format!(
            "the body is data of more than {} bytes, and is left out; `http.download` fetches it",
            body.len()
        ));
        return Value::Null;
    }
    blob(body, content_type.unwrap_or(UNKNOWN))
}

/// Returns data in the format of binary results, for which the executor stores the data and creates a handle.
fn blob(body: &[u8], media_type: &str) -> Value {
    let (media_type, data) = (shortened(media_type), STANDARD.encode(body));
    if essence(&media_type).starts_with("image/") {
        json!({"type": "image", "mimeType": media_type, "data": data})
    } else {
        json!({"mimeType": media_type, "bytes": body.len(), "blob": data})
    }
}

/// Returns the compression of a body, which the client neither asks for nor undoes.
pub(super) fn compression(response: &Response) -> Option<String> {
    let encoding = header_text(&response.headers, CONTENT_ENCODING)?.trim();
    (!encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity")).then(|| shortened(encoding))
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_MEDIA_TYPE_BYTES).collect()
}
