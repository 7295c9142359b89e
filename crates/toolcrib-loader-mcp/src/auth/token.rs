//! Asking for tokens, and reading what comes.

use http::Method;
use http::header::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_io::http::Response;
use toolcrib_model::Secret;
use url::{Url, form_urlencoded};

use super::McpAuth;
use super::client::Client;
use super::dpop::{self, Nonce};
use super::fetch::{Door, failed, passes, shown};
use super::record::{exposed, exposed_maybe, now};
use super::scopes;
use crate::error::Error;
use crate::text::clean;

/// The longest token that is kept, in bytes. Servers take no longer headers as a rule.
pub(super) const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// How long before its end a token is no longer used, in seconds: a request takes a while, and clocks differ. Of a token
/// that lives shortly, half of its life.
const EXPIRY_MARGIN: u64 = 30;

/// The longest life of a token that is believed, in seconds: a year.
const MAX_LIFE: f64 = 365.0 * 24.0 * 3_600.0;

/// How much of what an issuer says of a failure is told, in characters.
const MAX_TOLD_CHARS: usize = 200;

/// The fields of a request that are secret.
const SECRET_FIELDS: &[&str] = &["code", "code_verifier", "refresh_token", "assertion", "subject_token"];

/// What takes the place of a secret that an issuer repeats.
const MASK: &str = "[secret]";

/// Tokens as they were issued.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Tokens {
    #[serde(serialize_with = "exposed")]
    pub(super) access: Secret,
    #[serde(default, serialize_with = "exposed_maybe")]
    pub(super) refresh: Option<Secret>,
    /// When it should be renewed, in seconds since 1970.
    #[serde(default)]
    pub(super) renew_at: Option<u64>,
    /// When it ends, in seconds since 1970; `None` when the issuer does not say.
    #[serde(default)]
    pub(super) expires_at: Option<u64>,
    /// What it is good for, as far as the issuer says.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// Whether it is bound to our key.
    #[serde(default)]
    pub(super) is_bound: bool,
}

impl Tokens {
    pub(super) fn should_be_renewed(&self) -> bool {
        self.renew_at.is_some_and(|time| now() >= time)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.expires_at.is_some_and(|time| now() >= time)
    }
}

/// Why there are no tokens.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The issuer does not take what it was shown, and will not later.
    Final(Error),
    /// Something went wrong.
    Failed(Error),
}

impl Refusal {
    pub(super) fn error(self) -> Error {
        match self {
            Self::Final(error) | Self::Failed(error) => error,
        }
    }
}

/// Who asks for tokens, and where.
pub(super) struct TokenRequest<'a> {
    pub(super) auth: &'a McpAuth,
    pub(super) door: &'a Door,
    pub(super) endpoint: &'a Url,
    pub(super) issuer: &'a str,
    pub(super) resource: &'a str,
    pub(super) client: &'a Client,
    /// The key that the tokens are to be bound to.
    pub(super) key: Option<&'a Secret>,
    /// What the issuer wants in the proof of that.
    pub(super) nonce: &'a Nonce,
}

