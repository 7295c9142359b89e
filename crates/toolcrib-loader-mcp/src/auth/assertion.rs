//! Proof by signature: a JWT that says who we are (RFC 7523), signed with ES256.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::json;
use toolcrib_model::Secret;

use super::metadata::refused;
use super::random::random;
use super::record::now;
use crate::error::Error;

/// What kind of assertion it is.
pub(super) const KIND: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// How long one is good.
const LIFE: Duration = Duration::from_mins(5);

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// An assertion for this issuer, signed with the key.
pub(super) fn signed(key: &Secret, client_id: &str, issuer: &str) -> Result<Secret, Error> {
    let wrong = |problem: &str| refused(issuer, problem);
    let random_source = SystemRandom::new();
    let pair = der_of(key.expose())
        .and_then(|der| EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random_source).ok())
        .ok_or_else(|| wrong("`auth.private_key` is no key of the curve P-256 in PKCS #8 and PEM"))?;
    let now = now();
    let head = json!({"alg": "ES256", "typ": "JWT"});
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": issuer,
        "iat": now,
        "exp": now + LIFE.as_secs(),
        "jti": random()?,
    });
    let encode = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let text = format!("{}.{}", encode(&head), encode(&claims));
    let signature =
        pair.sign(&random_source, text.as_bytes()).map_err(|_| wrong("the assertion cannot be signed"))?;
    Ok(Secret::new(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

fn der_of(pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once(BEGIN)?;
    let (body, _) = rest.split_once(END)?;
    let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
    STANDARD.decode(body).ok()
}
