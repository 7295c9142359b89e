//! Client authentication by a signed assertion: a JWT with the client's identity (RFC 7523), signed with ES256.

use std::time::Duration;

use serde_json::json;
use toolcrib_model::Secret;

use super::credentials::unix_now;
use super::metadata::authorization_error;
use super::random::random;
use super::signing_key::{ALGORITHM, PrivateKey};
use crate::error::Error;

/// The type of the assertion.
pub(super) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The validity of an assertion.
const LIFE: Duration = Duration::from_mins(5);

/// Returns an assertion for this issuer, signed with the key.
pub(super) fn sign(key: &Secret, client_id: &str, issuer: &str) -> Result<Secret, Error> {
    let wrong = |problem: &str| authorization_error(issuer, problem);
    let key = PrivateKey::from_pem(key)
        .ok_or_else(|| wrong("`auth.private_key` is not a key of the curve P-256 in PKCS #8 and PEM"))?;
    let now = unix_now();
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
