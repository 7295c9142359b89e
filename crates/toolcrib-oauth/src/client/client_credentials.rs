//! The client credentials grant at an endpoint that the operator names (RFC 6749, section 4.4).

use http::Method;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::sync::Mutex;
use tokio::time::Instant;
use toolcrib_io::http::{HttpClient, Request, Response};
use toolcrib_model::Secret;
use url::Url;

use super::authorization::FAILURE_PAUSE;
use super::form::{FORM, Fields, basic_auth, form_body};
use super::http_client::is_transient;
use super::token_response::TokenResponse;
use crate::Error;
use crate::http::JSON;

/// The settings of the client credentials grant.
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    /// The URL that issues tokens. It is never taken from a document, which could then choose the recipient of the
    /// secret.
    pub token_url: String,
    /// The client id.
    pub client_id: String,
    /// The client secret.
    pub client_secret: Secret,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The audience of the token, if the issuer requires one.
    pub audience: Option<String>,
    /// True if id and secret are sent in the body. By default they are sent in the `Authorization` header, as the
    /// standard recommends.
    pub secret_in_body: bool,
}

/// A source of tokens that caches the last one until it expires.
#[derive(Debug)]
pub struct TokenSource {
    settings: ClientCredentials,
    client: HttpClient,
    url: Url,
    /// Locked while a token is requested, so that concurrent calls wait for the same token.
    state: Mutex<CachedToken>,
}

#[derive(Debug, Default)]
struct CachedToken {
    token: Option<AccessToken>,
    failure: Option<(Instant, Error)>,
    fetched: u64,
}

/// A token as a header value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AccessToken {
    /// The value of the header `Authorization`.
    pub header: HeaderValue,
    /// The sequence number of the token.
    pub number: u64,
    /// The time until which it is used. `None` if the issuer does not declare a lifetime.
    pub(super) usable_until: Option<Instant>,
}

impl TokenSource {
    /// Creates a source that requests tokens from this URL with this client.
    pub fn new(settings: ClientCredentials, client: HttpClient, url: Url) -> Self {
        Self { settings, client, url, state: Mutex::default() }
    }

    /// Returns the cached token or requests a new one. A failure is returned to other calls for a moment before the
    /// issuer is contacted again.
    pub async fn token(&self) -> Result<AccessToken, Error> {
        let mut state = self.state.lock().await;
        let now = Instant::now();
        if let Some(token) = &state.token
            && token.usable_until.is_none_or(|end| now < end)
        {
            return Ok(token.clone());
        }
        if let Some((at, error)) = &state.failure
            && now.saturating_duration_since(*at) < FAILURE_PAUSE
        {
            return Err(error.clone());
        }
        let token = self.fetch(now, state.fetched + 1).await;
        state.token = token.as_ref().ok().cloned();
        state.fetched = state.token.as_ref().map_or(state.fetched, |token| token.number);
        state.failure = token.as_ref().err().map(|error| (Instant::now(), error.clone()));
        token
    }

    /// Discards the token with this number, if it is still the cached one.
    pub async fn discard(&self, number: u64) {
        let mut state = self.state.lock().await;
        state.token = state.token.take().filter(|token| token.number != number);
    }

    async fn fetch(&self, now: Instant, number: u64) -> Result<AccessToken, Error> {
        let response = self.client.send(self.request()?).await;
        let response = response.map_err(|error| self.failed(error.to_string()).transient(true))?;
        self.read(&response, now, number)
    }

    fn request(&self) -> Result<Request, Error> {
        let ClientCredentials { client_id, client_secret, scopes, audience, secret_in_body, .. } =
            &self.settings;
        let mut fields: Fields = vec![("grant_type", "client_credentials".to_owned())];
        if !scopes.is_empty() {
            fields.push(("scope", scopes.join(" ")));
        }
        fields.extend(audience.clone().map(|audience| ("audience", audience)));
        let mut headers =
            HeaderMap::from_iter([(ACCEPT, JSON), (CONTENT_TYPE, HeaderValue::from_static(FORM))]);
        if *secret_in_body {
            fields.push(("client_id", client_id.clone()));
            fields.push(("client_secret", client_secret.expose().to_owned()));
        } else {
            let (header, _) = basic_auth(client_id, client_secret)
                .ok_or_else(|| self.failed("the client credentials cannot be sent"))?;
            headers.insert(AUTHORIZATION, header);
        }
        let request = Request::new(Method::POST, self.url.clone());
        Ok(request.with_headers(headers).with_body(form_body(fields)))
    }

    pub(super) fn read(&self, response: &Response, now: Instant, number: u64) -> Result<AccessToken, Error> {
        let response = TokenResponse::new(response);
        if !response.status.is_success() {
            let told = response.error("", std::slice::from_ref(&self.settings.client_secret));
            let failure = self.failed(format!("the answer was {told}"));
            return Err(failure.transient(is_transient(response.status)));
        }
        if !response.is_of_type("bearer") {
            return Err(self.failed("the token is not a bearer token"));
        }
        let header = response
            .token("access_token")
            .and_then(|token| HeaderValue::from_str(&format!("Bearer {}", token.expose())).ok());
        let mut header =
            header.ok_or_else(|| self.failed("the answer has no `access_token` that can be sent"))?;
        header.set_sensitive(true);
        let usable_until = response.lifetime().and_then(|life| now.checked_add(life.usable));
        Ok(AccessToken { header, number, usable_until })
    }

    fn failed(&self, problem: impl Into<String>) -> Error {
        Error::at_url(&self.url, problem)
    }
}
