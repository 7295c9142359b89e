//! What an app says about the authorization at a server.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_model::Secret;
use toolcrib_policy::Access;

use super::{Authorize, TokenStore};

/// Is told each secret that a server issues, so that nothing says it.
pub type SecretSink = Arc<dyn Fn(&Secret) + Send + Sync>;

/// On whose behalf tokens are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grant {
    /// A user's, who logs in once.
    #[default]
    AuthorizationCode,
    /// Our own, with a client that the operator has registered.
    ClientCredentials,
    /// Our own, with a token by which the platform that we run on says who we are (RFC 7523).
    WorkloadIdentity,
    /// A user's, of whom an identity provider says to the authorization server who it is: without a login there.
    EnterpriseManaged,
}

/// Where the token is by which others say who we are.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum IdentityToken {
    /// The token itself.
    Text(Secret),
    /// A file with nothing else in it, which is read each time that it is needed.
    File(PathBuf),
}

/// Who knows the users of a company.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IdentityProvider {
    /// Its identifier, a URL below which its metadata are.
    pub issuer: String,
    /// The client that we are there.
    pub client_id: String,
    /// Its secret, if it has one.
    pub client_secret: Option<Secret>,
}

impl IdentityProvider {
    /// The provider with this identifier, where we are this client.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), client_id: client_id.into(), client_secret: None }
    }
}

/// How we are authorized at a server. The default registers itself as a client, asks for the scopes that the server
/// names, keeps tokens in memory, and needs a login by somebody else.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct McpAuth {
    /// On whose behalf.
    pub grant: Grant,
    /// The client that the operator has registered.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// Its private key, for authorization servers that want signed assertions: PKCS #8 in PEM, of the curve P-256
    /// (`ES256`).
    pub private_key: Option<Secret>,
    /// The URL of the document that describes the client, for authorization servers that fetch one.
    pub client_metadata_url: Option<String>,
    /// The only authorization server that is used. It may have a private address where the server itself may.
    pub issuer: Option<String>,
    /// The token by which others say who we are, for the grants that want one.
    pub identity_token: Option<IdentityToken>,
    /// Who has issued it, and says so to the authorization server of the server.
    pub identity_provider: Option<IdentityProvider>,
    /// Scopes that are asked for in any case.
    pub scopes: Vec<String>,
    /// The port of this machine that users are sent back to, for a client that was registered with one. Any that is
    /// free unless it is set.
    pub redirect_port: Option<u16>,
    /// Where tokens are kept.
    pub store: TokenStore,
    /// What may be reached.
    pub access: Access,
    /// The command that an error tells the user to run; `toolcrib login NAMESPACE` unless it is set.
    pub login_command: Option<String>,
    /// Takes the user to the authorization server in the middle of a call. Without it such a call fails, and says which
    /// command to run.
    pub authorize: Option<Arc<dyn Authorize>>,
    /// Is told of tokens.
    pub on_secret: Option<SecretSink>,
    /// The secrets that were issued last. Clones share them.
    pub(crate) issued: Issued,
}

/// The most secrets that are remembered of one server: those of a login, and of some renewals.
const MAX_ISSUED: usize = 16;

/// The secrets that a server issued last, so that nothing is kept of it that tells one.
#[derive(Clone, Default)]
pub(crate) struct Issued(Arc<Mutex<VecDeque<Secret>>>);

impl Issued {
    pub(crate) fn all(&self) -> Vec<Secret> {
        self.lock().iter().cloned().collect()
    }

    pub(super) fn add(&self, secret: &Secret) {
        let mut issued = self.lock();
        issued.retain(|other| other.expose() != secret.expose());
        issued.push_back(secret.clone());
        if issued.len() > MAX_ISSUED {
            issued.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Secret>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl McpAuth {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the client that the operator has registered.
    pub fn with_client(mut self, id: impl Into<String>, secret: Option<Secret>) -> Self {
        self.client_id = Some(id.into());
        self.client_secret = secret;
        self
    }

    /// Sets where tokens are kept.
    pub fn with_store(mut self, store: TokenStore) -> Self {
        self.store = store;
        self
    }

    /// Sets who takes the user to the authorization server.
    pub fn with_authorize(mut self, authorize: Arc<dyn Authorize>) -> Self {
        self.authorize = Some(authorize);
        self
    }

    /// Asks for tokens on our own behalf.
    pub fn with_client_credentials(mut self) -> Self {
        self.grant = Grant::ClientCredentials;
        self
    }

    /// Asks for tokens with the word of the platform that we run on.
    pub fn with_workload_identity(mut self, token: IdentityToken) -> Self {
        self.grant = Grant::WorkloadIdentity;
        self.identity_token = Some(token);
        self
    }

    /// Asks for tokens with the word of an identity provider. The token is the one that it has issued to us of the user.
    pub fn with_enterprise_managed(mut self, provider: IdentityProvider, token: IdentityToken) -> Self {
        self.grant = Grant::EnterpriseManaged;
        self.identity_provider = Some(provider);
        self.identity_token = Some(token);
        self
    }
}

impl fmt::Debug for McpAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpAuth")
            .field("grant", &self.grant)
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret)
            .field("private_key", &self.private_key)
            .field("client_metadata_url", &self.client_metadata_url)
            .field("issuer", &self.issuer)
            .field("identity_token", &self.identity_token)
            .field("identity_provider", &self.identity_provider)
            .field("scopes", &self.scopes)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
