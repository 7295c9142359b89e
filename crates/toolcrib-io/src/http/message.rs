//! A request and the answer to it.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The address, `http` or `https`.
    pub url: Url,
    /// The headers. Mark those that hold a key as [sensitive](http::HeaderValue::set_sensitive).
    pub headers: HeaderMap,
    /// The body.
    pub body: Option<Bytes>,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None }
    }

    /// Sets the headers.
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// Sets the body.
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Some(body.into());
        self
    }
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status, whatever it is: an error status is an answer.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, or its beginning.
    pub body: Bytes,
    /// Whether the body was longer than the policy lets be read.
    pub truncated: bool,
    /// From the call of `send` to the end of the body.
    pub elapsed: Duration,
}
