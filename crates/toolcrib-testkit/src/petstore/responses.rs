//! Common parts of handlers: refusals, and the parsing of bodies.

use std::fmt::Display;

use axum::Json;
use axum::body::Bytes;
use axum::extract::Query;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// An answer, or a refusal.
pub(super) type HandlerResult = Result<Response, Refusal>;

/// A refusal, sent as problem details (RFC 9457).
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    title: &'static str,
    detail: String,
    retry_after: Option<String>,
    /// The invalid property, with the problem.
    fault: Option<(&'static str, &'static str)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, title: &'static str, detail: impl Into<String>) -> Self {
        Self { status, title, detail: detail.into(), retry_after: None, fault: None }
    }

    pub(super) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Bad request", detail)
    }

    pub(super) fn missing(what: &str, id: impl Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found", format!("there is no {what} {id}"))
    }

    pub(super) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "Conflict", detail)
    }

    /// Refuses a well-formed request with an invalid property.
    pub(super) fn invalid(property: &'static str, problem: &'static str) -> Self {
        let mut refusal = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", "the values do not fit");
        refusal.fault = Some((property, problem));
        refusal
    }

    pub(super) fn with_retry_after(mut self, retry_after: Option<String>) -> Self {
        self.retry_after = retry_after;
        self
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut problem = json!({
            "type": "about:blank", "title": self.title, "status": self.status.as_u16(), "detail": self.detail,
        });
        if let Some((property, told)) = self.fault {
            set(&mut problem, "errors", json!({property: told}));
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"pets\""));
        }
        if let Some(wait) = self.retry_after.and_then(|wait| HeaderValue::try_from(wait).ok()) {
            headers.insert(RETRY_AFTER, wait);
        }
        (self.status, headers, problem.to_string()).into_response()
    }
}

pub(super) fn ok(value: &Value) -> Response {
    Json(value).into_response()
}

pub(super) fn created(value: &Value) -> Response {
    (StatusCode::CREATED, Json(value)).into_response()
}

/// Parses the body as JSON; it must have this media type.
pub(super) fn json_body(headers: &HeaderMap, body: &Bytes, media_type: &str) -> Result<Value, Refusal> {
    wants(headers, media_type)?;
    serde_json::from_slice(body).map_err(|error| Refusal::bad(format!("the body is no JSON: {error}")))
}

/// Refuses a body of another media type. A type that ends with `=` is a prefix.
pub(super) fn wants(headers: &HeaderMap, media_type: &str) -> Result<(), Refusal> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if given == media_type || (media_type.ends_with('=') && given.starts_with(media_type)) {
        return Ok(());
    }
    let detail = format!("the body has to be {media_type}, and is {given}");
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Unsupported media type", detail))
}

/// Returns the pairs of a query or of a form.
pub(super) fn pairs(encoded: &str) -> Result<Vec<(String, String)>, Refusal> {
    let wrong = || Refusal::bad("the pairs cannot be read");
    let uri: Uri = format!("/?{encoded}").parse().map_err(|_| wrong())?;
    Query::try_from_uri(&uri).map(|Query(pairs)| pairs).map_err(|_| wrong())
}

/// Sets a property; does nothing if the value is not an object.
pub(super) fn set(value: &mut Value, property: &str, to: impl Into<Value>) {
    if let Some(properties) = value.as_object_mut() {
        properties.insert(property.to_owned(), to.into());
    }
}
