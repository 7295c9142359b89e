//! The metadata of authorization servers, with validated URLs.

use serde::Deserialize;
use serde::de::IgnoredAny;
use url::Url;

use super::http_client::AuthHttpClient;
use super::signing_key::ALGORITHM;
use crate::Error;
use crate::metadata::{MAX_URL_BYTES, at_path, is_same_issuer};

/// The only supported method of PKCE.
pub(super) const S256: &str = "S256";

/// The metadata of an authorization server (RFC 8414, and `OpenID` Connect Discovery).
#[derive(Debug, Deserialize)]
pub(super) struct WireServerMetadata {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    scopes_supported: Option<Vec<String>>,
    response_types_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    dpop_signing_alg_values_supported: Option<Vec<String>>,
    client_id_metadata_document_supported: Option<bool>,
    authorization_response_iss_parameter_supported: Option<bool>,
    /// Ignored.
    #[serde(default, rename = "signed_metadata")]
    _signed: Option<IgnoredAny>,
}

/// The metadata of an authorization server, with validated URLs.
#[derive(Debug)]
pub(super) struct ServerMetadata {
    /// The issuer as the server writes it.
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<Url>,
    pub(super) token_endpoint: Url,
    pub(super) registration_endpoint: Option<Url>,
    pub(super) scopes: Vec<String>,
    /// `None` if the server does not list them.
    pub(super) auth_methods: Option<Vec<String>>,
    /// True if the server binds tokens to P-256 keys; `None` if it does not say.
    pub(super) binds_tokens: Option<bool>,
    /// True if the server fetches the metadata document of a client.
    pub(super) takes_metadata_documents: bool,
    /// True if the server includes its issuer in redirects.
    pub(super) sends_issuer: bool,
    has_pkce: bool,
}

impl ServerMetadata {
    /// Validates the document of the authorization server with this identifier.
    pub(super) fn new(
        wire: WireServerMetadata,
        issuer: &str,
        http_client: &AuthHttpClient,
    ) -> Result<Self, Error> {
        if !is_same_issuer(&wire.issuer, issuer) {
            let problem =
                "its metadata is that of another issuer; the operator of the server has to correct that";
            return Err(Error::at(issuer, problem));
        }
        let endpoint = |name: &str, text: Option<&String>| {
            let read = |text: &String| {
                let url = Url::parse(text).ok();
                let url = url.filter(|url| text.len() <= MAX_URL_BYTES && url.fragment().is_none());
                let url = url.ok_or_else(|| Error::at(issuer, format!("its `{name}` is not a URL")))?;
                http_client.check(&url)?;
                Ok::<_, Error>(url)
            };
            text.map(read).transpose()
        };
        let token_endpoint = endpoint("token_endpoint", wire.token_endpoint.as_ref())?
            .ok_or_else(|| Error::at(issuer, "its metadata has no `token_endpoint`"))?;
        let lists = |list: &Option<Vec<String>>, word: &str| {
            list.as_ref().map(|list| list.iter().any(|one| one == word))
        };
        let login = wire.authorization_endpoint.as_ref();
        // A server that issues no codes has no login.
        let login = login.filter(|_| lists(&wire.response_types_supported, "code").unwrap_or(true));
        Ok(Self {
            authorization_endpoint: endpoint("authorization_endpoint", login)?,
            registration_endpoint: endpoint("registration_endpoint", wire.registration_endpoint.as_ref())?,
            token_endpoint,
            has_pkce: lists(&wire.code_challenge_methods_supported, S256).unwrap_or(false),
            binds_tokens: lists(&wire.dpop_signing_alg_values_supported, ALGORITHM),
            scopes: wire.scopes_supported.unwrap_or_default(),
            auth_methods: wire.token_endpoint_auth_methods_supported,
            takes_metadata_documents: wire.client_id_metadata_document_supported == Some(true),
            sends_issuer: wire.authorization_response_iss_parameter_supported == Some(true),
            issuer: wire.issuer,
        })
    }

    /// Returns the conventional endpoints of servers without metadata (revision 2025-03-26). They are at the origin of
    /// the server itself.
    pub(super) fn without_metadata(server: &Url) -> Self {
        Self {
            authorization_endpoint: Some(at_path(server, "/authorize")),
            token_endpoint: at_path(server, "/token"),
            registration_endpoint: Some(at_path(server, "/register")),
            scopes: Vec::new(),
            auth_methods: None,
            binds_tokens: None,
            takes_metadata_documents: false,
            sends_issuer: false,
            // That revision requires PKCE of every authorization server.
            has_pkce: true,
            issuer: server.origin().ascii_serialization(),
        }
    }

    /// Returns the login endpoint. Fails if users cannot log in safely.
    pub(super) fn login_endpoint(&self) -> Result<&Url, Error> {
        let problem = match &self.authorization_endpoint {
            Some(endpoint) if self.has_pkce => return Ok(endpoint),
            Some(_) => "it does not support PKCE with S256, without which a login is not safe",
            None => "users cannot log in there; set `grant: client_credentials` if you have a client",
        };
        Err(Error::at(&self.issuer, problem))
    }
}
