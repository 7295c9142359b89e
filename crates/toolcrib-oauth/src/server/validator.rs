//! The validator of the tokens of one authorization server.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use url::Url;

use super::key_cache::{KeyCache, RETRY_INTERVAL, Unavailable};
use super::key_fetch::fetch_keys;
use super::keys::SignatureCheck;
use super::resource_server::ResourceServer;
use super::token::{Claims, Token, TokenError};
use crate::metadata::{PROTECTED_RESOURCE, ResourceMetadata, well_known_url};

/// The reason that a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValidationError {
    /// The token is invalid.
    #[error(transparent)]
    Invalid(#[from] TokenError),
    /// The keys of the issuer are unavailable. Contains the time after which to retry.
    #[error("the keys of the issuer are unavailable")]
    Unavailable(Duration),
}

/// The validator of the tokens of one authorization server.
pub struct TokenValidator {
    server: Arc<ResourceServer>,
    keys: Arc<KeyCache>,
    metadata_url: Url,
}

impl TokenValidator {
    /// Creates a validator. The keys of the earlier one are kept if they have the same source.
    pub fn new(server: ResourceServer, earlier: Option<&Self>) -> Self {
        let server = Arc::new(server);
        let known = earlier.filter(|earlier| earlier.server.has_keys_of(&server));
        let keys = known.map_or_else(|| keys_of(&server), |known| Arc::clone(&known.keys));
        let metadata_url = well_known_url(&server.resource_url, PROTECTED_RESOURCE);
        Self { server, keys, metadata_url }
    }

    /// Returns the issuer of the tokens.
    pub fn issuer(&self) -> &str {
        &self.server.issuer
    }

    /// Returns the claims of a token that the issuer has signed for this server and that is currently valid.
    pub async fn validate(&self, token: &str) -> Result<Claims, ValidationError> {
        let token = Token::read(token, &self.server, now())?;
        let keys = self.keys.current().await.map_err(|Unavailable| UNAVAILABLE)?;
        let mut checked = keys.check(&token);
        if checked == SignatureCheck::UnknownKey
            && let Some(newer) = self.keys.after(&keys).await.map_err(|Unavailable| UNAVAILABLE)?
        {
            checked = newer.check(&token);
        }
        match checked {
            SignatureCheck::Genuine => Ok(token.claims),
            SignatureCheck::Forged => Err(TokenError::Signature.into()),
            SignatureCheck::UnknownKey => Err(TokenError::UnknownKey.into()),
        }
    }

    /// Returns the metadata by which clients find the authorization server, with these scopes if there are any, and
    /// the name of this server for people.
    pub fn metadata(&self, scopes: Vec<String>, name: &str) -> ResourceMetadata {
        ResourceMetadata {
            resource: Some(self.server.resource.clone()),
            authorization_servers: Some(vec![self.server.issuer.clone()]),
            scopes_supported: (!scopes.is_empty()).then_some(scopes),
            bearer_methods_supported: Some(vec!["header".to_owned()]),
            resource_name: Some(name.to_owned()),
            ..ResourceMetadata::default()
        }
    }

    /// Returns the URL by which clients call the server.
    pub fn resource_url(&self) -> &Url {
        &self.server.resource_url
    }

    /// Returns the URL of the metadata.
    pub fn metadata_url(&self) -> &Url {
        &self.metadata_url
    }
}

impl fmt::Debug for TokenValidator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenValidator").field("server", &self.server).finish_non_exhaustive()
    }
}

fn keys_of(server: &Arc<ResourceServer>) -> Arc<KeyCache> {
    let server = Arc::clone(server);
    Arc::new(KeyCache::new(move || {
        let server = Arc::clone(&server);
        async move { fetch_keys(&server).await }
    }))
}

/// The error while no keys are available.
const UNAVAILABLE: ValidationError = ValidationError::Unavailable(RETRY_INTERVAL);

/// Returns the current time in seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}
