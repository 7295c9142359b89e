//! The settings of a credential.

use toolcrib_model::Secret;
use toolcrib_oauth::client::{ClientCredentials, ClientSettings};

/// A credential that authenticates calls: `auth` of a source.
///
/// ```
/// use toolcrib_loader_rest::{Credential, CredentialKind, KeyLocation, RestSource};
/// use toolcrib_model::Secret;
///
/// let key = CredentialKind::ApiKey {
///     value: Secret::new("hunter2"),
///     slot: Some((KeyLocation::Header, "X-Api-Key".into())),
/// };
/// let source = RestSource::new("pets.yaml", "pets")
///     .with_credential(Credential::new(key).for_origin("https://pets.example"));
/// assert!(source.open().is_ok());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Credential {
    /// The kind of credential.
    pub kind: CredentialKind,
    /// The security scheme of the document that it is for. By default it is for every scheme that it fits.
    pub scheme: Option<String>,
    /// The only origin that it is sent to, as a URL. Defaults to the origin of `base_url`; one of the two is required.
    pub origin: Option<String>,
}

/// The kinds of credentials.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CredentialKind {
    /// `Authorization: Bearer …`.
    Bearer {
        /// The token.
        token: Secret,
    },
    /// `Authorization: Basic …`.
    Basic {
        /// The user, without a colon.
        username: String,
        /// The password.
        password: Secret,
    },
    /// A key in a header, the query or a cookie.
    ApiKey {
        /// The key.
        value: Secret,
        /// The slot of the key. By default the security scheme of the document declares it.
        slot: Option<(KeyLocation, String)>,
    },
    /// `Authorization: Bearer …` with a token that is obtained with client credentials.
    OAuth2(ClientCredentials),
    /// `Authorization: Bearer …` with a token that is exchanged for the token of the caller.
    TokenExchange(ClientCredentials),
    /// `Authorization: Bearer …` with a token of a user's login.
    Login {
        /// The client, its authorization server, and the store of the tokens.
        settings: Box<ClientSettings>,
        /// True if each user has a login. Calls without a user are refused then.
        per_user: bool,
    },
}

/// The part of a request that contains a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLocation {
    /// A header.
    Header,
    /// The query.
    Query,
    /// A cookie.
    Cookie,
}

impl Credential {
    /// Creates a credential for every scheme that it fits, and for the origin of `base_url`.
    pub fn new(kind: CredentialKind) -> Self {
        Self { kind, scheme: None, origin: None }
    }

    /// Sets the security scheme that it is for.
    pub fn for_scheme(mut self, scheme: impl Into<String>) -> Self {
        self.scheme = Some(scheme.into());
        self
    }

    /// Sets the origin that it is sent to.
    pub fn for_origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = Some(origin.into());
        self
    }
}
