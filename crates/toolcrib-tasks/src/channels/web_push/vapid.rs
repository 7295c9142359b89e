//! The key by which push services recognize this sender (VAPID, RFC 8292).

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use url::Url;

/// The time for which a token is valid. Push services accept at most 24 hours.
const TOKEN_LIFETIME: Duration = Duration::from_hours(12);

/// The private key of a sender. Browsers subscribe with its public key, so it has to stay the same.
pub struct VapidKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl VapidKey {
    /// Generates a key as PKCS #8. Returns `None` if the system has no random numbers.
    pub fn generate() -> Option<Vec<u8>> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Some(document.ok()?.as_ref().to_vec())
    }

    /// Reads a key from PKCS #8. Returns `None` if it is no key of P-256.
    pub fn from_pkcs8(document: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document, &random).ok()?;
        Some(Self { pair, random })
    }

    /// Returns the public key in URL-safe Base64, for browsers and push services.
    pub fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key())
    }

    /// Returns the value of `Authorization` for a request to this endpoint. `subject` tells the push service whom to
    /// contact.
    pub(super) fn authorization(&self, endpoint: &Url, subject: &str) -> Option<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let claims = json!({
            "aud": endpoint.origin().ascii_serialization(),
            "exp": now.saturating_add(TOKEN_LIFETIME).as_secs(),
            "sub": subject,
        });
        let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let text = format!("{}.{}", encode(&json!({"typ": "JWT", "alg": "ES256"})), encode(&claims));
        let signature = self.pair.sign(&self.random, text.as_bytes()).ok()?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        Some(format!("vapid t={text}.{signature}, k={}", self.public_key()))
    }
}

impl fmt::Debug for VapidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VapidKey").field("public_key", &self.public_key()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn a_push_service_verifies_the_token_with_the_key_beside_it() {
        let key = VapidKey::from_pkcs8(&VapidKey::generate().unwrap()).unwrap();
        let endpoint = Url::parse("https://push.example.com:8443/v1/abc?d=e").unwrap();
        let value = key.authorization(&endpoint, "mailto:ops@example.com").unwrap();
        let (token, public) = value.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decode(public));
        public.verify(text.as_bytes(), &decode(signature)).unwrap();
        let (head, claims) = text.split_once('.').unwrap();
        let parse = |text: &str| serde_json::from_slice::<Value>(&decode(text)).unwrap();
        assert_eq!(parse(head), json!({"typ": "JWT", "alg": "ES256"}));
        let claims = parse(claims);
        assert_eq!(claims["aud"], "https://push.example.com:8443");
        assert_eq!(claims["sub"], "mailto:ops@example.com");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert!((now..=now + 24 * 3600).contains(&claims["exp"].as_u64().unwrap()), "{claims}");
        assert!(VapidKey::from_pkcs8(b"no key").is_none());
    }
}
