//! Requests to a token endpoint that the operator names, and a cache of the tokens.

use http::Method;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::time::Instant;
use toolcrib_io::http::{HttpClient, Request, Response};
use toolcrib_model::Secret;
use url::Url;

use super::authorization::FAILURE_PAUSE;
use super::form::{FORM, Fields, basic_auth, form_body};
use super::http_client::is_transient;
use super::token_response::TokenResponse;
use crate::Error;
use crate::client::{AccessToken, ClientCredentials};
use crate::http::JSON;

/// A token endpoint.
#[derive(Debug)]
pub(super) struct TokenEndpoint {
    pub(super) settings: ClientCredentials,
    client: HttpClient,
    pub(super) url: Url,
}

/// The last token of an endpoint, which is used until it expires.
#[derive(Debug, Default)]
pub(super) struct CachedToken {
    pub(super) token: Option<AccessToken>,
    failure: Option<(Instant, Error)>,
    fetched: u64,
}

impl CachedToken {
    /// Returns the cached token or requests a new one. A failure is returned to other calls for a moment before the
    /// issuer is contacted again.
    pub(super) async fn token<F, R>(&mut self, fetch: F) -> Result<AccessToken, Error>
    where
        F: FnOnce(Instant, u64) -> R + Send,
        R: Future<Output = Result<AccessToken, Error>> + Send,
    {
        let now = Instant::now();
        if let Some(token) = &self.token
            && token.usable_until.is_none_or(|end| now < end)
        {
            return Ok(token.clone());
        }
        if let Some((at, error)) = &self.failure
            && now.saturating_duration_since(*at) < FAILURE_PAUSE
        {
            return Err(error.clone());
        }
        let token = fetch(now, self.fetched + 1).await;
        self.token = token.as_ref().ok().cloned();
        self.fetched = self.token.as_ref().map_or(self.fetched, |token| token.number);
        self.failure = token.as_ref().err().map(|error| (Instant::now(), error.clone()));
        token
    }

    /// Discards the token with this number, if it is still the cached one.
    pub(super) fn discard(&mut self, number: u64) {
        self.token = self.token.take().filter(|token| token.number != number);
    }
}

impl TokenEndpoint {
    pub(super) fn new(settings: ClientCredentials, client: HttpClient, url: Url) -> Self {
        Self { settings, client, url }
    }

    /// Requests a token with these fields, the scopes and the audience. `secrets` are those among the fields.
    pub(super) async fn send(&self, fields: Fields, secrets: &[Secret]) -> Result<TokenResponse, Error> {
        let response = self.client.send(self.request(fields)?).await;
        let response = response.map_err(|error| self.failed(error.to_string()).transient(true))?;
        self.response(&response, secrets)
    }

    fn request(&self, mut fields: Fields) -> Result<Request, Error> {
        let ClientCredentials { client_id, client_secret, scopes, audience, secret_in_body, .. } =
            &self.settings;
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

    /// Returns the response if it is not an error. `secrets` are removed from errors.
    pub(super) fn response(&self, response: &Response, secrets: &[Secret]) -> Result<TokenResponse, Error> {
        let response = TokenResponse::new(response);
        if response.status.is_success() {
            return Ok(response);
        }
        let secrets: Vec<_> = secrets.iter().chain([&self.settings.client_secret]).cloned().collect();
        let failure = self.failed(format!("the answer was {}", response.error("", &secrets)));
        Err(failure.transient(is_transient(response.status)))
    }

    /// Returns the token of a response.
    pub(super) fn token(
        &self,
        response: &TokenResponse,
        now: Instant,
        number: u64,
    ) -> Result<AccessToken, Error> {
        if !response.is_of_type("bearer") {
            return Err(self.failed("the token is not a bearer token"));
        }
        let token = response.token("access_token").and_then(|token| {
            let header = HeaderValue::from_str(&format!("Bearer {}", token.expose())).ok()?;
            Some((token, header))
        });
        let (token, mut header) =
            token.ok_or_else(|| self.failed("the answer has no `access_token` that can be sent"))?;
        header.set_sensitive(true);
        let usable_until = response.lifetime().and_then(|life| now.checked_add(life.usable));
        Ok(AccessToken { token, header, number, usable_until })
    }

    pub(super) fn failed(&self, problem: impl Into<String>) -> Error {
        Error::at_url(&self.url, problem)
    }
}
