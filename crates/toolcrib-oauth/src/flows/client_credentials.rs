//! The client credentials grant at an endpoint that the operator names (RFC 6749, section 4.4).

use tokio::sync::Mutex;
use tokio::time::Instant;
use toolcrib_io::http::HttpClient;
#[cfg(test)]
use toolcrib_io::http::Response;
use url::Url;

use super::token_endpoint::{CachedToken, TokenEndpoint};
use crate::Error;
use crate::client::{AccessToken, ClientCredentials};

/// A source of tokens that caches the last one until it expires.
#[derive(Debug)]
pub struct TokenSource {
    endpoint: TokenEndpoint,
    /// Locked while a token is requested, so that concurrent calls wait for the same token.
    state: Mutex<CachedToken>,
}

impl TokenSource {
    /// Creates a source that requests tokens from this URL with this client.
    pub fn new(settings: ClientCredentials, client: HttpClient, url: Url) -> Self {
        Self { endpoint: TokenEndpoint::new(settings, client, url), state: Mutex::default() }
    }

    /// Returns the cached token or requests a new one. A failure is returned to other calls for a moment before the
    /// issuer is contacted again.
    pub async fn token(&self) -> Result<AccessToken, Error> {
        self.state.lock().await.token(|now, number| self.fetch(now, number)).await
    }

    /// Discards the token with this number, if it is still the cached one.
    pub async fn discard(&self, number: u64) {
        self.state.lock().await.discard(number);
    }

    async fn fetch(&self, now: Instant, number: u64) -> Result<AccessToken, Error> {
        let fields = vec![("grant_type", "client_credentials".to_owned())];
        let response = self.endpoint.send(fields, &[]).await?;
        self.endpoint.token(&response, now, number)
    }

    #[cfg(test)]
    pub(super) fn read(&self, response: &Response, now: Instant, number: u64) -> Result<AccessToken, Error> {
        self.endpoint.token(&self.endpoint.response(response, &[])?, now, number)
    }
}
