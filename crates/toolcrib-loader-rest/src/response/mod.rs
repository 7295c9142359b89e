//! The conversion of a response to the result of a call.

mod body;
mod error_response;

#[cfg(test)]
mod tests;

use http::Method;
use http::header::CONTENT_TYPE;
use serde_json::json;
use toolcrib_io::http::{Response, all_headers, header_text, retry_after, selected_headers};
use toolcrib_model::{JsonObject, ResultNote, ToolResult};
use toolcrib_policy::Call;

use crate::auth::SentCredentials;

/// Creates the result. `asked` is the method and path, for messages.
pub(crate) fn result(
    call: &Call,
    method: &Method,
    asked: &str,
    response: &Response,
    sent: &SentCredentials,
) -> ToolResult {
    let content_type = header_text(&response.headers, CONTENT_TYPE);
    let mut warning = None;
    let mut result = if !response.status.is_success() {
        call.failed(error_response::error(asked, response, content_type, sent))
    } else if *method == Method::HEAD {
        call.ok(
            json!({"status": response.status.as_u16(), "headers": object(all_headers(&response.headers))}),
        )
    } else {
        let (value, problem) = body::read(response, content_type);
        warning = problem;
        call.ok(value)
    };
    result = result
        .with_note(ResultNote::Status(response.status.as_u16()))
        .with_metadata("elapsed_ms", u64::try_from(response.elapsed.as_millis()).unwrap_or(u64::MAX));
    if let Some(content_type) = content_type {
        result = result.with_metadata("content_type", content_type);
    }
    let selected = object(selected_headers(&response.headers));
    if !selected.is_empty() {
        result.note(ResultNote::Headers(selected));
    }
    if !response.status.is_success()
        && let Some(wait) = retry_after(&response.headers)
    {
        result.note(ResultNote::RetryAfter(wait));
    }
    if response.truncated {
        result = result.with_metadata("truncated", true);
    }
    match warning {
        Some(warning) => result.with_note(ResultNote::Warning(warning)),
        None => result,
    }
}

fn object(headers: impl Iterator<Item = (String, String)>) -> JsonObject {
    headers.map(|(name, value)| (name, value.into())).collect()
}
