//! The guard of the URLs that servers name.
//!
//! Such a URL must not lead to a private address. Exceptions are the hosts that the operator has named, which are those
//! of the server and of the issuers, if the operator permits it for the server. A server on this machine may name others
//! on this machine.

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use toolcrib_io::http::{HttpClient, Request, Response, causes, names_private_address};
use toolcrib_model::text::clean_text;
use toolcrib_policy::Access;
use url::Url;

use crate::Error;
use crate::MAX_ANSWER_BYTES;
use crate::http::{JSON, client, document_request};
use crate::metadata::is_loopback;

/// The largest number of characters of an HTTP error that is reported.
const MAX_ERROR_CHARS: usize = 4_096;

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
            client(allow_private)
                .map(|client| client.with_guard(access.host_guard()))
                .map_err(|error| Error::at_url(server, error.to_string()))
        };
        let private_issuers = issuers.iter().filter(|issuer| allow_private || names_private_address(issuer));
        let named = allow_private.then_some(server).into_iter().chain(private_issuers);
        Ok(Self {
            strict: client(false)?,
            named: client(true)?,
            named_hosts: named.filter_map(|url| url.host_str().map(str::to_owned)).collect(),
            is_local: allow_private && is_loopback(server),
        })
    }

    /// Refuses a forbidden URL, before its host is resolved.
    pub(super) fn check(&self, url: &Url) -> Result<(), Error> {
        let permits_private = self.permits_private(url);
        let problem = if !url.username().is_empty() || url.password().is_some() {
            "its URL has a user or a password"
        } else if url.scheme() != "https" && !(url.scheme() == "http" && permits_private && is_loopback(url))
        {
            "its URL is not https; tokens are sent over http only to this machine"
        } else if !permits_private && names_private_address(url) {
            "its address is not public; if that is intended, set `issuer` and `allow_private`"
        } else {
            return self.client(url).check_url(url).map_err(|error| Error::at_url(url, reason(&error)));
        };
        Err(Error::at_url(url, problem))
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
        let response = self.send(document_request(url)).await?;
        if is_transient(response.status) {
            return Err(Error::at_url(url, format!("the answer was {}", response.status)).transient(true));
        }
        let is_found = response.status == StatusCode::OK;
        Ok(if is_found { serde_json::from_slice(&response.body).ok() } else { None })
    }

    /// Posts a body and returns the response, regardless of its status.
    pub(super) async fn post(
        &self,
        url: &Url,
        content_type: &'static str,
        mut headers: HeaderMap,
        body: String,
    ) -> Result<Response, Error> {
        headers.entry(ACCEPT).or_insert(JSON);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.send(Request::new(Method::POST, url.clone()).with_headers(headers).with_body(body)).await
    }

    async fn send(&self, request: Request) -> Result<Response, Error> {
        self.check(&request.url)?;
        let url = request.url.clone();
        let response = self.client(&url).send(request).await.map_err(|error| {
            use toolcrib_io::Error::{AddressRefused, HostNotAllowed};
            let is_refused = matches!(error, AddressRefused { .. } | HostNotAllowed { .. });
            Error::at_url(&url, reason(&error)).transient(!is_refused)
        })?;
        if response.truncated {
            return Err(Error::at_url(&url, format!("its answer has more than {MAX_ANSWER_BYTES} bytes")));
        }
        Ok(response)
    }
}

/// Returns true if a later request may get another status.
pub(super) fn is_transient(status: StatusCode) -> bool {
    status.is_server_error() || toolcrib_io::http::may_pass(status)
}

fn reason(error: &toolcrib_io::Error) -> String {
    clean_text(&causes(error), MAX_ERROR_CHARS)
}
