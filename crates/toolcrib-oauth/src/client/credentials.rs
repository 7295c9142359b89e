//! The stored credentials of one server.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize, Serializer};
use toolcrib_model::Secret;
use url::Url;

use super::client::{ClientOrigin, OAuthClient};
use super::discovery::covers;
use super::dpop::Credential;
use super::metadata::is_same_issuer;
use super::token_request::Tokens;
use super::{Grant, McpAuth};

/// The format version of stored credentials.
const VERSION: u32 = 1;

/// Tokens with their resource, issuer and client.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct StoredCredentials {
    version: u32,
    pub(super) namespace: String,
    /// The resource identifier of the server.
    pub(super) resource: String,
    pub(super) issuer: String,
    /// The endpoint that issued the tokens. Only this one is asked for new ones.
    pub(super) token_endpoint: String,
    pub(super) client: OAuthClient,
    pub(super) tokens: Option<Tokens>,
    /// The private key that the tokens are bound to, if any: PKCS #8 in Base64.
    #[serde(default, serialize_with = "exposed_optional")]
    pub(super) key: Option<Secret>,
    /// The requested scopes.
    #[serde(default)]
    pub(super) requested: Vec<String>,
    /// The scopes that the server has required since.
    #[serde(default)]
    pub(super) wanted: Vec<String>,
}

impl StoredCredentials {
    pub(super) fn new(
        namespace: &str,
        resource: String,
        issuer: String,
        token_endpoint: &Url,
        client: OAuthClient,
    ) -> Self {
        Self {
            version: VERSION,
            namespace: namespace.to_owned(),
            resource,
            issuer,
            token_endpoint: token_endpoint.to_string(),
            client,
            tokens: None,
            key: None,
            requested: Vec::new(),
            wanted: Vec::new(),
        }
    }

    /// Returns the credential for requests to the server.
    pub(super) fn credential(&self) -> Option<Credential> {
        let tokens = self.tokens.as_ref()?;
        let key = if tokens.is_bound { Some(self.key.clone()?) } else { None };
        Some(Credential { token: tokens.access.clone(), key })
    }

    /// Returns true if the credentials belong to this server, and to the client and issuer that the operator has
    /// configured.
    pub(super) fn is_for(&self, namespace: &str, server: &Url, auth: &McpAuth) -> bool {
        let is_ours = match (&auth.client_id, self.client.origin) {
            (Some(id), ClientOrigin::Configured) => *id == self.client.id,
            (None, ClientOrigin::Configured) | (Some(_), _) => false,
            (None, ClientOrigin::Document) => auth.client_metadata_url.as_ref() == Some(&self.client.id),
            (None, ClientOrigin::Registered) => auth.grant == Grant::AuthorizationCode,
        };
        is_ours
            && self.version == VERSION
            && self.namespace == namespace
            && covers(&self.resource, server)
            && auth.issuer.as_ref().is_none_or(|issuer| is_same_issuer(issuer, &self.issuer))
    }
}

/// Returns the seconds since 1970; 0 if the clock is before that.
pub(super) fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Serializes a secret in plain text, for the credentials file.
pub(super) fn exposed<S: Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

/// Like [`exposed`], for a secret that may be absent.
#[expect(clippy::ref_option, reason = "serde calls it so")]
pub(super) fn exposed_optional<S: Serializer>(
    secret: &Option<Secret>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => serializer.serialize_some(secret.expose()),
        None => serializer.serialize_none(),
    }
}
