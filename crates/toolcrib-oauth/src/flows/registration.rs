//! The OAuth client at an authorization server: its registration and its authentication.

use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderMap};
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_model::Secret;

use super::clock::unix_now;
use super::form::{Fields, basic_auth};
use super::http_client::{AuthHttpClient, is_transient};
use super::pkce::random;
use super::server_metadata::ServerMetadata;
use super::signing_key::{ALGORITHM, PrivateKey};
use super::stored_secret::exposed_optional;
use crate::Error;
use crate::client::{ClientSettings, IdentityProvider};

/// The name of the client at authorization servers.
const CLIENT_NAME: &str = "Toolcrib";

/// The longest id or secret of a client, in bytes.
const MAX_CLIENT_BYTES: usize = 8 * 1024;

/// The type of a client's signed assertion (RFC 7523).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The validity of an assertion.
const ASSERTION_LIFE: Duration = Duration::from_mins(5);

/// The method by which a client authenticates.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) enum ClientAuthMethod {
    /// None: the client has no secret.
    #[default]
    #[serde(rename = "none")]
    None,
    /// The secret in a header.
    #[serde(rename = "client_secret_basic")]
    SecretBasic,
    /// The secret among the parameters.
    #[serde(rename = "client_secret_post")]
    SecretPost,
    /// A signed assertion.
    #[serde(rename = "private_key_jwt")]
    PrivateKeyJwt,
}

/// The origin of a client.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientOrigin {
    /// The operator has registered it.
    Configured,
    /// A metadata document describes it.
    Document,
    /// The runtime has registered it.
    Registered,
}

/// An OAuth client.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct OAuthClient {
    pub(super) id: String,
    /// The secret of a client that the runtime has registered. The secret of an operator's client is not stored.
    #[serde(default, serialize_with = "exposed_optional")]
    pub(super) secret: Option<Secret>,
    #[serde(default)]
    pub(super) proof: ClientAuthMethod,
    pub(super) origin: ClientOrigin,
    /// The redirect URI that it is registered with.
    #[serde(default)]
    pub(super) redirect_uri: Option<String>,
    /// The time at which its secret expires, in seconds since 1970.
    #[serde(default)]
    pub(super) expires_at: Option<u64>,
}

impl OAuthClient {
    fn new(id: &str, proof: ClientAuthMethod, origin: ClientOrigin) -> Self {
        Self { id: id.to_owned(), secret: None, proof, origin, redirect_uri: None, expires_at: None }
    }

    /// Returns the client that the operator has configured, if any.
    pub(super) fn configured(settings: &ClientSettings, server: &ServerMetadata) -> Option<Self> {
        let proof = if settings.private_key.is_some() {
            ClientAuthMethod::PrivateKeyJwt
        } else if settings.client_secret.is_some() {
            secret_method(server)
        } else {
            ClientAuthMethod::None
        };
        Some(Self::new(settings.client_id.as_ref()?, proof, ClientOrigin::Configured))
    }

    /// Returns the client at an identity provider.
    pub(super) fn at_provider(provider: &IdentityProvider, server: &ServerMetadata) -> Self {
        let secret = provider.client_secret.clone();
        let proof = if secret.is_some() { secret_method(server) } else { ClientAuthMethod::None };
        // Its secret is that of the provider, and not that of the settings.
        Self { secret, ..Self::new(&provider.client_id, proof, ClientOrigin::Registered) }
    }

    /// Returns the client for a login: the operator's, else one that a metadata document describes, else the one that
    /// is registered with the same redirect URI, else a new one.
    pub(super) async fn for_login(
        settings: &ClientSettings,
        http_client: &AuthHttpClient,
        server: &ServerMetadata,
        redirect_uri: &str,
        known: Option<&Self>,
    ) -> Result<Self, Error> {
        if let Some(client) = Self::configured(settings, server) {
            return Ok(client);
        }
        if let Some(url) = settings.client_metadata_url.as_ref().filter(|_| server.takes_metadata_documents) {
            return Ok(Self::new(url, ClientAuthMethod::None, ClientOrigin::Document));
        }
        let fits = |client: &&Self| {
            client.origin == ClientOrigin::Registered
                && client.redirect_uri.as_deref() == Some(redirect_uri)
                && client.expires_at.is_none_or(|end| unix_now() < end)
        };
        match known.filter(fits) {
            Some(client) => Ok(client.clone()),
            None => Self::register(http_client, server, redirect_uri).await,
        }
    }

