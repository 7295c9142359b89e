//! Token exchange (RFC 8693): the token of a caller for a token of a server that the caller's call goes to.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use toolcrib_io::http::{HttpClient, names_private_address};
use toolcrib_model::{Secret, SubjectToken};
use toolcrib_policy::Access;
use url::Url;

use super::clock::unix_now;
use super::grant::TOKEN_EXCHANGE;
use super::pkce::digest;
use super::token_endpoint::{CachedToken, TokenEndpoint};
use crate::Error;
use crate::client::SecretSink;
use crate::client::{AccessToken, ClientCredentials};
use crate::http::client;
use crate::metadata::is_loopback;

/// The type of an access token.
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// The type of a JWT, which some issuers give an access token.
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// The longest time for which an exchanged token is used. After it, the issuer is asked again, which learns in between
/// that the token of the caller was revoked.
const MAX_USE: Duration = Duration::from_mins(5);

/// The most tokens of callers whose exchanged tokens are in memory.
const MAX_CALLERS: usize = 4096;

/// A source of tokens for callers, which exchanges the token of each caller. Clones share the cache.
#[derive(Clone)]
pub struct TokenExchange(Arc<ExchangeState>);

struct ExchangeState {
    endpoint: TokenEndpoint,
    /// The server that the tokens are for, unless the settings name an audience.
    resource: Option<String>,
    on_secret: Option<SecretSink>,
    /// The exchanged tokens, by the token of the caller.
    cached: Mutex<HashMap<CallerKey, Arc<CallerEntry>>>,
}

/// The digest of a user and the token that the user came with.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CallerKey(String);

struct CallerEntry {
    /// The time at which the token of the caller expires, in seconds since 1970.
    expires_at: u64,
    /// Locked while a token is requested, so that concurrent calls wait for the same token.
    token: tokio::sync::Mutex<CachedToken>,
}

impl TokenExchange {
    /// Creates a source that exchanges tokens at an endpoint with this client. The endpoint may have a private address,
    /// since the operator has named it.
    pub fn new(
        settings: ClientCredentials,
        resource: Option<String>,
        access: &Access,
        on_secret: Option<SecretSink>,
    ) -> Result<Self, Error> {
        let wrong = |problem: String| Error::at("token_url", problem);
        let url =
            Url::parse(&settings.token_url).map_err(|error| wrong(format!("it is not a URL: {error}")))?;
        if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback(&url)) {
            return Err(wrong("it is not https; tokens are sent over http only to this machine".into()));
        }
        let client = client(names_private_address(&url)).map_err(|error| wrong(error.to_string()))?;
        let client: HttpClient = client.with_guard(access.host_guard());
        let resource = resource.filter(|_| settings.audience.is_none());
        let endpoint = TokenEndpoint::new(settings, client, url);
        Ok(Self(Arc::new(ExchangeState { endpoint, resource, on_secret, cached: Mutex::default() })))
    }

    /// Returns the cached token of a caller, or exchanges the caller's token for a new one.
    pub async fn token(&self, user: &str, subject: &SubjectToken) -> Result<AccessToken, Error> {
        if subject.expires_at <= unix_now() {
            let problem = "the token of the caller has expired, and is not exchanged; call with a new one";
            return Err(self.0.endpoint.failed(problem));
        }
        let entry = self.0.entry(user, subject);
        let mut token = entry.token.lock().await;
        token.token(|now, number| self.0.exchange(subject, now, number)).await
    }

    /// Discards a token of a caller, which the server rejected.
    pub async fn discard(&self, user: &str, subject: &SubjectToken, rejected: &Secret) {
        let entry = self.0.entry(user, subject);
        let mut token = entry.token.lock().await;
        if let Some(number) =
            token.token.as_ref().filter(|token| token.token == *rejected).map(|token| token.number)
        {
            token.discard(number);
        }
    }
}

impl ExchangeState {
    fn entry(&self, user: &str, subject: &SubjectToken) -> Arc<CallerEntry> {
        // A token contains no line break.
        let key = CallerKey(digest(&format!("{}\n{user}", subject.token.expose())));
        let mut cached = self.cached.lock();
        if let Some(entry) = cached.get(&key) {
            return Arc::clone(entry);
        }
        if cached.len() >= MAX_CALLERS {
            let now = unix_now();
            cached.retain(|_, entry| now < entry.expires_at);
        }
        if cached.len() >= MAX_CALLERS
            && let Some(first) =
                cached.iter().min_by_key(|(_, entry)| entry.expires_at).map(|(key, _)| key.clone())
        {
            cached.remove(&first);
        }
        let entry =
            Arc::new(CallerEntry { expires_at: subject.expires_at, token: tokio::sync::Mutex::default() });
        cached.insert(key, Arc::clone(&entry));
        entry
    }

    async fn exchange(
        &self,
        subject: &SubjectToken,
        now: Instant,
        number: u64,
    ) -> Result<AccessToken, Error> {
        let mut fields = vec![
            ("grant_type", TOKEN_EXCHANGE.to_owned()),
            ("subject_token", subject.token.expose().to_owned()),
            ("subject_token_type", ACCESS_TOKEN.to_owned()),
            ("requested_token_type", ACCESS_TOKEN.to_owned()),
        ];
        fields.extend(self.resource.clone().map(|resource| ("resource", resource)));
        let response = self.endpoint.send(fields, std::slice::from_ref(&subject.token)).await?;
        if !matches!(response.text("issued_token_type"), Some(ACCESS_TOKEN | JWT)) {
            return Err(self.endpoint.failed("it gives something else than an access token in exchange"));
        }
        let mut token = self.endpoint.token(&response, now, number)?;
        let latest = now + MAX_USE;
        token.usable_until = Some(token.usable_until.map_or(latest, |end| end.min(latest)));
        if let Some(on_secret) = &self.on_secret {
            on_secret(&token.token);
        }
        Ok(token)
    }
}

impl fmt::Debug for TokenExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenExchange").field("endpoint", &self.0.endpoint).finish_non_exhaustive()
    }
}
