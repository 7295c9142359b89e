//! Proof by signature: a JWT that says who we are (RFC 7523), signed with ES256.

use std::time::Duration;

use serde_json::json;
use toolcrib_model::Secret;

use super::key::{ALGORITHM, PrivateKey};
use super::metadata::refused;
use super::random::random;
use super::record::now;
use crate::error::Error;

/// What kind of assertion it is.
pub(super) const KIND: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// How long one is good.
const LIFE: Duration = Duration::from_mins(5);

/// An assertion for this issuer, signed with the key.
pub(super) fn signed(key: &Secret, client_id: &str, issuer: &str) -> Result<Secret, Error> {
    let wrong = |problem: &str| refused(issuer, problem);
    let key = PrivateKey::from_pem(key)
        .ok_or_else(|| wrong("`auth.private_key` is no key of the curve P-256 in PKCS #8 and PEM"))?;
    let now = now();
    let head = json!({"alg": ALGORITHM, "typ": "JWT"});
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": issuer,
        "iat": now,
        "exp": now + LIFE.as_secs(),
        "jti": random()?,
    });
    key.sign(&head, &claims).map(Secret::new).ok_or_else(|| wrong("the assertion cannot be signed"))
}
