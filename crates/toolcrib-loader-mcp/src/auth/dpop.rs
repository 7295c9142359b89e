//! Tokens that are bound to a key of ours (RFC 9449): whoever steals one cannot use it.
//!
//! Each request carries a proof, a JWT that names its method and URL and is signed with the key. Servers may want a text of
//! theirs in it, a nonce, which they hand out with their answers.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use http::{HeaderMap, Method};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use toolcrib_model::Secret;
use url::Url;

use super::fetch::shown;
use super::key::{ALGORITHM, PrivateKey};
use super::metadata::refused;
use super::random::random;
use super::record::now;
use crate::error::Error;

/// The header with the proof.
pub(super) const PROOF: HeaderName = HeaderName::from_static("dpop");

/// The header with the nonce for the next proof.
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// How a server says that it wants its nonce in the proof.
pub(super) const USE_NONCE: &str = "use_dpop_nonce";

/// The longest nonce that is used, in bytes.
const MAX_NONCE_BYTES: usize = 1_024;

/// What a request is sent with so that the server takes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Credential {
    pub(super) token: Secret,
    /// The key that it is bound to, if it is to one.
    pub(super) key: Option<Secret>,
}

impl Credential {
    /// The headers of a request, where the token is bound to a key.
    pub(super) fn headers(&self, method: &Method, url: &Url, nonce: &Nonce) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        let Some(key) = &self.key else {
            headers.insert(AUTHORIZATION, header("Bearer ", &self.token, url)?);
            return Ok(headers);
        };
        headers.insert(AUTHORIZATION, header("DPoP ", &self.token, url)?);
        headers.insert(PROOF, proof(key, method, url, nonce, Some(&self.token))?);
        Ok(headers)
    }
}

fn header(scheme: &str, token: &Secret, url: &Url) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(&format!("{scheme}{}", token.expose()))
        .map_err(|_| refused(&shown(url), "the token for it cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// A proof for one request; with the token that it is sent with, if there is one already.
pub(super) fn proof(
    key: &Secret,
    method: &Method,
    url: &Url,
    nonce: &Nonce,
    token: Option<&Secret>,
) -> Result<HeaderValue, Error> {
    let wrong = |problem: &str| refused(&shown(url), problem);
    let key = PrivateKey::kept(key)
        .ok_or_else(|| wrong("the key that its token is bound to is broken; log in again"))?;
    let signed = || {
        let head = json!({"typ": "dpop+jwt", "alg": ALGORITHM, "jwk": key.public()?});
        let mut claims = Map::from_iter([
            ("jti".to_owned(), json!(random().ok()?)),
            ("htm".to_owned(), json!(method.as_str())),
            ("htu".to_owned(), json!(shown(url))),
            ("iat".to_owned(), json!(now())),
        ]);
        claims.extend(nonce.get().map(|nonce| ("nonce".to_owned(), json!(nonce))));
        let hash = token.map(|token| URL_SAFE_NO_PAD.encode(Sha256::digest(token.expose())));
        claims.extend(hash.map(|hash| ("ath".to_owned(), json!(hash))));
        HeaderValue::from_str(&key.sign(&head, &Value::Object(claims))?).ok()
    };
    signed().ok_or_else(|| wrong("the proof that its token is ours cannot be signed"))
}

/// The nonce that a server wants in the next proof.
#[derive(Debug, Default)]
pub(super) struct Nonce(Mutex<Option<String>>);

impl Nonce {
    fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes the nonce of an answer; whether it had one.
    pub(super) fn note(&self, headers: &HeaderMap) -> bool {
        let nonce = headers.get(NONCE).and_then(|nonce| nonce.to_str().ok());
        let is_nonce = |text: &&str| {
            let is_letter = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
            (1..=MAX_NONCE_BYTES).contains(&text.len()) && text.bytes().all(is_letter)
        };
        let Some(nonce) = nonce.filter(is_nonce) else { return false };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(nonce.to_owned());
        true
    }
}
