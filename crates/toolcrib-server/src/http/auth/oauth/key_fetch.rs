//! Fetching of the keys of an authorization server.
//!
//! The operator configures its URL and optionally the URL of its keys. The metadata of the server may name other URLs,
//! which must not lead to a private address unless they stay at the host that the operator configured.

use std::time::Duration;

use http::header::{ACCEPT, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde_json::Value;
use toolcrib_app::sections::serve::ServedOAuth;
use toolcrib_document::{Format, Limits, parse};
use toolcrib_io::http::{HttpClient, HttpPolicy, Request, names_private_address};
use url::Url;

use super::keys::{KeySet, MAX_JWKS_BYTES};

/// The timeout of a request to an authorization server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of redirects, all to the same origin.
const MAX_REDIRECTS: usize = 3;

/// The maximum length of an authorization server's text in the log, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// The source of the keys of an authorization server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeySource {
    issuer: String,
    issuer_url: Url,
    jwks_url: Option<Url>,
    allow_private: bool,
}

impl KeySource {
    pub(super) fn new(served: &ServedOAuth) -> Self {
        Self {
            issuer: served.issuer.clone(),
            issuer_url: served.issuer_url.clone(),
            jwks_url: served.jwks_url.clone(),
            allow_private: served.allow_private,
        }
    }

    /// Fetches the current keys. Returns an error for the log if there are no keys.
    pub(super) async fn fetch(&self) -> Result<KeySet, String> {
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let Some(bytes) = self.document(&url).await? else {
            return Err(format!("there are no keys at {url}"));
        };
        KeySet::read(&bytes).map_err(|problem| format!("the keys at {url}: {problem}"))
    }

    /// Returns the URL of the keys from the metadata of the issuer (RFC 8414, `OpenID` Connect Discovery).
    async fn discover(&self) -> Result<Url, String> {
        let path = self.issuer_url.path().trim_end_matches('/');
        let mut places = vec![
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("/.well-known/openid-configuration{path}"),
        ];
        if !path.is_empty() {
            places.push(format!("{path}/.well-known/openid-configuration"));
        }
        for place in places {
            let mut url = self.issuer_url.clone();
            url.set_path(&place);
            let Some(bytes) = self.document(&url).await? else { continue };
            let limits = Limits { max_bytes: MAX_JWKS_BYTES, ..Limits::default() };
            let metadata =
                parse(&bytes, Format::Json, &limits).map_err(|error| format!("{url}: {error}"))?.value;
            // Another issuer's metadata would bring another issuer's keys.
            if metadata.get("issuer").and_then(Value::as_str) != Some(&self.issuer) {
                return Err(format!("{url} is not the metadata of `{}`", self.issuer));
            }
            let keys = metadata.get("jwks_uri").and_then(Value::as_str);
            let keys = keys.and_then(|text| Url::parse(text).ok());
            let Some(keys) = keys else { return Err(format!("{url} names no `jwks_uri`")) };
            let stays = keys.origin() == self.issuer_url.origin();
            if keys.scheme() != "https" && !(keys.scheme() == "http" && stays) {
                return Err(format!("{url} names keys that are not at an https URL"));
            }
            return Ok(keys);
        }
        Err(format!(
            "`{}` publishes no metadata; say by `serve.oauth.jwks_url` where its keys are",
            self.issuer
        ))
    }

    /// Fetches a document, or returns `None` if the URL has no document.
    async fn document(&self, url: &Url) -> Result<Option<bytes::Bytes>, String> {
        let is_written = url.host() == self.issuer_url.host() || self.jwks_url.as_ref() == Some(url);
        let policy = HttpPolicy {
            allow_private: self.allow_private || is_written && names_private_address(url),
            timeout: ANSWER_TIMEOUT,
            max_response_bytes: MAX_JWKS_BYTES,
            ..HttpPolicy::default()
        };
        let client = HttpClient::new(policy).map_err(|error| error.to_string())?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let request =
            Request::new(Method::GET, url.clone()).with_headers(headers).with_redirects(MAX_REDIRECTS);
        let response = client.send(request).await.map_err(|error| cut(&error.to_string()))?;
        if response.truncated {
            return Err(format!("{url} has more than {MAX_JWKS_BYTES} bytes"));
        }
        match response.status {
            StatusCode::OK => Ok(Some(response.body)),
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
            status => Err(format!("{url} answered {status}")),
        }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}
