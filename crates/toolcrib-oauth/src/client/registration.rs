//! The OAuth client at an authorization server: its registration and its authentication.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_model::Secret;
use url::form_urlencoded;

use super::credentials::{exposed_optional, unix_now};
use super::http_client::{AuthHttpClient, failed, is_transient};
use super::metadata::{ServerMetadata, authorization_error};
use super::{McpAuth, client_assertion};
use crate::error::Error;

/// The name of the client at authorization servers.
const CLIENT_NAME: &str = "Toolcrib";

/// The longest id or secret of a client, in bytes.
const MAX_CLIENT_BYTES: usize = 8 * 1024;

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
    /// Returns the client that the operator has configured, if any.
    pub(super) fn configured(auth: &McpAuth, server: &ServerMetadata) -> Option<Self> {
        let id = auth.client_id.clone()?;
        let proof = if auth.private_key.is_some() {
            ClientAuthMethod::PrivateKeyJwt
        } else if auth.client_secret.is_some() {
            secret_method(server)
        } else {
            ClientAuthMethod::None
        };
        Some(Self {
            id,
            secret: None,
            proof,
            origin: ClientOrigin::Configured,
            redirect_uri: None,
            expires_at: None,
        })
    }

    /// Returns the client at an identity provider. `secret_method` returns the method for sending its secret.
    pub(super) fn of_provider(
        id: &str,
        secret: Option<Secret>,
        secret_method: impl FnOnce() -> ClientAuthMethod,
    ) -> Self {
        Self {
            id: id.to_owned(),
            proof: if secret.is_some() { secret_method() } else { ClientAuthMethod::None },
            secret,
            // The secret is stored in the client.
            origin: ClientOrigin::Registered,
            redirect_uri: None,
            expires_at: None,
        }
    }

    /// Returns the client for a login: the operator's, else one that a metadata document describes, else the one that
    /// is registered with the same redirect URI, else a new one.
    pub(super) async fn for_login(
        auth: &McpAuth,
        http_client: &AuthHttpClient,
        server: &ServerMetadata,
        redirect_uri: &str,
        known: Option<&Self>,
    ) -> Result<Self, Error> {
        if let Some(client) = Self::configured(auth, server) {
            return Ok(client);
        }
        if let Some(url) = auth.client_metadata_url.as_ref().filter(|_| server.takes_metadata_documents) {
            return Ok(Self {
                id: url.clone(),
                secret: None,
                proof: ClientAuthMethod::None,
                origin: ClientOrigin::Document,
                redirect_uri: None,
                expires_at: None,
            });
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
            let problem = "it registers no clients by itself; register one there and set `auth.client_id`";
            return Err(authorization_error(&server.issuer, problem));
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
            let problem = format!(
                "it registers no client ({}); register one there and set `auth.client_id`",
                response.status
            );
            return Err(failed(url, &problem, is_transient(response.status)));
        }
        let answer: Registration = serde_json::from_slice(&response.body)
            .ok()
            .filter(Registration::is_sendable)
            .ok_or_else(|| failed(url, "its response to the registration is invalid", false))?;
        let secret = answer.client_secret.filter(|secret| !secret.expose().is_empty());
        let proof = match (&secret, answer.token_endpoint_auth_method.as_deref()) {
            (None, _) | (_, Some("none")) => ClientAuthMethod::None,
            (_, Some("client_secret_basic")) => ClientAuthMethod::SecretBasic,
            (_, Some("client_secret_post")) => ClientAuthMethod::SecretPost,
            _ => secret_method(server),
        };
        Ok(Self {
            id: answer.client_id,
            secret,
            proof,
            origin: ClientOrigin::Registered,
            redirect_uri: Some(redirect_uri.to_owned()),
            expires_at: answer.client_secret_expires_at.filter(|end| *end > 0),
        })
    }

    /// Adds the client's authentication to the fields and headers of a token request to this issuer. Returns the
    /// secrets in it, which must not be shown.
    pub(super) fn authenticate(
        &self,
        auth: &McpAuth,
        issuer: &str,
        fields: &mut Vec<(&'static str, String)>,
        headers: &mut HeaderMap,
    ) -> Result<Vec<Secret>, Error> {
        let wrong = |problem: &str| authorization_error(issuer, problem);
        let secret = if self.origin == ClientOrigin::Configured { &auth.client_secret } else { &self.secret };
        let secret = || {
            secret
                .clone()
                .ok_or_else(|| wrong("the secret of the client is not there; set `auth.client_secret`"))
        };
        match self.proof {
            ClientAuthMethod::None => fields.push(("client_id", self.id.clone())),
            ClientAuthMethod::SecretPost => {
                let secret = secret()?;
                fields.push(("client_id", self.id.clone()));
                fields.push(("client_secret", secret.expose().to_owned()));
                return Ok(vec![secret]);
            }
            ClientAuthMethod::SecretBasic => {
                let secret = secret()?;
                // RFC 6749, section 2.3.1: both are form-encoded first.
                let encode =
                    |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let pair = STANDARD.encode(format!("{}:{}", encode(&self.id), encode(secret.expose())));
                let mut value = HeaderValue::from_str(&format!("Basic {pair}"))
                    .map_err(|_| wrong("the credentials of the client cannot be sent"))?;
                value.set_sensitive(true);
                headers.insert(AUTHORIZATION, value);
                return Ok(vec![secret, Secret::new(pair)]);
            }
            ClientAuthMethod::PrivateKeyJwt => {
                let key =
                    auth.private_key.as_ref().ok_or_else(|| wrong("`auth.private_key` is not there"))?;
                let client_assertion = client_assertion::sign(key, &self.id, issuer)?;
                fields.push(("client_assertion_type", client_assertion::ASSERTION_TYPE.to_owned()));
                fields.push(("client_assertion", client_assertion.expose().to_owned()));
                return Ok(vec![client_assertion]);
            }
        }
        Ok(Vec::new())
    }
}

/// Returns the method for sending a secret. A server that does not list its methods accepts the header (RFC 8414).
pub(super) fn secret_method(server: &ServerMetadata) -> ClientAuthMethod {
    let Some(methods) = &server.auth_methods else { return ClientAuthMethod::SecretBasic };
    let takes = |name: &str| methods.iter().any(|method| method == name);
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
