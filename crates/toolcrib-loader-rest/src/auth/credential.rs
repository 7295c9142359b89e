//! A credential as it is set up.

use toolcrib_model::Secret;

/// Something that calls prove with who makes them: `auth` of a source.
///
/// ```
/// use toolcrib_loader_rest::{Credential, CredentialKind, KeyPlace, RestSource};
/// use toolcrib_model::Secret;
///
/// let key = CredentialKind::ApiKey {
///     value: Secret::new("hunter2"),
///     slot: Some((KeyPlace::Header, "X-Api-Key".into())),
/// };
/// let source = RestSource::new("pets.yaml", "pets")
///     .with_credential(Credential::new(key).for_origin("https://pets.example"));
/// assert!(source.open().is_ok());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Credential {
    /// What it is.
    pub kind: CredentialKind,
    /// The security scheme of the document that it is for. By default it is for every scheme that it fits.
    pub scheme: Option<String>,
    /// The only origin that it is sent to, as a URL; that of `base_url` by default, and one of both there must be.
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
        /// Where it goes; where the security scheme of the document says, by default.
        slot: Option<(KeyPlace, String)>,
    },
    /// `Authorization: Bearer …` with a token that is fetched with client credentials.
    OAuth2(ClientCredentials),
}

/// Where in a request a key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// A header.
    Header,
    /// The query.
    Query,
    /// A cookie.
    Cookie,
}

/// What tokens are fetched with, by the client credentials grant of OAuth 2.0 (RFC 6749, section 4.4).
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    /// Where tokens are issued. It is never taken from a document, which would then choose who gets the secret.
    pub token_url: String,
    /// Who asks.
    pub client_id: String,
    /// What proves it.
    pub client_secret: Secret,
    /// The scopes that are asked for.
    pub scopes: Vec<String>,
    /// What the token is for, where the issuer wants to know.
    pub audience: Option<String>,
    /// Whether id and secret are sent in the body; in the `Authorization` header otherwise, as the standard prefers.
    pub secret_in_body: bool,
}

impl Credential {
    /// A credential for every scheme that it fits, and for the origin of `base_url`.
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
