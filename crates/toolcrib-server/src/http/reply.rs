//! Answers that turn a request away.

use std::time::Duration;

use axum::body::Body;
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use rmcp::model::ErrorData;

use super::access::Refusal;
use crate::strict;

/// A status with a sentence.
pub(super) fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{text}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// One whose request was not read to its end, so that nothing can follow it.
pub(super) fn last(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = plain(status, text);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// A token is wanted, or another one.
pub(super) fn unauthorized(refusal: Refusal) -> Response<Body> {
    let mut response = last(StatusCode::UNAUTHORIZED, "this server wants a token of its own, as a bearer");
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(refusal.challenge()));
    response
}

/// Too much, or too often.
pub(super) fn too_many(wait: Duration) -> Response<Body> {
    let mut response = last(StatusCode::TOO_MANY_REQUESTS, "this client asks too much at once");
    let seconds = wait.as_secs_f64().ceil().max(1.0);
    if let Ok(value) = HeaderValue::try_from(seconds.to_string()) {
        response.headers_mut().insert(RETRY_AFTER, value);
    }
    response
}

/// What cannot be a message.
pub(super) fn unreadable(id: Option<&serde_json::Value>, error: &ErrorData) -> Response<Body> {
    let mut response = Response::new(Body::from(strict::answer(id, error).to_string()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