impl TokenRequest<'_> {
    /// Asks with these fields, which may be secret.
    pub(super) async fn send(&self, fields: Vec<(&'static str, String)>) -> Result<Tokens, Refusal> {
        let answer = self.ask(fields).await?;
        read(self.endpoint, &answer, self.key.is_some())
    }

    /// Exchanges a token for one of this kind, which is none to send to a server.
    pub(super) async fn exchange(
        &self,
        fields: Vec<(&'static str, String)>,
        kind: &str,
    ) -> Result<Secret, Refusal> {
        let answer = self.ask(fields).await?;
        let wrong = |problem: &str| Refusal::Failed(failed(self.endpoint, problem, false));
        let text = |key: &str| answer.get(key).and_then(Value::as_str);
        if text("issued_token_type") != Some(kind) {
            return Err(wrong("what it gives in exchange is not what it was asked for"));
        }
        let token = text("access_token").filter(|text| is_token(text)).map(Secret::new);
        token.ok_or_else(|| wrong("its answer has no `access_token` that can be sent"))
    }

    /// The answer, when it is none that refuses.
    async fn ask(&self, mut fields: Vec<(&'static str, String)>) -> Result<Value, Refusal> {
        let mut secrets: Vec<Secret> = fields
            .iter()
            .filter(|(name, _)| SECRET_FIELDS.contains(name))
            .map(|(_, value)| Secret::new(value.as_str()))
            .collect();
        fields.push(("resource", self.resource.to_owned()));
        let mut is_second = false;
        loop {
            let (mut fields, mut headers) = (fields.clone(), HeaderMap::new());
            let proof = self.client.prove(self.auth, self.issuer, &mut fields, &mut headers);
            secrets.extend(proof.map_err(Refusal::Failed)?);
            if let Some(key) = self.key {
                let proof = dpop::proof(key, &Method::POST, self.endpoint, self.nonce, None);
                headers.insert(dpop::PROOF, proof.map_err(Refusal::Failed)?);
            }
            let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
            let posted =
                self.door.post(self.endpoint, "application/x-www-form-urlencoded", headers, body).await;
            let response = posted.map_err(Refusal::Failed)?;
            let answer: Value = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
            let has_nonce = self.key.is_some() && self.nonce.note(&response.headers);
            let error = answer.get("error").and_then(Value::as_str);
            if has_nonce && error == Some(dpop::USE_NONCE) && !is_second {
                is_second = true;
                continue;
            }
            return match refusal(self.endpoint, &response, &answer, &secrets) {
                Some(refusal) => Err(refusal),
                None => Ok(answer),
            };
        }
    }
}

/// Why there are no tokens, where the answer says so.
fn refusal(endpoint: &Url, response: &Response, answer: &Value, secrets: &[Secret]) -> Option<Refusal> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    // Some servers report failures with status 200.
    if response.status.is_success() && text("error").is_none() {
        return None;
    }
    let told: Vec<&str> = ["error", "error_description"].iter().filter_map(|key| text(key)).collect();
    let told = secrets
        .iter()
        .filter(|secret| !secret.expose().is_empty())
        .fold(told.join(": "), |told, secret| told.replace(secret.expose(), MASK));
    let told = clean(&told, MAX_TOLD_CHARS);
    let colon = if told.is_empty() { "" } else { ": " };
    let passes = passes(response.status);
    let error = failed(endpoint, &format!("it issues no token ({}){colon}{told}", response.status), passes);
    let is_final = matches!(
        text("error"),
        Some("invalid_grant" | "invalid_client" | "unauthorized_client" | "invalid_scope")
    );
    Some(if is_final && !passes { Refusal::Final(error) } else { Refusal::Failed(error) })
}

/// The tokens of an answer. Those that are bound to a key are taken where there is one.
fn read(endpoint: &Url, answer: &Value, has_key: bool) -> Result<Tokens, Refusal> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    let wrong = |problem: &str| Refusal::Failed(failed(endpoint, problem, false));
    let is_bound = has_key && text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("dpop"));
    if !is_bound && text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(wrong("the token that it issues is no bearer token"));
    }
    let token = |key: &str| text(key).filter(|text| is_token(text)).map(Secret::new);
    let access =
        token("access_token").ok_or_else(|| wrong("its answer has no `access_token` that can be sent"))?;
    let life = answer.get("expires_in").and_then(seconds);
    let now = now();
    tracing::debug!(endpoint = shown(endpoint), life, "a token was issued");
    Ok(Tokens {
        access,
        refresh: token("refresh_token"),
        renew_at: life.map(|life| now + life.saturating_sub(EXPIRY_MARGIN.min(life / 2))),
        expires_at: life.map(|life| now + life),
        scopes: text("scope").map(scopes::read).unwrap_or_default(),
        is_bound,
    })
}

/// Whether it can stand in a header, and as it is in JSON. RFC 6750 allows less, and some servers do not keep to it.
pub(super) fn is_token(text: &str) -> bool {
    (1..=MAX_TOKEN_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

/// Some issuers write the number as a text, or with a fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within bounds before")]
fn seconds(value: &Value) -> Option<u64> {
    let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    Some(seconds.clamp(0.0, MAX_LIFE) as u64)
}
