//! The headers that a call may send.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use toolcrib_model::ToolError;

use super::errors::invalid;

/// The maximum number of headers in a call.
pub const MAX_HEADERS: usize = 32;

/// The maximum length of the value of a header, in bytes.
const MAX_HEADER_BYTES: usize = 4 * 1024;

/// The maximum length of an invalid name that an error repeats, in characters.
const MAX_NAMED_CHARS: usize = 40;

/// The headers of the transport, which the client sets.
const CONNECTION_HEADERS: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "trailers",
    "transfer-encoding",
    "upgrade",
];

/// The headers with credentials, which only the operator sets.
const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "set-cookie"];

/// The headers that do not identify the caller, and are sent along when a redirect leads to another origin.
const PORTABLE: [&str; 7] =
    ["accept", "accept-language", "if-modified-since", "if-none-match", "if-range", "range", "user-agent"];

/// Checks and converts the headers of a call.
pub(super) fn from_call(given: &BTreeMap<String, String>) -> Result<HeaderMap, ToolError> {
    if given.len() > MAX_HEADERS {
        let message = format!("`headers` has {} entries, at most {MAX_HEADERS} are sent", given.len());
        return Err(invalid(message).with_hint("leave out those that the server does not need"));
    }
    let mut headers = HeaderMap::with_capacity(given.len());
    for (name, value) in given {
        let shown: String = name.chars().take(MAX_NAMED_CHARS).collect();
        let wrong = |problem: String| invalid(format!("the header `{shown}` {problem}"));
        let parsed = HeaderName::from_bytes(name.as_bytes());
        let parsed = parsed.map_err(|_| {
            wrong("has no name that a header can have".into())
                .with_hint("a name is of letters, digits and `-`")
        })?;
        let is_of = |list: &[&str]| list.contains(&parsed.as_str());
        if is_of(&CREDENTIALS) {
            let hint = "the operator sets credentials for an origin under `headers`, and they are sent \
                        automatically: leave it out, or ask the user";
            return Err(wrong("cannot be set by a call".into()).with_hint(hint).with_setting("headers"));
        }
        if is_of(&CONNECTION_HEADERS) || parsed.as_str().starts_with("proxy-") {
            return Err(wrong("is set by the client itself".into()).with_hint("leave it out"));
        }
        if value.len() > MAX_HEADER_BYTES {
            let problem = format!("has {} bytes, at most {MAX_HEADER_BYTES} are sent", value.len());
            return Err(wrong(problem).with_hint("send what is long in the body"));
        }
        let value = HeaderValue::from_str(value).map_err(|_| {
            wrong("has a control character in it".into()).with_hint("write it in one line of plain text")
        })?;
        headers.insert(parsed, value);
    }
    Ok(headers)
}

/// Returns the headers that may be sent to an origin that the call did not name.
pub(super) fn portable(headers: &HeaderMap) -> HeaderMap {
    let portable = headers.iter().filter(|(name, _)| PORTABLE.contains(&name.as_str()));
    portable.map(|(name, value)| (name.clone(), value.clone())).collect()
}
