//! Which client we are at an authorization server, and how we prove it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_model::Secret;
use url::form_urlencoded;

use super::fetch::{Door, failed, passes};
use super::metadata::{ServerMetadata, refused};
use super::record::{exposed_maybe, now};
use super::{McpAuth, assertion};
use crate::error::Error;

/// What authorization servers are told that we are called.
const CLIENT_NAME: &str = "Toolcrib";

/// The longest id or secret of a client, in bytes.
const MAX_CLIENT_BYTES: usize = 8 * 1024;

/// How a client proves that it is the one.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) enum Proof {
    /// Not at all: it has no secret.
    #[default]
    #[serde(rename = "none")]
    Nothing,
    /// By its secret in a header.
    #[serde(rename = "client_secret_basic")]
    Header,
    /// By its secret among the parameters.
    #[serde(rename = "client_secret_post")]
    Body,
    /// By a signature.
    #[serde(rename = "private_key_jwt")]
    Signature,
}

/// Where a client comes from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    /// The operator has registered it.
    Configured,
    /// A document describes it.
    Document,
    /// We have registered it.
    Registered,
}

/// A client.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Client {
    pub(super) id: String,
    /// Of a client that we have registered. The operator's secret is kept nowhere.
    #[serde(default, serialize_with = "exposed_maybe")]
    pub(super) secret: Option<Secret>,
    #[serde(default)]
    pub(super) proof: Proof,
    pub(super) origin: Origin,
    /// Where it has users sent back to.
    #[serde(default)]
    pub(super) redirect_uri: Option<String>,
    /// When its secret ends, in seconds since 1970.
    #[serde(default)]
    pub(super) expires_at: Option<u64>,
}

impl Client {
    /// The client that the operator set, if any.
    pub(super) fn configured(auth: &McpAuth, server: &ServerMetadata) -> Option<Self> {
        let id = auth.client_id.clone()?;
        let proof = if auth.private_key.is_some() {
            Proof::Signature
        } else if auth.client_secret.is_some() {
            by_secret(server)
        } else {
            Proof::Nothing
        };
        Some(Self {
            id,
            secret: None,
            proof,
            origin: Origin::Configured,
            redirect_uri: None,
            expires_at: None,
        })
    }

    /// The client that we are at an identity provider. `by_secret` says how its secret is sent.
    pub(super) fn of_provider(id: &str, secret: Option<Secret>, by_secret: impl FnOnce() -> Proof) -> Self {
        Self {
            id: id.to_owned(),
            proof: if secret.is_some() { by_secret() } else { Proof::Nothing },
            secret,
            // Its secret is with it.
            origin: Origin::Registered,
            redirect_uri: None,
            expires_at: None,
        }
    }

    /// The client that a login uses: the operator's, else one that a document describes, else the one that we have
    /// registered before with the same redirect, else a new one.
    pub(super) async fn for_login(
        auth: &McpAuth,
        door: &Door,
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
                proof: Proof::Nothing,
                origin: Origin::Document,
                redirect_uri: None,
                expires_at: None,
            });
        }
        let fits = |client: &&Self| {
            client.origin == Origin::Registered
                && client.redirect_uri.as_deref() == Some(redirect_uri)
                && client.expires_at.is_none_or(|end| now() < end)
        };
        match known.filter(fits) {
            Some(client) => Ok(client.clone()),
            None => Self::register(door, server, redirect_uri).await,
        }
    }

    async fn register(door: &Door, server: &ServerMetadata, redirect_uri: &str) -> Result<Self, Error> {
        let Some(url) = &server.registration_endpoint else {
            let problem = "it registers no clients by itself; register one there and set `auth.client_id`";
            return Err(refused(&server.issuer, problem));
        };
        // A program on a user's machine keeps no secret, so it asks for none where it need not.
        let wants_secret =
            server.auth_methods.as_ref().is_some_and(|all| !all.iter().any(|one| one == "none"));
        let body = json!({
            "client_name": CLIENT_NAME,
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": if wants_secret { by_secret(server) } else { Proof::Nothing },
            "application_type": "native",
        });
        let response = door.post(url, "application/json", HeaderMap::new(), body.to_string()).await?;
        if !response.status.is_success() {
            let problem = format!(
                "it registers no client ({}); register one there and set `auth.client_id`",
                response.status
            );
            return Err(failed(url, &problem, passes(response.status)));
        }
        let answer: Registration = serde_json::from_slice(&response.body)
            .ok()
            .filter(Registration::is_sendable)
            .ok_or_else(|| failed(url, "its answer to a registration is none", false))?;
        let secret = answer.client_secret.filter(|secret| !secret.expose().is_empty());
        let proof = match (&secret, answer.token_endpoint_auth_method.as_deref()) {
            (None, _) | (_, Some("none")) => Proof::Nothing,
            (_, Some("client_secret_basic")) => Proof::Header,
            (_, Some("client_secret_post")) => Proof::Body,
            _ => by_secret(server),
        };
        Ok(Self {
            id: answer.client_id,
            secret,
            proof,
            origin: Origin::Registered,
            redirect_uri: Some(redirect_uri.to_owned()),
            expires_at: answer.client_secret_expires_at.filter(|end| *end > 0),
        })
    }

    /// Writes who we are into the fields and headers of a request for tokens of this issuer. Returns what must not be
    /// said of it.
    pub(super) fn prove(
        &self,
        auth: &McpAuth,
        issuer: &str,
        fields: &mut Vec<(&'static str, String)>,
        headers: &mut HeaderMap,
    ) -> Result<Vec<Secret>, Error> {
        let wrong = |problem: &str| refused(issuer, problem);
        let secret = if self.origin == Origin::Configured { &auth.client_secret } else { &self.secret };
        let secret = || {
            secret
                .clone()
                .ok_or_else(|| wrong("the secret of the client is not there; set `auth.client_secret`"))
        };
        match self.proof {
            Proof::Nothing => fields.push(("client_id", self.id.clone())),
            Proof::Body => {
                let secret = secret()?;
                fields.push(("client_id", self.id.clone()));
                fields.push(("client_secret", secret.expose().to_owned()));
                return Ok(vec![secret]);
            }
            Proof::Header => {
                let secret = secret()?;
                // RFC 6749, section 2.3.1: both are encoded as in a form first.
                let encode =
                    |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let pair = STANDARD.encode(format!("{}:{}", encode(&self.id), encode(secret.expose())));
                let mut value = HeaderValue::from_str(&format!("Basic {pair}"))
                    .map_err(|_| wrong("the credentials of the client cannot be sent"))?;
                value.set_sensitive(true);
                headers.insert(AUTHORIZATION, value);
                return Ok(vec![secret, Secret::new(pair)]);
            }
            Proof::Signature => {
                let key =
                    auth.private_key.as_ref().ok_or_else(|| wrong("`auth.private_key` is not there"))?;
                let assertion = assertion::signed(key, &self.id, issuer)?;
                fields.push(("client_assertion_type", assertion::KIND.to_owned()));
                fields.push(("client_assertion", assertion.expose().to_owned()));
                return Ok(vec![assertion]);
            }
        }
        Ok(Vec::new())
    }
}

/// How a secret is sent there. A server that does not say takes the header (RFC 8414).
pub(super) fn by_secret(server: &ServerMetadata) -> Proof {
    let Some(methods) = &server.auth_methods else { return Proof::Header };
    let takes = |name: &str| methods.iter().any(|method| method == name);
    if takes("client_secret_basic") {
        Proof::Header
    } else if takes("client_secret_post") {
        Proof::Body
    } else if takes("none") {
        Proof::Nothing
    } else {
        Proof::Header
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
