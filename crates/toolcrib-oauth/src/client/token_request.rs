//! Token requests and their responses.

use http::Method;
use http::header::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_io::http::Response;
use toolcrib_model::Secret;
use url::{Url, form_urlencoded};

use super::McpAuth;
use super::client::OAuthClient;
use super::credentials::{exposed, exposed_optional, unix_now};
use super::dpop::{self, Nonce};
use super::http_client::{AuthHttpClient, display_url, failed, is_transient};
use super::scopes;
use crate::error::Error;
use crate::text::clean;

/// The longest accepted token, in bytes. Servers rarely accept longer headers.
pub(super) const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The time before its expiry at which a token is renewed, in seconds: a request takes a while, and clocks differ. For
/// a short-lived token, half of its lifetime.
const EXPIRY_MARGIN: u64 = 30;

/// The longest lifetime of a token that is believed, in seconds: a year.
const MAX_LIFE: f64 = 365.0 * 24.0 * 3_600.0;

/// The largest number of characters of an issuer's error that is reported.
const MAX_REPORTED_CHARS: usize = 200;

/// The fields of a request that are secret.
const SECRET_FIELDS: &[&str] = &["code", "code_verifier", "refresh_token", "assertion", "subject_token"];

/// The replacement for a secret that an issuer repeats.
const MASK: &str = "[secret]";

/// The tokens of one response.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Tokens {
    #[serde(serialize_with = "exposed")]
    pub(super) access: Secret,
    #[serde(default, serialize_with = "exposed_optional")]
    pub(super) refresh: Option<Secret>,
    /// The time at which to renew them, in seconds since 1970.
    #[serde(default)]
    pub(super) renew_at: Option<u64>,
    /// The time at which they expire, in seconds since 1970; `None` if the issuer does not say.
    #[serde(default)]
    pub(super) expires_at: Option<u64>,
    /// The granted scopes, if the issuer reports them.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// True if the access token is bound to the stored key.
    #[serde(default)]
    pub(super) is_bound: bool,
}

impl Tokens {
    pub(super) fn should_be_renewed(&self) -> bool {
        self.renew_at.is_some_and(|time| unix_now() >= time)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.expires_at.is_some_and(|time| unix_now() >= time)
    }
}

/// The error of a token request.
#[derive(Debug)]
pub(super) enum TokenError {
    /// The issuer rejects the grant permanently.
    Rejected(Error),
    /// Any other failure.
    Failed(Error),
}

impl TokenError {
    pub(super) fn error(self) -> Error {
        match self {
            Self::Rejected(error) | Self::Failed(error) => error,
        }
    }
}

/// The parameters of a token request.
pub(super) struct TokenRequest<'a> {
    pub(super) auth: &'a McpAuth,
    pub(super) http_client: &'a AuthHttpClient,
    pub(super) endpoint: &'a Url,
    pub(super) issuer: &'a str,
    pub(super) resource: &'a str,
    pub(super) client: &'a OAuthClient,
    /// The key to bind the tokens to.
    pub(super) key: Option<&'a Secret>,
    /// The nonce that the issuer requires in proofs.
    pub(super) nonce: &'a Nonce,
}

