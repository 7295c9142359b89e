//! HTTP responses that reject a request.

use std::time::Duration;

use axum::body::Body;
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use rmcp::model::ErrorData;
use serde_json::Value;

use super::auth::AuthError;
use crate::protocol::strict_json;

/// Returns a response with a status and a sentence.
pub(super) fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{text}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Returns a response that closes the connection, because the request was not read to its end.
pub(super) fn last(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = plain(status, text);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Returns the response to a request without valid authentication.
pub(super) fn refused(refusal: &AuthError, challenge: &str) -> Response<Body> {
    let (status, text) = match refusal {
        AuthError::Missing | AuthError::Wrong => {
            (StatusCode::UNAUTHORIZED, "this server requires a bearer token".to_owned())
        }
        AuthError::Invalid(error) => (StatusCode::UNAUTHORIZED, format!("{error}; get another one")),
        AuthError::Insufficient(_) => {
            (StatusCode::FORBIDDEN, "the token is valid, but grants no access to this server".to_owned())
        }
        AuthError::Unavailable(wait) => {
            let text =
                "the keys of the authorization server are unavailable, so its tokens cannot be checked";
            return later(StatusCode::SERVICE_UNAVAILABLE, text, *wait);
        }
    };
    let mut response = last(status, &text);
    if let Ok(value) = HeaderValue::try_from(challenge) {
        response.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
    response
}

/// Returns the response to a client that exceeds its rate or its number of open requests.
pub(super) fn too_many(wait: Duration) -> Response<Body> {
    later(StatusCode::TOO_MANY_REQUESTS, "this client sends too many requests", wait)
}

/// Returns the response if the bodies of other requests use all the memory.
pub(super) fn no_room() -> Response<Body> {
    let text = "too many large messages come in at once; send this one again, or a smaller one";
    later(StatusCode::SERVICE_UNAVAILABLE, text, Duration::from_secs(1))
}

/// Returns the response if another part of the app cannot be reached now.
pub(super) fn unavailable(text: &str) -> Response<Body> {
    later(StatusCode::SERVICE_UNAVAILABLE, text, Duration::from_secs(1))
}

/// Returns a rejection that asks the client to retry later.
fn later(status: StatusCode, text: &str, wait: Duration) -> Response<Body> {
    let mut response = last(status, text);
    let seconds = wait.as_secs_f64().ceil().max(1.0);
    if let Ok(value) = HeaderValue::try_from(seconds.to_string()) {
        response.headers_mut().insert(RETRY_AFTER, value);
    }
    response
}

/// Returns the response to a body that is not a valid message.
pub(super) fn unreadable(id: Option<&Value>, error: &ErrorData) -> Response<Body> {
    json_rpc(StatusCode::BAD_REQUEST, id, error)
}

/// Returns the response to a request that the shutdown of the server interrupts. A client takes it for the answer to
/// its call, which would not be the case for a bare status.
pub(super) fn interrupted(id: &Value) -> Response<Body> {
    json_rpc_text(StatusCode::OK, shut_down(id).to_string())
}

/// Returns the error message that answers a request which the shutdown of the server interrupts.
pub(super) fn shut_down(id: &Value) -> Value {
    let error = ErrorData::internal_error(
        "the server was shut down before the request had ended; find out what it has done before you send it again",
        None,
    );
    strict_json::answer(Some(id), &error)
}

fn json_rpc(status: StatusCode, id: Option<&Value>, error: &ErrorData) -> Response<Body> {
    json_rpc_text(status, strict_json::answer(id, error).to_string())
}

fn json_rpc_text(status: StatusCode, message: String) -> Response<Body> {
    let mut response = Response::new(Body::from(message));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
