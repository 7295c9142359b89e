//! The HTTP client for authorization servers, with limits on the URLs and on the size of responses.
//!
//! URLs come from servers, so they must not lead to private addresses. Exceptions are the hosts that the operator has
//! named, which are those of the server and of the issuers, if the operator permits it for the server. A server on this
//! machine may name others on this machine.

use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use toolcrib_io::http::{HttpClient, HttpPolicy, Request, Response, names_private_address};
use toolcrib_policy::Access;
use url::{Host, Url};

use super::metadata::authorization_error;
use crate::error::{Error, chain};

/// The largest response, in bytes.
pub(super) const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The time limit for a response.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// The largest number of redirects of a document, all within the same origin. Token and registration requests are not
/// redirected.
const MAX_REDIRECTS: usize = 3;

/// A client for requests to authorization servers.
#[derive(Debug)]
pub(super) struct AuthHttpClient {
    /// The client for hosts that servers name.
    strict: HttpClient,
    /// The client for hosts that the operator has named.
    named: HttpClient,
    /// The hosts that the operator has named and that may have private addresses.
    named_hosts: Vec<String>,
    /// True if other servers on this machine may be named.
    is_local: bool,
}

impl AuthHttpClient {
    /// Creates the client for a server. `allow_private` is the operator's permission for the server itself, `issuers`
    /// are the authorization servers that the operator has named.
    pub(super) fn new(
        server: &Url,
        allow_private: bool,
        issuers: &[Url],
        access: &Access,
    ) -> Result<Self, Error> {
        let client = |allow_private| {
            let policy = HttpPolicy {
                allow_private,
                timeout: ANSWER_TIMEOUT,
                max_response_bytes: MAX_ANSWER_BYTES,
                ..HttpPolicy::default()
            };
            let access = access.clone();
            HttpClient::new(policy)
                .map(|client| client.with_guard(move |host, port| access.allows_host(host, port)))
                .map_err(|error| authorization_error(&display_url(server), &error.to_string()))
        };
        let mut named_hosts = Vec::new();
        if allow_private {
            named_hosts.extend(server.host_str().map(str::to_owned));
        }
        for issuer in issuers.iter().filter(|issuer| allow_private || names_private_address(issuer)) {
            named_hosts.extend(issuer.host_str().map(str::to_owned));
        }
        Ok(Self {
            strict: client(false)?,
            named: client(true)?,
            named_hosts,
            is_local: allow_private && is_loopback(server),
        })
    }

    /// Refuses a forbidden URL, before its host is resolved.
    pub(super) fn check(&self, url: &Url) -> Result<(), Error> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(authorization_error(&display_url(url), "its URL has a user or a password"));
        }
        if url.scheme() != "https"
            && !(url.scheme() == "http" && self.permits_private(url) && is_loopback(url))
        {
            let problem = "its URL is not https; tokens are sent over http only to this machine";
            return Err(authorization_error(&display_url(url), problem));
        }
        if !self.permits_private(url) && names_private_address(url) {
            let problem =
                "its address is not public; if that is intended, set `auth.issuer` and `allow_private`";
            return Err(authorization_error(&display_url(url), problem));
        }
        self.client(url)
            .check_url(url)
            .map_err(|error| authorization_error(&display_url(url), &chain(&error)))
    }

    /// Returns true if the URL may lead to a private address.
    fn permits_private(&self, url: &Url) -> bool {
        let is_named = url.host_str().is_some_and(|host| self.named_hosts.iter().any(|named| named == host));
        is_named || self.is_local && is_loopback(url)
    }

    fn client(&self, url: &Url) -> &HttpClient {
        if self.permits_private(url) { &self.named } else { &self.strict }
    }

    /// Fetches a document. Returns `None` if it does not exist.
    pub(super) async fn document<T: DeserializeOwned>(&self, url: &Url) -> Result<Option<T>, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let request =
            Request::new(Method::GET, url.clone()).with_headers(headers).with_redirects(MAX_REDIRECTS);
        let response = self.send(request).await?;
        if is_transient(response.status) {
            return Err(failed(url, &format!("the answer was {}", response.status), true));
        }
        if response.status != StatusCode::OK {
            return Ok(None);
        }
        Ok(serde_json::from_slice(&response.body).ok())
    }

    /// Posts a body and returns the response, regardless of its status.
    pub(super) async fn post(
        &self,
        url: &Url,
        content_type: &'static str,
        mut headers: HeaderMap,
        body: String,
    ) -> Result<Response, Error> {
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.send(Request::new(Method::POST, url.clone()).with_headers(headers).with_body(body)).await
    }

    async fn send(&self, request: Request) -> Result<Response, Error> {
        self.check(&request.url)?;
        let url = request.url.clone();
        let response = self.client(&url).send(request).await;
        let response = response.map_err(|error| {
            let is_transient = !matches!(
                error,
                toolcrib_io::Error::AddressRefused { .. } | toolcrib_io::Error::HostNotAllowed { .. }
            );
            failed(&url, &chain(&error), is_transient)
        })?;
        if response.truncated {
            let problem = format!("its answer has more than {MAX_ANSWER_BYTES} bytes");
            return Err(failed(&url, &problem, false));
        }
        Ok(response)
    }
}

/// Returns true if a later request may get another status.
pub(super) fn is_transient(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY
        )
}

pub(super) fn failed(url: &Url, problem: &str, is_transient: bool) -> Error {
    Error::Authorization { at: display_url(url), problem: problem.to_owned(), is_transient }
}

/// Returns true if the host is this machine, by name or address.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns the URL without its query, which may contain a key.
pub(super) fn display_url(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}
