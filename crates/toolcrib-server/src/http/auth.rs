//! Authentication by bearer tokens of the app and of an authorization server.

mod error;
mod oauth;

use std::fmt::Write as _;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use toolcrib_app::App;
use url::Url;

pub(super) use self::error::AuthError;
use self::oauth::OAuth;
use crate::Error;
use crate::client::Client;
use crate::server::Shared;

/// The authenticator of HTTP clients.
pub(super) struct Authenticator {
    /// The clients by the digest of their token, so that the duration of a comparison reveals nothing about the token.
    clients: Vec<([u8; 32], Arc<Client>)>,
    /// The tokens of an authorization server.
    oauth: Option<OAuth>,
    /// The client of requests when no token is required.
    local: Arc<Client>,
}

impl Authenticator {
    /// Creates the authenticator of an app. A client whose name and token are unchanged from the earlier version keeps
    /// its session.
    pub(super) fn new(shared: &Shared, app: &App, earlier: Option<&Self>) -> Result<Self, Error> {
        let known = |digest: &[u8; 32], name: &str| {
            let mut clients = earlier?.clients.iter();
            let found = clients.find(|(other, client)| other == digest && client.name == name);
            found.map(|(_, client)| Arc::clone(client))
        };
        let clients = app.config.serve.clients(&app.file)?.into_iter().map(|client| {
            let digest = Sha256::digest(client.token.expose()).into();
            let client = match known(&digest, &client.name) {
                Some(known) => known,
                None => Arc::new(shared.client(client.name)?),
            };
            Ok((digest, client))
        });
        let clients = clients.collect::<Result<_, Error>>()?;
        let known = earlier.and_then(|earlier| earlier.oauth.as_ref());
        let served = app.config.serve.oauth.as_ref().map(|oauth| oauth.served(&app.file)).transpose()?;
        let oauth =
            served.map(|served| OAuth::new(served, known, shared.settings.replica.as_deref())).transpose()?;
        Ok(Self { clients, oauth, local: Arc::clone(&shared.local) })
    }

    /// Returns true if no token is required.
    pub(super) fn is_open(&self) -> bool {
        self.clients.is_empty() && self.oauth.is_none()
    }

    /// Returns the client of a request.
    pub(super) async fn client(&self, headers: &HeaderMap) -> Result<Arc<Client>, AuthError> {
        if self.is_open() {
            return Ok(Arc::clone(&self.local));
        }
        let token = bearer(headers)?;
        match (self.of_token(token), &self.oauth) {
            (Some(client), _) => Ok(client),
            (None, Some(oauth)) => oauth.client(token).await,
            (None, None) => Err(AuthError::Wrong),
        }
    }

    /// Returns the client of the app token in a header.
    pub(super) fn of_header(&self, headers: &HeaderMap) -> Option<Arc<Client>> {
        bearer(headers).ok().and_then(|token| self.of_token(token))
    }

    /// Returns the metadata by which clients find the authorization server, with its URL, or `None` without an
    /// authorization server.
    pub(super) fn metadata(&self) -> Option<(&Url, Value)> {
        self.oauth.as_ref().map(|oauth| (oauth.metadata_url(), oauth.metadata()))
    }

    /// Returns the URL by which clients with tokens of an authorization server call this server.
    pub(super) fn resource_url(&self) -> Option<&Url> {
        self.oauth.as_ref().map(OAuth::resource_url)
    }

    /// Returns the challenge that is sent with a refusal (RFC 6750, RFC 9728).
    pub(super) fn challenge(&self, refusal: &AuthError) -> String {
        let mut challenge = "Bearer realm=\"toolcrib\"".to_owned();
        if let Some(oauth) = &self.oauth {
            let _ = write!(challenge, ", resource_metadata=\"{}\"", oauth.metadata_url());
        }
        let _ = match refusal {
            AuthError::Missing | AuthError::Unavailable(_) => Ok(()),
            AuthError::Wrong => write!(challenge, ", error=\"invalid_token\""),
            AuthError::Invalid(error) => {
                write!(challenge, ", error=\"invalid_token\", error_description=\"{error}\"")
            }
            AuthError::Insufficient(scopes) if scopes.is_empty() => {
                write!(challenge, ", error=\"insufficient_scope\"")
            }
            AuthError::Insufficient(scopes) => {
                write!(challenge, ", error=\"insufficient_scope\", scope=\"{scopes}\"")
            }
        };
        challenge
    }

    /// Returns the client with this token.
    pub(super) fn of_token(&self, token: &str) -> Option<Arc<Client>> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let found = self.clients.iter().find(|(known, _)| *known == digest);
        found.map(|(_, client)| Arc::clone(client))
    }

    /// Returns the client with this name.
    pub(super) fn named(&self, name: &str) -> Option<Arc<Client>> {
        let found = self.clients.iter().find(|(_, client)| client.name == name);
        found.map(|(_, client)| Arc::clone(client))
    }
}

/// Returns the bearer token of a request.
fn bearer(headers: &HeaderMap) -> Result<&str, AuthError> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let first = given.next().ok_or(AuthError::Missing)?;
    let text = first.to_str().ok().filter(|_| given.next().is_none()).ok_or(AuthError::Wrong)?;
    let (scheme, token) = text.split_once(' ').ok_or(AuthError::Wrong)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(AuthError::Missing) }
}
