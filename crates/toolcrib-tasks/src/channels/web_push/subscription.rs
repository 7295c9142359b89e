//! The subscription of a browser at its push service.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use url::Url;

/// The number of bytes of a public key: an uncompressed point of P-256.
pub(super) const PUBLIC_KEY_BYTES: usize = 65;

/// The number of bytes of an authentication secret.
pub(super) const AUTH_BYTES: usize = 16;

/// The longest URL of an endpoint, in bytes.
pub const MAX_ENDPOINT_BYTES: usize = 1024;

/// The subscription of a browser, as `PushSubscription.toJSON()` describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushSubscription {
    /// The URL at the push service, which identifies the browser. Who knows it and the keys can send messages.
    #[serde(with = "url_text")]
    pub endpoint: Url,
    /// The public key of the browser, in URL-safe Base64.
    pub p256dh: String,
    /// The authentication secret, in URL-safe Base64.
    pub auth: String,
}

/// The reason why a text is no subscription.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Expected {expected}")]
pub struct SubscriptionError {
    expected: &'static str,
}

impl PushSubscription {
    /// Parses the parts of a subscription.
    ///
    /// # Errors
    ///
    /// Returns an error if the endpoint is no URL, or a key does not have the right form.
    pub fn new(endpoint: &str, p256dh: &str, auth: &str) -> Result<Self, SubscriptionError> {
        let wrong = |expected| SubscriptionError { expected };
        let endpoint = Some(endpoint).filter(|endpoint| endpoint.len() <= MAX_ENDPOINT_BYTES);
        let endpoint = endpoint.and_then(|endpoint| Url::parse(endpoint).ok());
        let endpoint = endpoint.ok_or(wrong("the URL of a push service as `endpoint`"))?;
        let subscription = Self { endpoint, p256dh: p256dh.to_owned(), auth: auth.to_owned() };
        subscription.public_key().ok_or(wrong("an uncompressed point of P-256 as `p256dh`"))?;
        subscription.secret().ok_or(wrong("16 bytes in Base64 as `auth`"))?;
        Ok(subscription)
    }

    /// Returns the public key of the browser.
    pub(super) fn public_key(&self) -> Option<[u8; PUBLIC_KEY_BYTES]> {
        decoded(&self.p256dh).filter(|point: &[u8; PUBLIC_KEY_BYTES]| point.first() == Some(&4))
    }

    /// Returns the authentication secret.
    pub(super) fn secret(&self) -> Option<[u8; AUTH_BYTES]> {
        decoded(&self.auth)
    }
}

fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    // Some browsers pad.
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()?.try_into().ok()
}

/// URLs as texts in stored subscriptions.
mod url_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de};
    use url::Url;

    pub(super) fn serialize<S: Serializer>(url: &Url, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(url.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Url, D::Error> {
        let text = String::deserialize(deserializer)?;
        Url::parse(&text).map_err(de::Error::custom)
    }
}
