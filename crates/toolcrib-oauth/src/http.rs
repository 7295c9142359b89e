//! The HTTP clients for authorization servers, with limits on the time and the size of responses.

use std::time::Duration;

use http::Method;
use http::header::{ACCEPT, HeaderMap, HeaderValue};
use toolcrib_io::http::{HttpClient, HttpPolicy, Request};
use url::Url;

use crate::MAX_ANSWER_BYTES;

/// The time limit for a response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// The largest number of redirects of a document, all within the same origin. Token and registration requests are not
/// redirected.
const MAX_REDIRECTS: usize = 3;

/// The media type of all documents and responses.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Creates a client.
pub(crate) fn client(allow_private: bool) -> Result<HttpClient, toolcrib_io::Error> {
    HttpClient::new(HttpPolicy {
        allow_private,
        timeout: ANSWER_TIMEOUT,
        max_response_bytes: MAX_ANSWER_BYTES,
        ..HttpPolicy::default()
    })
}

/// Returns the request for a document.
pub(crate) fn document_request(url: &Url) -> Request {
    let headers = HeaderMap::from_iter([(ACCEPT, JSON)]);
    Request::new(Method::GET, url.clone()).with_headers(headers).with_redirects(MAX_REDIRECTS)
}