impl TokenRequest<'_> {
    /// Requests tokens with these fields, which may be secret.
    pub(super) async fn send(&self, fields: Vec<(&'static str, String)>) -> Result<Tokens, TokenError> {
        let answer = self.ask(fields).await?;
        read(self.endpoint, &answer, self.key.is_some())
    }

    /// Exchanges a token for one of this type, which is not for requests to a server.
    pub(super) async fn exchange(
        &self,
        fields: Vec<(&'static str, String)>,
        kind: &str,
    ) -> Result<Secret, TokenError> {
        let answer = self.ask(fields).await?;
        let wrong = |problem: &str| TokenError::Failed(failed(self.endpoint, problem, false));
        let text = |key: &str| answer.get(key).and_then(Value::as_str);
        if text("issued_token_type") != Some(kind) {
            return Err(wrong("what it gives in exchange is not what it was asked for"));
        }
        let token = text("access_token").filter(|text| is_valid_token(text)).map(Secret::new);
        token.ok_or_else(|| wrong("its answer has no `access_token` that can be sent"))
    }

    /// Sends the request. Returns the response if it is not an error.
    async fn ask(&self, mut fields: Vec<(&'static str, String)>) -> Result<Value, TokenError> {
        let mut secrets: Vec<Secret> = fields
            .iter()
            .filter(|(name, _)| SECRET_FIELDS.contains(name))
            .map(|(_, value)| Secret::new(value.as_str()))
            .collect();
        fields.push(("resource", self.resource.to_owned()));
        let mut is_second = false;
        loop {
            let (mut fields, mut headers) = (fields.clone(), HeaderMap::new());
            let proof = self.client.authenticate(self.auth, self.issuer, &mut fields, &mut headers);
            secrets.extend(proof.map_err(TokenError::Failed)?);
            if let Some(key) = self.key {
                let proof = dpop::proof(key, &Method::POST, self.endpoint, self.nonce, None);
                headers.insert(dpop::PROOF, proof.map_err(TokenError::Failed)?);
            }
            let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
            let posted = self
                .http_client
                .post(self.endpoint, "application/x-www-form-urlencoded", headers, body)
                .await;
            let response = posted.map_err(TokenError::Failed)?;
            let answer: Value = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
            let has_nonce = self.key.is_some() && self.nonce.note(&response.headers);
            let error = answer.get("error").and_then(Value::as_str);
            if has_nonce && error == Some(dpop::USE_NONCE) && !is_second {
                is_second = true;
                continue;
            }
            return match token_error(self.endpoint, &response, &answer, &secrets) {
                Some(token_error) => Err(token_error),
                None => Ok(answer),
            };
        }
    }
}

/// Returns the error of a response, if it is one.
fn token_error(
    endpoint: &Url,
    response: &Response,
    answer: &Value,
    secrets: &[Secret],
) -> Option<TokenError> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    // Some servers report errors with status 200.
    if response.status.is_success() && text("error").is_none() {
        return None;
    }
    let description: Vec<&str> = ["error", "error_description"].iter().filter_map(|key| text(key)).collect();
    let description = secrets
        .iter()
        .filter(|secret| !secret.expose().is_empty())
        .fold(description.join(": "), |description, secret| description.replace(secret.expose(), MASK));
    let description = clean(&description, MAX_REPORTED_CHARS);
    let colon = if description.is_empty() { "" } else { ": " };
    let is_transient = is_transient(response.status);
    let error = failed(
        endpoint,
        &format!("it issues no token ({}){colon}{description}", response.status),
        is_transient,
    );
    let is_final = matches!(
        text("error"),
        Some("invalid_grant" | "invalid_client" | "unauthorized_client" | "invalid_scope")
    );
    Some(if is_final && !is_transient { TokenError::Rejected(error) } else { TokenError::Failed(error) })
}

/// Parses the tokens of a response. Bound ones are accepted only if there is a key.
fn read(endpoint: &Url, answer: &Value, has_key: bool) -> Result<Tokens, TokenError> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    let wrong = |problem: &str| TokenError::Failed(failed(endpoint, problem, false));
    let is_bound = has_key && text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("dpop"));
    if !is_bound && text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(wrong("the token that it issues is not a bearer token"));
    }
    let token = |key: &str| text(key).filter(|text| is_valid_token(text)).map(Secret::new);
    let access =
        token("access_token").ok_or_else(|| wrong("its answer has no `access_token` that can be sent"))?;
    let life = answer.get("expires_in").and_then(parse_seconds);
    let now = unix_now();
    tracing::debug!(endpoint = display_url(endpoint), life, "a token was issued");
    Ok(Tokens {
        access,
        refresh: token("refresh_token"),
        renew_at: life.map(|life| now + life.saturating_sub(EXPIRY_MARGIN.min(life / 2))),
        expires_at: life.map(|life| now + life),
        scopes: text("scope").map(scopes::read).unwrap_or_default(),
        is_bound,
    })
}

/// Returns true if the token can be sent in a header, and needs no escapes in JSON. RFC 6750 permits less, and some
/// servers ignore that.
pub(super) fn is_valid_token(text: &str) -> bool {
    (1..=MAX_TOKEN_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

/// Parses a number of seconds. Some issuers write it as a string, or with a fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within bounds before")]
fn parse_seconds(value: &Value) -> Option<u64> {
    let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    Some(seconds.clamp(0.0, MAX_LIFE) as u64)
}
