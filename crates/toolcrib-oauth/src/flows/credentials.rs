//! The stored credentials of one server.

use serde::{Deserialize, Serialize};
use toolcrib_model::Secret;
use url::Url;

use super::dpop::Credential;
use super::registration::{ClientOrigin, OAuthClient};
use super::stored_secret::exposed_optional;
use super::token_request::Tokens;
use crate::client::ClientSettings;
use crate::metadata::{MAX_URL_BYTES, is_same_issuer};

/// The format version of stored credentials.
pub(super) const VERSION: u32 = 1;

/// Tokens with their resource, issuer and client.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct StoredCredentials {
    pub(super) version: u32,
    pub(super) namespace: String,
    /// The user whose tokens they are, unless all users share them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
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
    /// Returns the credential for requests to the server.
    pub(super) fn credential(&self) -> Option<Credential> {
        let tokens = self.tokens.as_ref()?;
        let key = if tokens.is_bound { Some(self.key.clone()?) } else { None };
        Some(Credential { token: tokens.access.clone(), key })
    }

    /// Returns the secrets of the credentials.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let tokens = self.tokens.iter().flat_map(|tokens| [Some(&tokens.access), tokens.refresh.as_ref()]);
        tokens.chain([self.client.secret.as_ref(), self.key.as_ref()]).flatten()
    }

    /// Returns true if the credentials belong to this server, and to the user, client and issuer that the operator has
    /// configured.
    pub(super) fn is_for(&self, namespace: &str, server: &Url, settings: &ClientSettings) -> bool {
        let is_ours = match (&settings.client_id, self.client.origin) {
            (Some(id), ClientOrigin::Configured) => *id == self.client.id,
            (None, ClientOrigin::Configured) | (Some(_), _) => false,
            (None, ClientOrigin::Document) => settings.client_metadata_url.as_ref() == Some(&self.client.id),
            (None, ClientOrigin::Registered) => settings.grant.needs_user(),
        };
        is_ours
            && self.version == VERSION
            && self.namespace == namespace
            && self.user.as_deref() == settings.user.as_deref()
            && covers(&self.resource, server)
            && settings.issuer.as_ref().is_none_or(|issuer| is_same_issuer(issuer, &self.issuer))
    }
}

/// Returns true if a resource identifier applies to this server: the origins are equal, and its path is that of the
/// server or a parent of it.
pub(super) fn covers(resource: &str, server: &Url) -> bool {
    if resource.len() > MAX_URL_BYTES {
        return false;
    }
    let Ok(url) = Url::parse(resource) else { return false };
    let above = url.path().trim_end_matches('/');
    let is_above =
        server.path().strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    url.origin() == server.origin() && url.fragment().is_none() && url.query().is_none() && is_above
}
