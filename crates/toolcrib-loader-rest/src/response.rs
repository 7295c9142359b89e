//! From the answer of a server to the result of a call.

use std::fmt::Write as _;

use http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use toolcrib_io::http::Response;
use toolcrib_model::{ErrorKind, JsonObject, ToolError, ToolResult};
use toolcrib_policy::Call;

use crate::media::MediaKind;

/// How much of the body of a failure a model reads, in bytes.
const MAX_ERROR_BODY_BYTES: usize = 2048;

/// How many headers the result of a `HEAD` request lists.
const MAX_LISTED_HEADERS: usize = 50;

/// Makes the result. `request` is the method and path, for messages.
pub(crate) fn result(call: &Call, method: &Method, request: &str, response: &Response) -> ToolResult {
    let content_type = text(&response.headers, CONTENT_TYPE);
    let mut warning = None;
    let result = if !response.status.is_success() {
        call.failed(failure(request, response, content_type))
    } else if *method == Method::HEAD {
        call.ok(json!({"status": response.status.as_u16(), "headers": listed(&response.headers)}))
    } else {
        let (value, problem) = read(response, content_type);
        warning = problem;
        call.ok(value)
    };
    let mut result = result
        .with_metadata("status", response.status.as_u16())
        .with_metadata("elapsed_ms", u64::try_from(response.elapsed.as_millis()).unwrap_or(u64::MAX));
    if let Some(content_type) = content_type {
        result = result.with_metadata("content_type", content_type);
    }
    if response.truncated {
        result = result.with_metadata("truncated", true);
    }
    match warning {
        Some(warning) => result.with_metadata("warning", warning),
        None => result,
    }
}

/// The body as a value, and what is wrong with it.
fn read(response: &Response, content_type: Option<&str>) -> (Value, Option<String>) {
    if response.body.is_empty() {
        return (Value::Null, None);
    }
    // Servers that say nothing mostly send JSON.
    let kind = content_type.map_or(MediaKind::Json, MediaKind::of);
    if kind == MediaKind::Json && !response.truncated {
        match serde_json::from_slice(&response.body) {
            Ok(value) => return (value, None),
            Err(error) if content_type.is_some() => {
                let problem = format!("the server says that the body is JSON, and it is not: {error}");
                return (as_text(response, content_type), Some(problem));
            }
            Err(_) => {}
        }
    }
    let problem =
        response.truncated.then(|| "the body was longer than what is read, and is cut off".to_owned());
    (as_text(response, content_type), problem)
}

/// The body as a text, or what it is when it is none.
fn as_text(response: &Response, content_type: Option<&str>) -> Value {
    let is_text = content_type.is_some_and(|content_type| MediaKind::of(content_type) != MediaKind::Binary);
    match std::str::from_utf8(&response.body) {
        Ok(text) => text.into(),
        Err(_) if is_text => String::from_utf8_lossy(&response.body).into(),
        Err(_) => json!({"content_type": content_type, "bytes": response.body.len()}),
    }
}

fn failure(request: &str, response: &Response, content_type: Option<&str>) -> ToolError {
    let status = response.status;
    let mut message = format!("{request} was answered with {}", status.as_u16());
    if let Some(reason) = status.canonical_reason() {
        message.push(' ');
        message.push_str(reason);
    }
    if let Some(location) = text(&response.headers, LOCATION).filter(|_| status.is_redirection()) {
        message.push_str(", to ");
        message.push_str(location);
    }
    let beginning = response.body.get(..MAX_ERROR_BODY_BYTES).unwrap_or(&response.body);
    let is_binary = content_type.is_some_and(|content_type| MediaKind::of(content_type) == MediaKind::Binary);
    if is_binary && std::str::from_utf8(&response.body).is_err() {
        // Writing to a string cannot fail.
        let _ = write!(message, ": {} bytes of {}", response.body.len(), content_type.unwrap_or_default());
    } else if !beginning.is_empty() {
        let body = String::from_utf8_lossy(beginning);
        message.push_str(": ");
        // A character that was cut in two.
        message.push_str(body.trim_end_matches(char::REPLACEMENT_CHARACTER).trim());
        if response.truncated || beginning.len() < response.body.len() {
            message.push('…');
        }
    }
    let retryable = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    );
    let error = ToolError::new(ErrorKind::ToolFailed, message).with_retryable(retryable);
    match hint(status, &response.headers) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn hint(status: StatusCode, headers: &HeaderMap) -> Option<String> {
    Some(match status {
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
            "repair the arguments and call again".into()
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            "the server wants other credentials; the operator sets them in `headers` of this source".into()
        }
        StatusCode::NOT_FOUND | StatusCode::GONE => "check the identifiers among the arguments".into(),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => match text(headers, RETRY_AFTER) {
            Some(wait) => format!("try again after `{wait}` (seconds, or a date)"),
            None => "try again later".into(),
        },
        status if status.is_redirection() => {
            "redirects to another origin are not followed; set `base_url` of this source to where it leads"
                .into()
        }
        _ => return None,
    })
}

fn text(headers: &HeaderMap, name: http::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn listed(headers: &HeaderMap) -> JsonObject {
    headers
        .iter()
        .filter(|(name, _)| *name != SET_COOKIE)
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.into())))
        .take(MAX_LISTED_HEADERS)
        .collect()
}
