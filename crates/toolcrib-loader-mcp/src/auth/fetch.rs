//! The door to authorization servers: which URLs may be reached, and how much of an answer is read.
//!
//! URLs come from servers, so none of them may lead to an address of the private network. Only the hosts that the
//! operator wrote down, that of the server and that of the issuer, are reached where the operator's leave for the
//! server goes; and a server on this machine may name others on it.

use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use toolcrib_io::http::{HttpClient, HttpPolicy, Request, Response, names_private_address};
use toolcrib_policy::Access;
use url::{Host, Url};

use super::metadata::refused;
use crate::error::{Error, chain};

/// The most bytes that are read of an answer.
pub(super) const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// How long an authorization server may take for an answer.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// How many redirects of a document are followed, all at the same origin. Tokens and clients are not asked for by way
/// of redirects at all.
const MAX_REDIRECTS: usize = 3;

/// Reaches authorization servers.
#[derive(Debug)]
pub(super) struct Door {
    /// For hosts that servers name.
    strict: HttpClient,
    /// For hosts that the operator named.
    named: HttpClient,
    /// The hosts that the operator named, of those that may have private addresses.
    named_hosts: Vec<String>,
    /// Whether others on this machine may be named.
    is_local: bool,
}

impl Door {
    /// The door for a server. `allow_private` is the leave that the operator gave for the server itself, `issuers` are
    /// the authorization servers that the operator named.
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
                .map_err(|error| refused(&shown(server), &error.to_string()))
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

    /// Refuses a URL that may not be reached, as far as can be told before its host is looked up.
    pub(super) fn check(&self, url: &Url) -> Result<(), Error> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused(&shown(url), "its URL has a user or a password"));
        }
        if url.scheme() != "https" && !(url.scheme() == "http" && self.is_open(url) && is_loopback(url)) {
            let problem = "its URL is not https, and tokens go over nothing else but to this machine";
            return Err(refused(&shown(url), problem));
        }
        if !self.is_open(url) && names_private_address(url) {
            let problem =
                "its address is not public; where that is meant, set `auth.issuer` and `allow_private`";
            return Err(refused(&shown(url), problem));
        }
        self.client(url).check_url(url).map_err(|error| refused(&shown(url), &chain(&error)))
    }

    /// Whether the URL may lead to a private address.
    fn is_open(&self, url: &Url) -> bool {
        let is_named = url.host_str().is_some_and(|host| self.named_hosts.iter().any(|named| named == host));
        is_named || self.is_local && is_loopback(url)
    }

    fn client(&self, url: &Url) -> &HttpClient {
        if self.is_open(url) { &self.named } else { &self.strict }
    }

    /// Fetches a document. `None` when there is none.
    pub(super) async fn document<T: DeserializeOwned>(&self, url: &Url) -> Result<Option<T>, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let request =
            Request::new(Method::GET, url.clone()).with_headers(headers).with_redirects(MAX_REDIRECTS);
        let response = self.send(request).await?;
        if passes(response.status) {
            return Err(failed(url, &format!("the answer was {}", response.status), true));
        }
        if response.status != StatusCode::OK {
            return Ok(None);
        }
        Ok(serde_json::from_slice(&response.body).ok())
    }

    /// Posts a body and returns the answer, whatever its status.
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
            let passes = !matches!(
                error,
                toolcrib_io::Error::AddressRefused { .. } | toolcrib_io::Error::HostNotAllowed { .. }
            );
            failed(&url, &chain(&error), passes)
        })?;
        if response.truncated {
            let problem = format!("its answer has more than {MAX_ANSWER_BYTES} bytes");
            return Err(failed(&url, &problem, false));
        }
        Ok(response)
    }
}

/// Whether a status may be another one later.
pub(super) fn passes(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY
        )
}

pub(super) fn failed(url: &Url, problem: &str, passes: bool) -> Error {
    Error::Authorization { at: shown(url), problem: problem.to_owned(), passes }
}

/// Whether the host is this machine by its name or address.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The URL without what may be a key.
pub(super) fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}
