//! The public keys of an authorization server (RFC 7517), and the verification of signatures.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::{Map, Value};
use toolcrib_document::{Format, Limits, parse};

use super::algorithm::SignatureAlgorithm;
use super::token::Token;
use crate::MAX_ANSWER_BYTES;

/// The maximum number of keys in a set.
pub(super) const MAX_KEYS: usize = 64;

/// A set of keys that verify signatures.
#[derive(Debug)]
pub(super) struct KeySet {
    keys: Vec<PublicKey>,
}

#[derive(Debug)]
struct PublicKey {
    id: Option<String>,
    /// The only algorithm of the key, if it declares one.
    algorithm: Option<SignatureAlgorithm>,
    material: KeyMaterial,
}

#[derive(Debug)]
enum KeyMaterial {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// The result of checking a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignatureCheck {
    Genuine,
    Forged,
    /// The token was signed with a key that is not in the set.
    UnknownKey,
}

impl KeySet {
    /// Parses a set. Skips keys of other types and for other uses. Returns an error if the set has no usable key.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let document = parse_document(bytes)?;
        let Some(keys) = document.get("keys").and_then(Value::as_array) else {
            return Err("it has no list `keys`".to_owned());
        };
        if keys.len() > MAX_KEYS {
            return Err(format!("it has {} keys; at most {MAX_KEYS} are read", keys.len()));
        }
        let keys: Vec<PublicKey> =
            keys.iter().filter_map(Value::as_object).filter_map(PublicKey::read).collect();
        if keys.is_empty() { Err("it has no key for signatures".to_owned()) } else { Ok(Self { keys }) }
    }

    /// Checks the signature of a token with the key that it names, or with all keys if it names none.
    pub(super) fn check(&self, token: &Token<'_>) -> SignatureCheck {
        let is_named = |key: &&PublicKey| token.key_id.is_none() || key.id == token.key_id;
        let mut named = self.keys.iter().filter(is_named).peekable();
        if named.peek().is_none() {
            return SignatureCheck::UnknownKey;
        }
        if named.any(|key| key.has_signed(token)) {
            SignatureCheck::Genuine
        } else if token.key_id.is_some() {
            SignatureCheck::Forged
        } else {
            SignatureCheck::UnknownKey
        }
    }
}

impl PublicKey {
    fn read(key: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        let verifies = |all: &Vec<Value>| all.iter().any(|one| one.as_str() == Some("verify"));
        if text("use").is_some_and(|end| end != "sig")
            || key.get("key_ops").and_then(Value::as_array).is_some_and(|all| !verifies(all))
        {
            return None;
        }
        let algorithm = match key.get("alg") {
            None => None,
            Some(name) => Some(serde_json::from_value(name.clone()).ok()?),
        };
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let number = |name| bytes(name).map(|bytes| without_zeros(&bytes));
                KeyMaterial::Rsa(RsaPublicKeyComponents { n: number("n")?, e: number("e")? })
            }
            ("EC", Some("P-256")) => KeyMaterial::P256(point(&bytes("x")?, &bytes("y")?, 32)?),
            ("EC", Some("P-384")) => KeyMaterial::P384(point(&bytes("x")?, &bytes("y")?, 48)?),
            ("OKP", Some("Ed25519")) => KeyMaterial::Ed25519(bytes("x")?),
            _ => return None,
        };
        Some(Self { id: text("kid").map(str::to_owned), algorithm, material })
    }

    fn has_signed(&self, token: &Token<'_>) -> bool {
        if self.algorithm.is_some_and(|algorithm| algorithm != token.algorithm) {
            return false;
        }
        let plain = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(token.signed, &token.signature).is_ok()
        };
        match (&self.material, token.algorithm) {
            (KeyMaterial::Rsa(key), algorithm) => rsa(algorithm)
                .is_some_and(|algorithm| key.verify(algorithm, token.signed, &token.signature).is_ok()),
            (KeyMaterial::P256(key), SignatureAlgorithm::ES256) => plain(&ECDSA_P256_SHA256_FIXED, key),
            (KeyMaterial::P384(key), SignatureAlgorithm::ES384) => plain(&ECDSA_P384_SHA384_FIXED, key),
            (KeyMaterial::Ed25519(key), SignatureAlgorithm::EdDsa) => plain(&ED25519, key),
            _ => false,
        }
    }
}

/// Returns the RSA parameters of an algorithm, which reject keys of fewer than 2,048 bits.
fn rsa(algorithm: SignatureAlgorithm) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        SignatureAlgorithm::RS256 => &RSA_PKCS1_2048_8192_SHA256,
        SignatureAlgorithm::RS384 => &RSA_PKCS1_2048_8192_SHA384,
        SignatureAlgorithm::RS512 => &RSA_PKCS1_2048_8192_SHA512,
        SignatureAlgorithm::PS256 => &RSA_PSS_2048_8192_SHA256,
        SignatureAlgorithm::PS384 => &RSA_PSS_2048_8192_SHA384,
        SignatureAlgorithm::PS512 => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

/// Removes the leading zeros that some servers write before a number.
fn without_zeros(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().skip_while(|byte| *byte == 0).collect()
}

/// Returns the uncompressed encoding of a point on a curve.
fn point(x: &[u8], y: &[u8], size: usize) -> Option<Vec<u8>> {
    (x.len() == size && y.len() == size).then(|| [&[4], x, y].concat())
}

/// Parses a document within bounds.
pub(super) fn parse_document(bytes: &[u8]) -> Result<Value, String> {
    let limits = Limits { max_bytes: MAX_ANSWER_BYTES, ..Limits::default() };
    parse(bytes, Format::Json, &limits).map(|document| document.value).map_err(|error| error.to_string())
}
