//! Requests and responses.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

/// An HTTP request.
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
    /// The maximum number of same-origin redirects for this request; 0 by default. Only safe methods should have more: each
    /// hop is sent with the same method, headers and body.
    pub max_redirects: usize,
}

impl Request {
    /// Creates a request without headers and body.
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None, max_redirects: 0 }
    }

    /// Sets the headers.
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// Sets the maximum number of redirects.
    pub fn with_redirects(mut self, max: usize) -> Self {
        self.max_redirects = max;
        self
    }

    /// Sets the body.
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Some(body.into());
        self
    }
}

/// A response that was read.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status, which may be an error status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, or its beginning.
    pub body: Bytes,
    /// True if the body was longer than the policy allows, and was cut.
    pub truncated: bool,
    /// The time from the call of `send` to the end of the body.
    pub elapsed: Duration,
}

/// A response whose body has not been read. Dropping it closes the connection.
#[derive(Debug)]
pub struct Incoming {
    /// The status, which may be an error status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The URL, as errors show it.
    pub(super) url: String,
    /// The timeout of each chunk.
    pub(super) timeout: Duration,
    pub(super) inner: reqwest::Response,
}