    async fn register(
        http_client: &AuthHttpClient,
        server: &ServerMetadata,
        redirect_uri: &str,
    ) -> Result<Self, Error> {
        let Some(url) = &server.registration_endpoint else {
            let problem = "it registers no clients by itself; register one there and set `client_id`";
            return Err(Error::at(&server.issuer, problem));
        };
        // A program on a user's machine cannot protect a secret, so it requests none unless it has to.
        let wants_secret =
            server.auth_methods.as_ref().is_some_and(|all| !all.iter().any(|one| one == "none"));
        let body = json!({
            "client_name": CLIENT_NAME,
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": if wants_secret { secret_method(server) } else { ClientAuthMethod::None },
            "application_type": "native",
        });
        let response = http_client.post(url, "application/json", HeaderMap::new(), body.to_string()).await?;
        if !response.status.is_success() {
            let status = response.status;
            let problem =
                format!("it registers no client ({status}); register one there and set `client_id`");
            return Err(Error::at_url(url, problem).transient(is_transient(status)));
        }
        let answer: Registration = serde_json::from_slice(&response.body)
            .ok()
            .filter(Registration::is_sendable)
            .ok_or_else(|| Error::at_url(url, "its response to the registration is invalid"))?;
        let secret = answer.client_secret.filter(|secret| !secret.expose().is_empty());
        let proof = match (&secret, answer.token_endpoint_auth_method.as_deref()) {
            (None, _) | (_, Some("none")) => ClientAuthMethod::None,
            (_, Some("client_secret_basic")) => ClientAuthMethod::SecretBasic,
            (_, Some("client_secret_post")) => ClientAuthMethod::SecretPost,
            _ => secret_method(server),
        };
        Ok(Self {
            secret,
            redirect_uri: Some(redirect_uri.to_owned()),
            expires_at: answer.client_secret_expires_at.filter(|end| *end > 0),
            ..Self::new(&answer.client_id, proof, ClientOrigin::Registered)
        })
    }

    /// Adds the client's authentication to the fields and headers of a token request to this issuer. Returns the
    /// secrets in it, which must not be shown.
    pub(super) fn authenticate(
        &self,
        settings: &ClientSettings,
        issuer: &str,
        fields: &mut Fields,
        headers: &mut HeaderMap,
    ) -> Result<Vec<Secret>, Error> {
        let wrong = |problem: &str| Error::at(issuer, problem);
        let secret = match self.origin {
            ClientOrigin::Configured => &settings.client_secret,
            ClientOrigin::Document | ClientOrigin::Registered => &self.secret,
        };
        let secret = || {
            let secret = secret.clone();
            secret.ok_or_else(|| wrong("the secret of the client is not there; set `client_secret`"))
        };
        match self.proof {
            ClientAuthMethod::None => {
                fields.push(("client_id", self.id.clone()));
                Ok(Vec::new())
            }
            ClientAuthMethod::SecretPost => {
                let secret = secret()?;
                fields.push(("client_id", self.id.clone()));
                fields.push(("client_secret", secret.expose().to_owned()));
                Ok(vec![secret])
            }
            ClientAuthMethod::SecretBasic => {
                let secret = secret()?;
                let (header, pair) = basic_auth(&self.id, &secret)
                    .ok_or_else(|| wrong("the credentials of the client cannot be sent"))?;
                headers.insert(AUTHORIZATION, header);
                Ok(vec![secret, pair])
            }
            ClientAuthMethod::PrivateKeyJwt => {
                let key = settings.private_key.as_ref();
                let key = key.ok_or_else(|| wrong("`private_key` is not there"))?;
                let assertion = sign_assertion(key, &self.id, issuer)?;
                fields.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
                fields.push(("client_assertion", assertion.expose().to_owned()));
                Ok(vec![assertion])
            }
        }
    }
}

/// Returns a JWT with the client's identity for this issuer (RFC 7523), signed with the key.
fn sign_assertion(key: &Secret, client_id: &str, issuer: &str) -> Result<Secret, Error> {
    let key = PrivateKey::from_pem(key).ok_or_else(|| {
        Error::at(issuer, "`private_key` is not a key of the curve P-256 in PKCS #8 and PEM")
    })?;
    let now = unix_now();
    let head = json!({"alg": ALGORITHM, "typ": "JWT"});
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": issuer,
        "iat": now,
        "exp": now + ASSERTION_LIFE.as_secs(),
        "jti": random()?,
    });
    let signed = key.sign(&head, &claims).map(Secret::new);
    signed.ok_or_else(|| Error::at(issuer, "the assertion cannot be signed"))
}

/// Returns the method for sending a secret. A server that does not list its methods accepts the header (RFC 8414).
fn secret_method(server: &ServerMetadata) -> ClientAuthMethod {
    let takes = |name: &str| server.auth_methods.iter().flatten().any(|method| method == name);
    if takes("client_secret_basic") {
        ClientAuthMethod::SecretBasic
    } else if takes("client_secret_post") {
        ClientAuthMethod::SecretPost
    } else if takes("none") {
        ClientAuthMethod::None
    } else {
        ClientAuthMethod::SecretBasic
    }
}

#[derive(Deserialize)]
struct Registration {
    client_id: String,
    client_secret: Option<Secret>,
    client_secret_expires_at: Option<u64>,
    token_endpoint_auth_method: Option<String>,
}

impl Registration {
    fn is_sendable(&self) -> bool {
        let secret = self.client_secret.as_ref().map_or(0, |secret| secret.expose().len());
        (1..=MAX_CLIENT_BYTES).contains(&self.client_id.len()) && secret <= MAX_CLIENT_BYTES
    }
}
