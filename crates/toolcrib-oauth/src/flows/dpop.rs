//! Tokens bound to a key (RFC 9449), which are useless to a thief.
//!
//! Each request carries a proof, which is a JWT with its method and URL, signed with the key. Servers may require a
//! nonce in the proof, which they send with their responses.

use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use http::{HeaderMap, Method};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use toolcrib_model::Secret;
use url::Url;

use super::clock::unix_now;
use super::pkce::{digest, random};
use super::signing_key::{ALGORITHM, PrivateKey};
use crate::Error;
use crate::metadata::{display_url, is_scope};

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
        let scheme = if self.key.is_some() { "DPoP" } else { "Bearer" };
        let mut token = HeaderValue::from_str(&format!("{scheme} {}", self.token.expose()))
            .map_err(|_| Error::at_url(url, "the token for it cannot be sent"))?;
        token.set_sensitive(true);
        let mut headers = HeaderMap::from_iter([(AUTHORIZATION, token)]);
        if let Some(key) = &self.key {
            headers.insert(PROOF, proof(key, method, url, nonce, Some(&self.token))?);
        }
        Ok(headers)
    }
}

/// Returns the proof for one request, with the hash of its token if it has one.
pub(super) fn proof(
    key: &Secret,
    method: &Method,
    url: &Url,
    nonce: &Nonce,
    token: Option<&Secret>,
) -> Result<HeaderValue, Error> {
    let key = PrivateKey::from_stored(key)
        .ok_or_else(|| Error::at_url(url, "the key that its token is bound to is broken; log in again"))?;
    let mut claims = Map::from_iter([
        ("jti".to_owned(), json!(random()?)),
        ("htm".to_owned(), json!(method.as_str())),
        ("htu".to_owned(), json!(display_url(url))),
        ("iat".to_owned(), json!(unix_now())),
    ]);
    claims.extend(nonce.0.lock().as_ref().map(|nonce| ("nonce".to_owned(), json!(nonce))));
    claims.extend(token.map(|token| ("ath".to_owned(), json!(digest(token.expose())))));
    let claims = Value::Object(claims);
    let signed = || {
        let head = json!({"typ": "dpop+jwt", "alg": ALGORITHM, "jwk": key.public()?});
        HeaderValue::from_str(&key.sign(&head, &claims)?).ok()
    };
    signed().ok_or_else(|| Error::at_url(url, "the proof that its token is ours cannot be signed"))
}

/// The nonce that a server requires in the next proof.
#[derive(Debug, Default)]
pub(super) struct Nonce(Mutex<Option<String>>);

impl Nonce {
    /// Stores the nonce of a response. Returns true if there is one.
    pub(super) fn note(&self, headers: &HeaderMap) -> bool {
        let nonce = headers.get(NONCE).and_then(|nonce| nonce.to_str().ok());
        let Some(nonce) = nonce.filter(|text| is_scope(text, MAX_NONCE_BYTES)) else { return false };
        *self.0.lock() = Some(nonce.to_owned());
        true
    }
}
