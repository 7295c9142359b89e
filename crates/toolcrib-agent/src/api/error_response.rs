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

/// The message of Anthropic for an account without credit, which comes as an invalid request.
const NO_CREDIT: &str = "credit balance is too low";

/// The message of the Responses API for a model that cannot return its reasoning, since it has none.
const NO_ENCRYPTION: &str = "Encrypted content is not supported";

/// The statuses of errors that come with a name alone.
const STATUSES: [(&str, u16); 12] = [
    ("invalid_request_error", 400),
    ("invalid_prompt", 400),
    ("authentication_error", 401),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("rate_limit_error", 429),
    ("rate_limit_exceeded", 429),
    ("api_error", 500),
    ("server_error", 500),
    ("timeout_error", 504),
    ("overloaded_error", 529),
];

/// Returns the error of an answer with a status of failure, from the endpoint at this URL.
pub(super) fn refusal(
    (endpoint, url): (&Endpoint, String),
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Error {
    let text = String::from_utf8_lossy(body);
    let body = match serde_json::from_slice::<Value>(body).unwrap_or_default() {
        // Gemini sends a list of one to a client that asked for a stream.
        Value::Array(mut list) if !list.is_empty() => list.swap_remove(0),
        body => body,
    };
    let message = message_of(&body).map_or_else(|| text.into_owned(), ToOwned::to_owned);
    let message = match headers.get(LOCATION).and_then(|location| location.to_str().ok()) {
        Some(location) if status.is_redirection() => {
            format!("it redirects to {location}, which is not followed")
        }
        _ if message.trim().is_empty() => "(no message)".to_owned(),
        _ => message,
    };
    if is_overflow(status.as_u16(), &body, &message) {
        return Error::ContextOverflow { url, message: endpoint.clean(&message) };
    }
    if is_out_of_quota(status.as_u16(), &body) {
        return Error::QuotaExhausted { url, message: endpoint.clean(&message) };
    }
    let retry_after = retry_after(headers).or_else(|| retry_delay(&body));
    let mut hint = hint(endpoint, status, &message);
    if retry_after.is_some_and(|wanted| wanted > MAX_RETRY_DELAY) {
        hint.push_str("; it wants to be left alone for longer than is waited for");
    }
    Error::Refused {
        url,
        status: status.as_u16(),
        message: endpoint.clean(&message),
        hint: Some(hint),
        retry_after,
    }
}

/// Returns true if the account has no quota left, rather than too many requests at once.
fn is_out_of_quota(status: u16, body: &Value) -> bool {
    let error = body.get("error").unwrap_or(body);
    let says = |key: &str| error.get(key).and_then(Value::as_str) == Some(INSUFFICIENT_QUOTA);
    let has_no_credit = || message_of(error).is_some_and(|message| message.contains(NO_CREDIT));
    status == StatusCode::PAYMENT_REQUIRED.as_u16() || says("code") || says("type") || has_no_credit()
}

/// Returns the pause that the server asks for: in seconds, as a date, or in milliseconds in the header of some servers.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let milliseconds = header_text(headers, HeaderName::from_static(RETRY_AFTER_MS));
    let milliseconds = milliseconds.and_then(|value| value.trim().parse().ok()).map(Duration::from_millis);
    milliseconds.or_else(|| toolcrib_io::http::retry_after(headers))
}

/// Returns the pause that Gemini asks for, in the details of its error.
fn retry_delay(body: &Value) -> Option<Duration> {
    let details = body.pointer("/error/details").and_then(Value::as_array)?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

/// Returns the status of an error in a stream: its number, or that of its name.
fn status_of(error: &Value) -> Option<u16> {
    if let Some(code) = error.get("code").and_then(Value::as_u64) {
        return u16::try_from(code).ok();
    }
    let named =
        |key: &str| STATUSES.iter().find(|(name, _)| error.get(key).and_then(Value::as_str) == Some(name));
    ["code", "type"].into_iter().find_map(named).map(|(_, status)| *status)
}

/// Returns the error of an answer that holds one under a status of success, as streams do that fail on their way.
pub(super) fn refusal_within((endpoint, url): (&Endpoint, String), error: &Value) -> Error {
    let status = status_of(error);
    let message = message_of(error).map_or_else(|| error.to_string(), ToOwned::to_owned);
    if is_overflow(status.unwrap_or(StatusCode::OK.as_u16()), error, &message) {
        return Error::ContextOverflow { url, message: endpoint.clean(&message) };
    }
    if is_out_of_quota(StatusCode::OK.as_u16(), error) {
        return Error::QuotaExhausted { url, message: endpoint.clean(&message) };
    }
    Error::Refused {
        url,
        status: status.unwrap_or(StatusCode::OK.as_u16()),
        message: endpoint.clean(&message),
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

impl Endpoint {
    /// Returns a message as it may be shown: in one line, bounded, and without the key, which some servers repeat.
    pub(super) fn clean(&self, message: &str) -> String {
        let message = match self.key.last() {
            Some(key) if !key.expose().is_empty() => message.replace(key.expose(), "[secret]"),
            _ => message.to_owned(),
        };
        let message =
            message.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        let message = message.collect::<Vec<_>>().join(" ");
        ellipsize_chars(&message, MAX_MESSAGE_CHARS).into_owned()
    }
}

fn hint(endpoint: &Endpoint, status: StatusCode, message: &str) -> String {
    if message.contains(NO_ENCRYPTION) {
        return "the model does not reason; set `extra: {include: []}` of its `brain`".to_owned();
    }
    match (status.as_u16(), endpoint.provider.key_variable()) {
        (300..=399, _) => "set `base_url` to where the API is".to_owned(),
        (401 | 403, Some(variable)) if endpoint.key.last().is_none() => format!(
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
