//! P-256 keys, and the JWTs that they sign with ES256.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use toolcrib_model::Secret;

use super::pkce::digest;

/// The name of the signature algorithm.
pub(super) const ALGORITHM: &str = "ES256";

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// The length of a coordinate of a point, in bytes.
const COORDINATE_BYTES: usize = 32;

/// A private key.
pub(super) struct PrivateKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl PrivateKey {
    /// Generates a key in the form in which it is stored: PKCS #8 in Base64. Returns `None` if the system has no random
    /// numbers.
    pub(super) fn generate() -> Option<Secret> {
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).ok()?;
        Some(Secret::new(STANDARD.encode(document.as_ref())))
    }

    /// Parses a stored key.
    pub(super) fn from_stored(key: &Secret) -> Option<Self> {
        let (der, random) = (STANDARD.decode(key.expose()).ok()?, SystemRandom::new());
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random).ok()?;
        Some(Self { pair, random })
    }

    /// Parses a key of the operator: PKCS #8 in PEM.
    pub(super) fn from_pem(pem: &Secret) -> Option<Self> {
        let (body, _) = pem.expose().split_once(BEGIN)?.1.split_once(END)?;
        Self::from_stored(&Secret::new(body.split_whitespace().collect::<String>()))
    }

    /// Returns a JWT with this header and these claims.
    pub(super) fn sign(&self, head: &Value, claims: &Value) -> Option<String> {
        let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let text = format!("{}.{}", encode(head), encode(claims));
        let signature = self.pair.sign(&self.random, text.as_bytes()).ok()?;
        Some(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Returns the public key as a JWK (RFC 7518, section 6.2).
    pub(super) fn public(&self) -> Option<Value> {
        let (x, y) = self.coordinates()?;
        Some(json!({"kty": "EC", "crv": "P-256", "x": x, "y": y}))
    }

    /// Returns the thumbprint of the public key (RFC 7638).
    pub(super) fn thumbprint(&self) -> Option<String> {
        let (x, y) = self.coordinates()?;
        Some(digest(&format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#)))
    }

    fn coordinates(&self) -> Option<(String, String)> {
        // An uncompressed point begins with 4.
        let (kind, point) = self.pair.public_key().as_ref().split_first()?;
        let (x, y) = point.split_at_checked(COORDINATE_BYTES)?;
        (*kind == 4 && y.len() == COORDINATE_BYTES)
            .then(|| (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y)))
    }
}
