//! Tokens bound to a key (RFC 9449), which are useless to a thief.
//!
//! Each request carries a proof, which is a JWT with its method and URL, signed with the key. Servers may require a
//! nonce in the proof, which they send with their responses.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use http::{HeaderMap, Method};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use toolcrib_model::Secret;
use url::Url;

use super::credentials::unix_now;
use super::http_client::display_url;
use super::metadata::authorization_error;
use super::random::random;
use super::signing_key::{ALGORITHM, PrivateKey};
use crate::error::Error;

/// The header with the proof.
pub(super) const PROOF: HeaderName = HeaderName::from_static("dpop");

/// The header with the nonce for the next proof.
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The error code of a server that requires its nonce in the proof.
pub(super) const USE_NONCE: &str = "use_dpop_nonce";

/// The longest accepted nonce, in bytes.
const MAX_NONCE_BYTES: usize = 1_024;

/// The credential of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Credential {
    pub(super) token: Secret,
    /// The key that the token is bound to, if any.
    pub(super) key: Option<Secret>,
}

impl Credential {
    /// Returns the authorization headers of a request, with a proof if the token is bound to a key.
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
        .map_err(|_| authorization_error(&display_url(url), "the token for it cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the proof for one request, with the hash of its token if it has one.
pub(super) fn proof(
    key: &Secret,
    method: &Method,
    url: &Url,
    nonce: &Nonce,
    token: Option<&Secret>,
) -> Result<HeaderValue, Error> {
    let wrong = |problem: &str| authorization_error(&display_url(url), problem);
    let key = PrivateKey::from_stored(key)
        .ok_or_else(|| wrong("the key that its token is bound to is broken; log in again"))?;
    let signed = || {
        let head = json!({"typ": "dpop+jwt", "alg": ALGORITHM, "jwk": key.public()?});
        let mut claims = Map::from_iter([
            ("jti".to_owned(), json!(random().ok()?)),
            ("htm".to_owned(), json!(method.as_str())),
            ("htu".to_owned(), json!(display_url(url))),
            ("iat".to_owned(), json!(unix_now())),
        ]);
        claims.extend(nonce.get().map(|nonce| ("nonce".to_owned(), json!(nonce))));
        let hash = token.map(|token| URL_SAFE_NO_PAD.encode(Sha256::digest(token.expose())));
        claims.extend(hash.map(|hash| ("ath".to_owned(), json!(hash))));
        HeaderValue::from_str(&key.sign(&head, &Value::Object(claims))?).ok()
    };
    signed().ok_or_else(|| wrong("the proof that its token is ours cannot be signed"))
}

/// The nonce that a server requires in the next proof.
#[derive(Debug, Default)]
pub(super) struct Nonce(Mutex<Option<String>>);

impl Nonce {
    fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores the nonce of a response. Returns true if there is one.
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
