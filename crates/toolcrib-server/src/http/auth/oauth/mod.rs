//! Tokens of an authorization server, with this server as a resource server (RFC 6750, RFC 9068, RFC 9728).

mod key_cache;
mod key_fetch;
mod keys;
#[cfg(test)]
mod tests;
mod token;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, Mac as _};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::Sha256;
use toolcrib_app::sections::serve::{OAuthClient, ServedOAuth};
use url::Url;

use self::key_cache::{KeyCache, RETRY_INTERVAL, Unavailable};
use self::key_fetch::KeySource;
use self::keys::SignatureCheck;
use self::token::{Claims, Token};
use super::AuthError;
use crate::Error;
use crate::client::Client;

/// The path of the metadata of a resource (RFC 9728, section 3). The path of the resource follows.
pub(in super::super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The size of an HMAC-SHA256 key of one block, in bytes.
const SEAL_BYTES: usize = 64;

/// The validator of the tokens of one authorization server.
pub(super) struct OAuth {
    served: ServedOAuth,
    source: Arc<KeySource>,
    keys: Arc<KeyCache>,
    /// The key from which the sessions of each subject are derived.
    seal: [u8; SEAL_BYTES],
    metadata_url: Url,
}

/// The metadata of a resource (RFC 9728, section 2).
#[derive(Serialize)]
struct Metadata<'a> {
    resource: &'a str,
    authorization_servers: [&'a str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes_supported: Option<Vec<&'a str>>,
    bearer_methods_supported: [&'static str; 1],
    resource_name: &'static str,
}

/// A defect of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum TokenError {
    TooLong,
    NoToken,
    Algorithm,
    Kind,
    Issuer,
    Audience,
    /// The token requires a proof of possession of a key (RFC 7800), which is not supported.
    Bound,
    NoTime,
    Expired,
    Early,
    Subject,
    UnknownKey,
    Signature,
}

impl OAuth {
    /// Creates the validator that an app configures. Keys and session names of the earlier version are kept.
    pub(super) fn new(served: ServedOAuth, earlier: Option<&Self>) -> Result<Self, Error> {
        let source = Arc::new(KeySource::new(&served));
        let known = earlier.filter(|earlier| earlier.source == source);
        let keys = known.map_or_else(|| keys_of(&source), |known| Arc::clone(&known.keys));
        let mut seal = [0; SEAL_BYTES];
        match earlier {
            Some(earlier) => seal = earlier.seal,
            None => getrandom::fill(&mut seal).map_err(|_| Error::NoRandomness)?,
        }
        let mut metadata_url = served.resource_url.clone();
        let path = served.resource_url.path().trim_end_matches('/');
        metadata_url.set_path(&format!("{WELL_KNOWN}{path}"));
        Ok(Self { served, source, keys, seal, metadata_url })
    }

    /// Returns the client that this token authenticates.
    pub(super) async fn client(&self, text: &str) -> Result<Arc<Client>, AuthError> {
        let token = Token::read(text, &self.served, now()).map_err(AuthError::Invalid)?;
        let keys = self.keys.current().await.map_err(|Unavailable| UNAVAILABLE)?;
        let mut checked = keys.check(&token);
        if checked == SignatureCheck::UnknownKey
            && let Some(newer) = self.keys.after(&keys).await.map_err(|Unavailable| UNAVAILABLE)?
        {
            checked = newer.check(&token);
        }
        match checked {
            SignatureCheck::Genuine => {}
            SignatureCheck::Forged => return Err(AuthError::Invalid(TokenError::Signature)),
            SignatureCheck::UnknownKey => return Err(AuthError::Invalid(TokenError::UnknownKey)),
        }
        let fits = |client: &&OAuthClient| is_of(client, &token.claims) && has_scopes(client, &token.claims);
        let Some(client) = self.served.clients.iter().find(fits) else {
            let wanted = self.served.clients.iter().find(|client| is_of(client, &token.claims));
            return Err(AuthError::Insufficient(
                wanted.map(|wanted| wanted.scopes.join(" ")).unwrap_or_default(),
            ));
        };
        Ok(Arc::new(self.person(&client.name, &token.claims.subject)))
    }

    /// Returns the client of one subject. Its session is the same each time, and others cannot guess it.
    fn person(&self, name: &str, subject: &str) -> Client {
        let mut mac = Hmac::<Sha256>::new(&self.seal.into());
        // The length prefixes make the encoding of each subject unique.
        for part in [&self.served.issuer, name, subject] {
            mac.update(&part.len().to_be_bytes());
            mac.update(part.as_bytes());
        }
        Client::of_person(name, subject, &mac.finalize().into_bytes())
    }

    /// Returns the metadata by which clients find the authorization server (RFC 9728, section 2).
    pub(super) fn metadata(&self) -> Value {
        let mut scopes: Vec<&str> = Vec::new();
        for scope in self.served.clients.iter().flat_map(|client| &client.scopes) {
            if !scopes.contains(&scope.as_str()) {
                scopes.push(scope);
            }
        }
        let scopes = (!scopes.is_empty()).then_some(scopes);
        json!(Metadata {
            resource: &self.served.resource,
            authorization_servers: [&self.served.issuer],
            scopes_supported: scopes,
            bearer_methods_supported: ["header"],
            resource_name: "toolcrib",
        })
    }

    /// Returns the URL of the metadata.
    pub(super) fn metadata_url(&self) -> &Url {
        &self.metadata_url
    }
}

fn keys_of(source: &Arc<KeySource>) -> Arc<KeyCache> {
    let source = Arc::clone(source);
    Arc::new(KeyCache::new(move || {
        let source = Arc::clone(&source);
        async move { source.fetch().await }
    }))
}

/// The error while no keys are available.
const UNAVAILABLE: AuthError = AuthError::Unavailable(RETRY_INTERVAL);

/// Returns true if an entry matches this subject and this client.
fn is_of(client: &OAuthClient, claims: &Claims) -> bool {
    client.subject.as_ref().is_none_or(|subject| *subject == claims.subject)
        && client.client_id.as_ref().is_none_or(|id| Some(id) == claims.client_id.as_ref())
}

fn has_scopes(client: &OAuthClient, claims: &Claims) -> bool {
    client.scopes.iter().all(|scope| claims.scopes.contains(scope))
}

/// Returns the current time in seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "the token is too long",
            Self::NoToken => "this is neither a token of this server nor a JWT",
            Self::Algorithm => "the signature algorithm of the token is not accepted",
            Self::Kind => "the token is not an access token",
            Self::Issuer => "the token is from another issuer",
            Self::Audience => "the token is for another server",
            Self::Bound => "the token requires proof of a key, which this server does not support",
            Self::NoTime => "the token has no expiry time",
            Self::Expired => "the token has expired",
            Self::Early => "the token is not valid yet",
            Self::Subject => "the token has no subject",
            Self::UnknownKey => "the token is signed with a key that its issuer does not publish",
            Self::Signature => "the signature of the token is wrong",
        })
    }
}
