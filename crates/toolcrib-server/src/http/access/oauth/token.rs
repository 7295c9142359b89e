//! A token: a JWT in the compact form (RFC 7515, RFC 7519), as authorization servers issue it for access (RFC 9068).
//!
//! It is read more strictly than the RFCs want, so that it means the same to us as to its issuer: no key twice, no padding, no
//! extension that has to be understood. Keys that it names itself (`jwk`, `jku`, `x5u`) are not looked at.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use toolcrib_document::{Format, Limits, parse};
use toolcrib_runtime::{ServedOAuth, SignatureAlgorithm};

use super::Flaw;

/// The longest token, in bytes.
pub(super) const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// How far the clocks of the authorization server and this machine may be apart, in seconds.
pub(super) const LEEWAY_SECONDS: f64 = 30.0;

/// The longest subject, in bytes. `OpenID` Connect allows 255.
const MAX_SUBJECT_BYTES: usize = 1024;

/// A token for this server that is good now, unless somebody else has made it.
pub(super) struct Token<'a> {
    pub(super) algorithm: SignatureAlgorithm,
    /// Which key it says it was signed with.
    pub(super) key_id: Option<String>,
    /// What was signed.
    pub(super) signed: &'a [u8],
    pub(super) signature: Vec<u8>,
    pub(super) claims: Claims,
}

/// What it says of who has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) subject: String,
    pub(super) client_id: Option<String>,
    pub(super) scopes: Vec<String>,
}

impl<'a> Token<'a> {
    /// Reads a token and looks at all but its signature. `now` is in seconds since 1970.
    pub(super) fn read(text: &'a str, expected: &ServedOAuth, now: f64) -> Result<Self, Flaw> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(Flaw::TooLong);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Flaw::NoToken)?;
        let (head, body) = signed.split_once('.').ok_or(Flaw::NoToken)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Flaw::NoToken)?;
        let head = object(head)?;
        let algorithm = head.get("alg").cloned().and_then(|name| serde_json::from_value(name).ok());
        let algorithm = algorithm.filter(|algorithm| expected.algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or(Flaw::Algorithm)?;
        if !is_access_token(&head) || head.contains_key("crit") {
            return Err(Flaw::Kind);
        }
        let key_id = match head.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(Flaw::NoToken),
        };
        let claims = Claims::read(&object(body)?, expected, now)?;
        Ok(Self { algorithm, key_id, signed: signed.as_bytes(), signature, claims })
    }
}

impl Claims {
    fn read(claims: &Map<String, Value>, expected: &ServedOAuth, now: f64) -> Result<Self, Flaw> {
        if claims.get("iss").and_then(Value::as_str) != Some(&expected.issuer) {
            return Err(Flaw::Issuer);
        }
        let is_ours = |audience: &Value| audience.as_str() == Some(&expected.audience);
        let is_meant = match claims.get("aud") {
            Some(Value::Array(all)) => all.iter().any(is_ours),
            Some(one) => is_ours(one),
            None => false,
        };
        if !is_meant {
            return Err(Flaw::Audience);
        }
        if claims.contains_key("cnf") {
            return Err(Flaw::Bound);
        }
        let end = claims.get("exp").and_then(Value::as_f64).ok_or(Flaw::NoTime)?;
        if now >= end + LEEWAY_SECONDS {
            return Err(Flaw::Expired);
        }
        if let Some(begin) = claims.get("nbf") {
            let begin = begin.as_f64().ok_or(Flaw::NoTime)?;
            if now < begin - LEEWAY_SECONDS {
                return Err(Flaw::Early);
            }
        }
        let subject = claims.get("sub").and_then(Value::as_str);
        let subject = subject.filter(|subject| !subject.is_empty() && subject.len() <= MAX_SUBJECT_BYTES);
        let client_id = claims.get("client_id").or_else(|| claims.get("azp")).and_then(Value::as_str);
        Ok(Self {
            subject: subject.ok_or(Flaw::Subject)?.to_owned(),
            client_id: client_id.map(str::to_owned),
            scopes: scopes(claims.get("scope").or_else(|| claims.get("scp"))),
        })
    }
}

/// Whether the head is that of an access token, or does not say what it is of. Tokens of `OpenID` Connect are for their client and
/// not for us, and by that are told apart.
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

/// Scopes, which some write as a list.
fn scopes(claim: Option<&Value>) -> Vec<String> {
    match claim {
        Some(Value::String(text)) => {
            text.split(' ').filter(|one| !one.is_empty()).map(str::to_owned).collect()
        }
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// A part that is an object.
fn object(part: &str) -> Result<Map<String, Value>, Flaw> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| Flaw::NoToken)?;
    let limits = Limits { max_bytes: MAX_TOKEN_BYTES, ..Limits::default() };
    match parse(&bytes, Format::Json, &limits).map(|document| document.value) {
        Ok(Value::Object(map)) => Ok(map),
        _ => Err(Flaw::NoToken),
    }
}
