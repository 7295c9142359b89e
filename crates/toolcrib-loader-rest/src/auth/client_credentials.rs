//! Tokens that are obtained with client credentials.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;
use toolcrib_io::http::{HttpClient, Request, Response};
use url::Url;

use super::ClientCredentials;
use crate::Error;
use crate::request::url_encoding::encode;

/// The most bytes of a token response that are read.
pub(crate) const MAX_TOKEN_ANSWER_BYTES: usize = 64 * 1024;

/// The time before its expiry at which a token is no longer used, since a request takes time and clocks differ. For a
/// short-lived token it is half of its lifetime.
const EXPIRY_MARGIN: Duration = Duration::from_secs(30);

/// The longest token lifetime that is accepted.
const MAX_LIFE: Duration = Duration::from_hours(365 * 24);

/// The time for which a failure is returned to other calls before the issuer is contacted again.
const FAILURE_PAUSE: Duration = Duration::from_secs(2);

/// The most characters of an issuer's error that are reported.
const MAX_REPORTED_CHARS: usize = 200;

/// A source of tokens that caches the last one until it expires.
#[derive(Debug)]
pub(super) struct TokenSource {
    settings: ClientCredentials,
    client: HttpClient,
    url: Url,
    /// Locked while a token is requested, so that concurrent calls wait for the same token.
    state: Mutex<TokenState>,
}

#[derive(Debug, Default)]
struct TokenState {
    token: Option<Token>,
    failure: Option<(Instant, Error)>,
    fetched: u64,
}

/// A token as a header value.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) header: HeaderValue,
    /// The sequence number of the token.
    pub(super) number: u64,
    /// The time until which it is used. `None` if the issuer does not declare a lifetime.
    usable_until: Option<Instant>,
}

#[cfg(test)]
impl Token {
    pub(super) fn usable_until(&self) -> Option<Instant> {
        self.usable_until
    }
}

impl TokenSource {
    pub(super) fn new(settings: ClientCredentials, client: HttpClient, url: Url) -> Self {
        Self { settings, client, url, state: Mutex::default() }
    }

    /// Returns the cached token or requests a new one.
    pub(super) async fn token(&self) -> Result<Token, Error> {
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
        match self.fetch(now, state.fetched + 1).await {
            Ok(token) => {
                *state = TokenState { token: Some(token.clone()), failure: None, fetched: token.number };
                Ok(token)
            }
            Err(error) => {
                state.token = None;
                state.failure = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// Discards the token with this number, if it is still the cached one.
    pub(super) async fn discard(&self, number: u64) {
        let mut state = self.state.lock().await;
        state.token = state.token.take().filter(|token| token.number != number);
    }

    async fn fetch(&self, now: Instant, number: u64) -> Result<Token, Error> {
        let response = self.client.send(self.request()?).await;
        let response = response.map_err(|error| self.failed(error.to_string(), true))?;
        self.read(&response, now, number)
    }

    fn request(&self) -> Result<Request, Error> {
        let ClientCredentials { client_id, client_secret, scopes, audience, secret_in_body, .. } =
            &self.settings;
        let mut fields = vec![("grant_type", "client_credentials".to_owned())];
        if !scopes.is_empty() {
            fields.push(("scope", scopes.join(" ")));
        }
        fields.extend(audience.clone().map(|audience| ("audience", audience)));
        let mut headers = HeaderMap::new();
        if *secret_in_body {
            fields.push(("client_id", client_id.clone()));
            fields.push(("client_secret", client_secret.expose().to_owned()));
        } else {
            // RFC 6749, section 2.3.1: both values are form-encoded first.
            let pair = STANDARD.encode(format!("{}:{}", encode(client_id), encode(client_secret.expose())));
            let mut value = HeaderValue::from_str(&format!("Basic {pair}"))
                .map_err(|_| self.failed("the client credentials cannot be sent", false))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        let pairs: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let request = Request::new(Method::POST, self.url.clone());
        Ok(request.with_headers(headers).with_body(pairs.join("&")))
    }

    pub(super) fn read(&self, response: &Response, now: Instant, number: u64) -> Result<Token, Error> {
        let answer: Value = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
        let text = |key: &str| answer.get(key).and_then(Value::as_str);
        if !response.status.is_success() {
            let told: String = ["error", "error_description"]
                .iter()
                .filter_map(|key| text(key))
                .flat_map(|text| [": ", text])
                .flat_map(str::chars)
                .filter(|c| !c.is_control())
                .take(MAX_REPORTED_CHARS)
                .collect();
            let passes =
                response.status.is_server_error() || response.status == StatusCode::TOO_MANY_REQUESTS;
            return Err(self.failed(format!("the answer was {}{told}", response.status), passes));
        }
        if text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return Err(self.failed("the token is not a bearer token", false));
        }
        let token = text("access_token").filter(|token| !token.is_empty());
        let header = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
        let Some(mut header) = header else {
            return Err(self.failed("the answer has no `access_token` that can be sent", false));
        };
        header.set_sensitive(true);
        let life = answer.get("expires_in").and_then(seconds);
        let usable_until =
            life.and_then(|life| now.checked_add(life.saturating_sub(EXPIRY_MARGIN.min(life / 2))));
        Ok(Token { header, number, usable_until })
    }

    fn failed(&self, problem: impl Into<String>, passes: bool) -> Error {
        let issuer = format!("{}{}", self.url.origin().ascii_serialization(), self.url.path());
        Error::Token { issuer, problem: problem.into(), passes }
    }
}

/// Parses a lifetime in seconds. Some issuers write the number as a string.
fn seconds(value: &Value) -> Option<Duration> {
    let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    Some(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(MAX_LIFE).min(MAX_LIFE))
}
