//! What is known of the authorization at one server, in the form in which it is kept.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize, Serializer};
use toolcrib_model::Secret;
use url::Url;

use super::client::{Client, Origin};
use super::discovery::covers;
use super::dpop::Credential;
use super::metadata::is_same_issuer;
use super::token::Tokens;
use super::{Grant, McpAuth};

/// The form of records that this version writes and reads.
const VERSION: u32 = 1;

/// Tokens, with whom they were issued for and by, and to which client.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Record {
    version: u32,
    pub(super) namespace: String,
    /// The server's name at its authorization server.
    pub(super) resource: String,
    pub(super) issuer: String,
    /// Where the tokens came from, and nothing else may be asked for others.
    pub(super) token_endpoint: String,
    pub(super) client: Client,
    pub(super) tokens: Option<Tokens>,
    /// The private key that tokens are bound to, where they are to one: PKCS #8 in base64.
    #[serde(default, serialize_with = "exposed_maybe")]
    pub(super) key: Option<Secret>,
    /// The scopes that were asked for.
    #[serde(default)]
    pub(super) requested: Vec<String>,
    /// The scopes that the server has asked for since.
    #[serde(default)]
    pub(super) wanted: Vec<String>,
}

impl Record {
    pub(super) fn new(
        namespace: &str,
        resource: String,
        issuer: String,
        token_endpoint: &Url,
        client: Client,
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

    /// What a request is sent with.
    pub(super) fn credential(&self) -> Option<Credential> {
        let tokens = self.tokens.as_ref()?;
        let key = if tokens.is_bound { Some(self.key.clone()?) } else { None };
        Some(Credential { token: tokens.access.clone(), key })
    }

    /// Whether it is one of this server, and of the client and issuer that the operator has set.
    pub(super) fn is_for(&self, namespace: &str, server: &Url, auth: &McpAuth) -> bool {
        let is_ours = match (&auth.client_id, self.client.origin) {
            (Some(id), Origin::Configured) => *id == self.client.id,
            (None, Origin::Configured) | (Some(_), _) => false,
            (None, Origin::Document) => auth.client_metadata_url.as_ref() == Some(&self.client.id),
            (None, Origin::Registered) => auth.grant == Grant::AuthorizationCode,
        };
        is_ours
            && self.version == VERSION
            && self.namespace == namespace
            && covers(&self.resource, server)
            && auth.issuer.as_ref().is_none_or(|issuer| is_same_issuer(issuer, &self.issuer))
    }
}

/// Seconds since 1970. A clock before that is one at its beginning.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Writes a secret out, for the file that is there to keep it.
pub(super) fn exposed<S: Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

/// The same of one that may be missing.
#[expect(clippy::ref_option, reason = "serde calls it so")]
pub(super) fn exposed_maybe<S: Serializer>(
    secret: &Option<Secret>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => serializer.serialize_some(secret.expose()),
        None => serializer.serialize_none(),
    }
}
