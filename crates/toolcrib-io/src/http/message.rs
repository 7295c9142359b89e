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
    /// How many redirects are followed for this request, of those that stay at the same origin; 0 by default. Only
    /// methods that change nothing should have more: each hop is sent with the same method, headers and body.
    pub max_redirects: usize,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None, max_redirects: 0 }
    }

    /// Sets the headers.
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// Sets how many redirects are followed.
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

/// An answer whose body has not been read yet. Dropping it ends the connection.
#[derive(Debug)]
pub struct Incoming {
    /// The status, whatever it is.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The URL, as errors show it.
    pub(super) url: String,
    /// How long each piece may take.
    pub(super) timeout: Duration,
    pub(super) inner: reqwest::Response,
}
