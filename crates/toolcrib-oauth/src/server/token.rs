//! Access tokens of authorization servers (RFC 9068): JWTs in the compact serialization (RFC 7515, RFC 7519).
//!
//! Parsing is stricter than the RFCs require, so that this server and the issuer read a token alike: no duplicate keys,
//! no padding, no critical extensions. Keys that a token contains (`jwk`, `jku`, `x5u`) are ignored.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use toolcrib_document::{Format, Limits, parse};

use super::algorithm::SignatureAlgorithm;
use super::resource_server::ResourceServer;
use crate::MAX_TOKEN_BYTES;

/// The tolerated difference between the clocks of the authorization server and this machine, in seconds.
pub(super) const LEEWAY_SECONDS: f64 = 30.0;

/// The maximum length of a subject, in bytes. `OpenID` Connect allows 255.
const MAX_SUBJECT_BYTES: usize = 1024;

/// A token for this server that is currently valid, except that its signature is unchecked.
pub(super) struct Token<'a> {
    pub(super) algorithm: SignatureAlgorithm,
    /// The id of the key that the token names.
    pub(super) key_id: Option<String>,
    /// The signed bytes.
    pub(super) signed: &'a [u8],
    pub(super) signature: Vec<u8>,
    pub(super) claims: Claims,
}

/// A defect of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "their texts say it")]
pub enum TokenError {
    #[error("the token is too long")]
    TooLong,
    #[error("this is neither a token of this server nor a JWT")]
    NoToken,
    #[error("the signature algorithm of the token is not accepted")]
    Algorithm,
    #[error("the token is not an access token")]
    Kind,
    #[error("the token is from another issuer")]
    Issuer,
    #[error("the token is for another server")]
    Audience,
    /// The token requires a proof of possession of a key (RFC 7800), which is not supported.
    #[error("the token requires proof of a key, which this server does not support")]
    Bound,
    #[error("the token has no expiry time")]
    NoTime,
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    Early,
    #[error("the token has no subject")]
    Subject,
    #[error("the token is signed with a key that its issuer does not publish")]
    UnknownKey,
    #[error("the signature of the token is wrong")]
    Signature,
}

/// The claims about the holder of a token.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claims {
    /// The subject.
    pub subject: String,
    /// The client that the token was issued to, if the token names it.
    pub client_id: Option<String>,
    /// The granted scopes.
    pub scopes: Vec<String>,
    /// The time at which the token expires, in seconds since 1970.
    pub expires_at: u64,
}

impl<'a> Token<'a> {
    /// Parses a token and checks everything except its signature. `now` is in seconds since 1970.
    pub(super) fn read(text: &'a str, expected: &ResourceServer, now: f64) -> Result<Self, TokenError> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::TooLong);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(TokenError::NoToken)?;
        let (head, body) = signed.split_once('.').ok_or(TokenError::NoToken)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenError::NoToken)?;
        let head = object(head)?;
        let algorithm = head.get("alg").cloned().and_then(|name| serde_json::from_value(name).ok());
        let algorithm = algorithm.filter(|algorithm| expected.algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or(TokenError::Algorithm)?;
        if !is_access_token(&head) || head.contains_key("crit") {
            return Err(TokenError::Kind);
        }
        let key_id = match head.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(TokenError::NoToken),
        };
        let claims = Claims::read(&object(body)?, expected, now)?;
        Ok(Self { algorithm, key_id, signed: signed.as_bytes(), signature, claims })
    }
}

impl Claims {
    fn read(claims: &Map<String, Value>, expected: &ResourceServer, now: f64) -> Result<Self, TokenError> {
        if claims.get("iss").and_then(Value::as_str) != Some(&expected.issuer) {
            return Err(TokenError::Issuer);
        }
        let is_ours = |audience: &Value| audience.as_str() == Some(&expected.audience);
        let is_meant = match claims.get("aud") {
            Some(Value::Array(all)) => all.iter().any(is_ours),
            Some(one) => is_ours(one),
            None => false,
        };
        if !is_meant {
            return Err(TokenError::Audience);
        }
        if claims.contains_key("cnf") {
            return Err(TokenError::Bound);
        }
        let end = claims.get("exp").and_then(Value::as_f64).ok_or(TokenError::NoTime)?;
        if now >= end + LEEWAY_SECONDS {
            return Err(TokenError::Expired);
        }
        if let Some(begin) = claims.get("nbf") {
            let begin = begin.as_f64().ok_or(TokenError::NoTime)?;
            if now < begin - LEEWAY_SECONDS {
                return Err(TokenError::Early);
            }
        }
        let subject = claims.get("sub").and_then(Value::as_str);
        let subject = subject.filter(|subject| !subject.is_empty() && subject.len() <= MAX_SUBJECT_BYTES);
        let client_id = claims.get("client_id").or_else(|| claims.get("azp")).and_then(Value::as_str);
        Ok(Self {
            subject: subject.ok_or(TokenError::Subject)?.to_owned(),
            client_id: client_id.map(str::to_owned),
            expires_at: Duration::try_from_secs_f64(end.max(0.0)).map_or(u64::MAX, |end| end.as_secs()),
            scopes: scopes(claims.get("scope").or_else(|| claims.get("scp"))),
        })
    }
}

/// Returns true if the header is that of an access token or declares no type. ID tokens of `OpenID` Connect are for
/// their client, and this check rejects them.
fn is_access_token(head: &Map<String, Value>) -> bool {
    match head.get("typ") {
        None => true,
        Some(Value::String(kind)) => {
            let kinds = ["at+jwt", "application/at+jwt", "JWT"];
            kinds.iter().any(|known| kind.eq_ignore_ascii_case(known))
        }
        Some(_) => false,
    }
}

/// Parses scopes, which some servers write as a list.
fn scopes(claim: Option<&Value>) -> Vec<String> {
    match claim {
        Some(Value::String(text)) => {
            text.split(' ').filter(|one| !one.is_empty()).map(str::to_owned).collect()
        }
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Parses a segment of a token that is a JSON object.
fn object(part: &str) -> Result<Map<String, Value>, TokenError> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::NoToken)?;
    let limits = Limits { max_bytes: MAX_TOKEN_BYTES, ..Limits::default() };
    match parse(&bytes, Format::Json, &limits).map(|document| document.value) {
        Ok(Value::Object(map)) => Ok(map),
        _ => Err(TokenError::NoToken),
    }
}
