//! Error responses of a server.

use std::time::Duration;

use http::header::LOCATION;
use http::{HeaderMap, HeaderName, StatusCode};
use serde_json::Value;
use toolcrib_io::http::header_text;
use toolcrib_model::text::ellipsize_chars;

use super::Endpoint;
use super::context_overflow::is_overflow;
use super::settings::MAX_RETRY_DELAY;
use crate::Error;

/// The header of some servers in addition to `Retry-After`, which has seconds only.
const RETRY_AFTER_MS: &str = "retry-after-ms";

/// The length of a server's message in an error, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// The code of `OpenAI` for an account without credit, which comes with the status of too many requests.
const INSUFFICIENT_QUOTA: &str = "insufficient_quota";

/// Returns the error of an answer with a status of failure.
pub(super) fn refusal(endpoint: &Endpoint, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    let text = String::from_utf8_lossy(body);
    let body = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let message = message_of(&body).map_or_else(|| text.into_owned(), ToOwned::to_owned);
    let message = match headers.get(LOCATION).and_then(|location| location.to_str().ok()) {
        Some(location) if status.is_redirection() => {
            format!("it redirects to {location}, which is not followed")
        }
        _ if message.trim().is_empty() => "(no message)".to_owned(),
        _ => message,
    };
    if is_overflow(status.as_u16(), &body, &message) {
        return Error::ContextOverflow { url: endpoint.url.clone(), message: clean(endpoint, &message) };
    }
    if is_out_of_quota(status.as_u16(), &body) {
        return Error::QuotaExhausted { url: endpoint.url.clone(), message: clean(endpoint, &message) };
    }
    let retry_after = retry_after(headers);
    let mut hint = hint(endpoint, status);
    if retry_after.is_some_and(|wanted| wanted > MAX_RETRY_DELAY) {
        hint.push_str("; it wants to be left alone for longer than is waited for");
    }
    Error::Refused {
        url: endpoint.url.clone(),
        status: status.as_u16(),
        message: clean(endpoint, &message),
        hint: Some(hint),
        retry_after,
    }
}

/// Returns true if the account has no quota left, rather than too many requests at once.
fn is_out_of_quota(status: u16, body: &Value) -> bool {
    let error = body.get("error").unwrap_or(body);
    let says = |key: &str| error.get(key).and_then(Value::as_str) == Some(INSUFFICIENT_QUOTA);
    status == StatusCode::PAYMENT_REQUIRED.as_u16() || says("code") || says("type")
}

/// Returns the pause that the server asks for: in seconds, as a date, or in milliseconds in the header of some servers.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let milliseconds = header_text(headers, HeaderName::from_static(RETRY_AFTER_MS));
    let milliseconds = milliseconds.and_then(|value| value.trim().parse().ok()).map(Duration::from_millis);
    milliseconds.or_else(|| toolcrib_io::http::retry_after(headers))
}

/// Returns the error of an answer that holds one under a status of success, as streams do that fail on their way.
pub(super) fn refusal_within(endpoint: &Endpoint, error: &Value) -> Error {
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let message = message_of(error).map_or_else(|| error.to_string(), ToOwned::to_owned);
    if is_overflow(status.unwrap_or(StatusCode::OK.as_u16()), error, &message) {
        return Error::ContextOverflow { url: endpoint.url.clone(), message: clean(endpoint, &message) };
    }
    if is_out_of_quota(StatusCode::OK.as_u16(), error) {
        return Error::QuotaExhausted { url: endpoint.url.clone(), message: clean(endpoint, &message) };
    }
    Error::Refused {
        url: endpoint.url.clone(),
        status: status.unwrap_or(StatusCode::OK.as_u16()),
        message: clean(endpoint, &message),
        hint: Some("the answer failed on its way; try again".to_owned()),
        retry_after: None,
    }
}

/// Returns the message in the forms that servers give their errors.
pub(super) fn message_of(body: &Value) -> Option<&str> {
    match body {
        Value::String(text) => Some(text),
        Value::Object(object) => {
            ["error", "message", "detail"].iter().find_map(|key| message_of(object.get(*key)?))
        }
        _ => None,
    }
}

/// Returns the message as it may be shown: in one line, bounded, and without the key, which some servers repeat.
pub(super) fn clean(endpoint: &Endpoint, message: &str) -> String {
    let message = match &endpoint.api_key {
        Some(key) if !key.expose().is_empty() => message.replace(key.expose(), "[secret]"),
        _ => message.to_owned(),
    };
    let message =
        message.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let message = message.collect::<Vec<_>>().join(" ");
    ellipsize_chars(&message, MAX_MESSAGE_CHARS).into_owned()
}

fn hint(endpoint: &Endpoint, status: StatusCode) -> String {
    match (status.as_u16(), endpoint.provider.key_variable()) {
        (300..=399, _) => "set `base_url` to where the API is".to_owned(),
        (401 | 403, Some(variable)) if endpoint.api_key.is_none() => format!(
            "no key was sent: that of {variable} goes to the provider's own server and to this machine only; set \
             `api_key: ${{{variable}}}` beside `base_url` to send it here"
        ),
        (401 | 403, Some(variable)) => format!("check the key in {variable}"),
        (401 | 403, None) => "the server wants a key; set `api_key`".to_owned(),
        (404, _) => "check the model's name and `base_url`".to_owned(),
        (413, _) => "the conversation is too long for this server".to_owned(),
        (429, _) => "too many requests, or no quota left; wait, or check the account".to_owned(),
        (500.., _) => "the server has trouble; try again later".to_owned(),
        // The form of a request differs from server to server above all by its tools.
        (400 | 422, _) => {
            "the server does not take what it was sent; see what it says, try another `schemas`, or \
             `native_tool_use: false` if it knows no tools"
                .to_owned()
        }
        _ => "check `base_url`".to_owned(),
    }
}
