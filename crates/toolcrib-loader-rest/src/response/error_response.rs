//! The error for a response with a status other than 2xx.

use std::fmt::Write as _;

use http::header::LOCATION;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use toolcrib_io::http::{Response, essence, header_text, may_pass, retry_after};
use toolcrib_model::text::truncate_bytes;
use toolcrib_model::{ErrorKind, JsonObject, ToolError};

use super::body;
use crate::auth::SentCredentials;

/// The most bytes of the body of a failure that the error includes.
const MAX_BODY_BYTES: usize = 2048;

/// The media type of problem details (RFC 9457).
const PROBLEM: &str = "application/problem+json";

/// The members of problem details that are not repeated in the error.
const KNOWN_MEMBERS: [&str; 4] = ["status", "title", "detail", "type"];

/// Returns the error: status, reason, and the beginning of the body.
pub(super) fn error(
    asked: &str,
    response: &Response,
    content_type: Option<&str>,
    sent: &SentCredentials,
) -> ToolError {
    let status = response.status;
    let mut message = format!("{asked} was answered with {}", status.as_u16());
    if let Some(reason) = status.canonical_reason() {
        message.push(' ');
        message.push_str(reason);
    }
    if let Some(location) = header_text(&response.headers, LOCATION).filter(|_| status.is_redirection()) {
        message.push_str(", to ");
        message.push_str(location);
    }
    if let Some(text) = body_excerpt(response, content_type) {
        message.push_str(": ");
        message.push_str(&text);
    }
    // The retry also depends on whether the tool is idempotent.
    let error = ToolError::new(ErrorKind::ToolFailed, message).with_retryable(may_pass(status));
    match hint(status, &response.headers, sent) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Returns the body, truncated to [`MAX_BODY_BYTES`]: the text of problem details, other text, or the size of binary
/// content.
fn body_excerpt(response: &Response, content_type: Option<&str>) -> Option<String> {
    if content_type.is_some_and(|content_type| essence(content_type) == PROBLEM)
        && let Ok(Value::Object(problem)) = serde_json::from_slice(&response.body)
        && let Some(text) = problem_text(problem, response.status.canonical_reason())
    {
        return Some(shortened(&text, false));
    }
    // One more character is decoded, so that truncation is detected.
    let beginning = response.body.get(..=MAX_BODY_BYTES + char::MAX_LEN_UTF8).unwrap_or(&response.body);
    let is_cut = response.truncated || beginning.len() < response.body.len();
    match body::text(beginning, content_type, is_cut) {
        Some(text) if text.trim().is_empty() => None,
        Some(text) => Some(shortened(text.trim(), is_cut)),
        None => Some(format!("{} bytes of {}", response.body.len(), content_type.unwrap_or("unknown data"))),
    }
}

/// Returns the title, the detail and the other members. A title that equals the reason of the status is dropped.
fn problem_text(mut problem: JsonObject, reason: Option<&str>) -> Option<String> {
    let text = |key: &str| problem.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let is_new = |text: &&str| reason.is_none_or(|reason| !reason.eq_ignore_ascii_case(text));
    let parts: Vec<&str> = text("title").filter(is_new).into_iter().chain(text("detail")).collect();
    let mut text = Some(parts.join(": ")).filter(|text| !text.is_empty())?;
    problem.retain(|key, _| !KNOWN_MEMBERS.contains(&key.as_str()));
    if !problem.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, " {}", Value::Object(problem));
    }
    Some(text)
}

fn shortened(text: &str, is_cut: bool) -> String {
    let beginning = truncate_bytes(text, MAX_BODY_BYTES);
    if is_cut || beginning.len() < text.len() { format!("{beginning}…") } else { text.to_owned() }
}

fn hint(status: StatusCode, headers: &HeaderMap, sent: &SentCredentials) -> Option<String> {
    Some(match status {
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
            "repair the arguments and call again".into()
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if sent.withheld => {
            "the credential of this source is for another origin than this server, and was not sent; the operator sets \
             `base_url`, or the `origin` of the credential"
                .into()
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            "the server requires other credentials; the operator sets them in `auth` of this source".into()
        }
        StatusCode::NOT_FOUND | StatusCode::GONE => "check the identifiers among the arguments".into(),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            match retry_after(headers) {
                Some(wait) => format!("try again after {} s", wait.as_secs()),
                None => "try again later".into(),
            }
        }
        status if status.is_redirection() => {
            "redirects to another origin are not followed; set `base_url` of this source to their target"
                .into()
        }
        _ => return None,
    })
}
