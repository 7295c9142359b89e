//! The configuration of the authorization at a server.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use toolcrib_model::{Secret, SubjectToken};
use toolcrib_policy::Access;

use super::redirect::Authorize;
use super::types::SecretSink;
use super::{TokenExchange, TokenStore};

/// The grant by which tokens are requested.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Grant {
    /// On behalf of a user, who logs in once.
    #[default]
    AuthorizationCode,
    /// On behalf of a client that the operator has registered.
    ClientCredentials,
    /// On behalf of a client, with an identity token of the platform that it runs on (RFC 7523).
    WorkloadIdentity(IdentityToken),
    /// On behalf of a user, whose identity an identity provider confirms to the authorization server: without a login
    /// there. The token is the user's identity token that the provider has issued.
    EnterpriseManaged(IdentityProvider, IdentityToken),
    /// On behalf of the caller of each call, by an exchange of the token that the caller came with. Without a caller,
    /// requests have no token.
    TokenExchange(TokenExchange),
}

#[cfg(feature = "flows")]
impl Grant {
    /// Returns true if a user has to log in.
    pub(crate) fn needs_user(&self) -> bool {
        matches!(self, Self::AuthorizationCode)
    }
}

/// The identity token, by which a third party confirms the identity of the client or user.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum IdentityToken {
    /// The token itself.
    Text(Secret),
    /// A file that contains only the token. It is read each time that the token is needed.
    File(PathBuf),
}

/// An identity provider, which knows the users of a company.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IdentityProvider {
    /// The identifier of the provider, a URL below which its metadata is published.
    pub issuer: String,
    /// The id of the client at the provider.
    pub client_id: String,
    /// The secret of the client, if it has one.
    pub client_secret: Option<Secret>,
}

impl IdentityProvider {
    /// Creates the configuration of the provider with this identifier and client.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), client_id: client_id.into(), client_secret: None }
    }
}

/// The authorization at a server. By default it registers a client, requests the scopes that the server names, keeps
/// tokens in memory, and needs a login by another process.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ClientSettings {
    /// The grant.
    pub grant: Grant,
    /// The id of a client that the operator has registered.
    pub client_id: Option<String>,
    /// The secret of the client.
    pub client_secret: Option<Secret>,
    /// The private key of the client, for authorization servers that require signed assertions: PKCS #8 in PEM, on the
    /// curve P-256 (`ES256`).
    pub private_key: Option<Secret>,
    /// The URL of the metadata document of the client, for authorization servers that fetch it.
    pub client_metadata_url: Option<String>,
    /// The only permitted authorization server. It may have a private address if the server itself may.
    pub issuer: Option<String>,
    /// True if no request is sent without a token. By default a server is asked without one if it may not need any.
    pub needs_token: bool,
    /// True if the issuer is believed to be that of a server which publishes no metadata, as most HTTP APIs.
    pub trusts_issuer: bool,
    /// The scopes to request in any case.
    pub scopes: Vec<String>,
    /// The redirect port on this machine, for a client that is registered with one. Any free port by default.
    pub redirect_port: Option<u16>,
    /// The user whose tokens they are; absent for tokens that all users share. Tokens of a user are sent for no other.
    pub user: Option<Arc<str>>,
    /// The token that the user came with.
    pub subject: Option<Arc<SubjectToken>>,
    /// The store for tokens.
    pub store: TokenStore,
    /// The hosts that may be reached.
    pub access: Access,
    /// The command that an error tells the user to run; `toolcrib login NAMESPACE` by default.
    pub login_command: Option<String>,
    /// The login of a user in the middle of a call. Without it such a call fails, with the command to run.
    pub authorize: Option<Arc<dyn Authorize>>,
    /// The callback that receives each secret.
    pub on_secret: Option<SecretSink>,
    /// The secrets that the server has issued last, so that no text that contains one is stored. Clones share them.
    issued: Arc<Mutex<VecDeque<Secret>>>,
}

#[cfg(feature = "flows")]
/// The largest number of secrets to remember for one server: those of a login, and of some renewals.
const MAX_ISSUED: usize = 16;

impl ClientSettings {
    /// Returns the default configuration.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the client that the operator has registered.
    pub fn with_client(mut self, id: impl Into<String>, secret: Option<Secret>) -> Self {
        self.client_id = Some(id.into());
        self.client_secret = secret;
        self
    }

    /// Sets the grant.
    pub fn with_grant(mut self, grant: Grant) -> Self {
        self.grant = grant;
        self
    }

    /// Sets the user whose tokens they are. The secrets that the server issues from then on are those of the user.
    pub fn with_user(mut self, user: impl Into<Arc<str>>) -> Self {
        self.user = Some(user.into());
        self.issued = Arc::default();
        self
    }

    /// Sets the token that the user came with.
    pub fn with_subject(mut self, subject: Arc<SubjectToken>) -> Self {
        self.subject = Some(subject);
        self
    }

    /// Sets the store for tokens.
    pub fn with_store(mut self, store: TokenStore) -> Self {
        self.store = store;
        self
    }

    /// Sets the login of a user in the middle of a call.
    pub fn with_authorize(mut self, authorize: Arc<dyn Authorize>) -> Self {
        self.authorize = Some(authorize);
        self
    }

    /// Returns the secrets of the client, and those that the server has issued last.
    pub fn secrets(&self) -> Vec<Secret> {
        let own = [&self.client_secret, &self.private_key].into_iter().flatten();
        own.chain(&*self.issued.lock()).cloned().collect()
    }

    /// Registers a secret that the server has issued.
    #[cfg(feature = "flows")]
    pub(crate) fn register_secret(&self, secret: &Secret) {
        let mut issued = self.issued.lock();
        issued.retain(|other| other != secret);
        issued.push_back(secret.clone());
        if issued.len() > MAX_ISSUED {
            issued.pop_front();
        }
        drop(issued);
        if let Some(on_secret) = &self.on_secret {
            on_secret(secret);
        }
    }
}

impl fmt::Debug for ClientSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSettings")
            .field("grant", &self.grant)
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret)
            .field("issuer", &self.issuer)
            .field("scopes", &self.scopes)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
