//! Webhook signatures according to Standard Webhooks (<https://www.standardwebhooks.com>).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;

use crate::Error;

/// The prefix of a Base64 secret.
const SECRET_PREFIX: &str = "whsec_";

const ID_HEADER: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP_HEADER: HeaderName = HeaderName::from_static("webhook-timestamp");

/// The header with the signature: `v1,` and the Base64 of the HMAC-SHA-256 over `id.timestamp.body`.
const SIGNATURE_HEADER: HeaderName = HeaderName::from_static("webhook-signature");

/// The key that signs the requests of a webhook.
#[derive(Clone)]
pub struct WebhookKey(Hmac<Sha256>);

impl WebhookKey {
    /// Creates a key from a secret: `whsec_` followed by Base64, or any other text.
    ///
    /// # Errors
    ///
    /// Returns [`Error::InvalidSecret`] for an empty secret, and for one that is not Base64 after `whsec_`.
    pub fn new(secret: &str) -> Result<Self, Error> {
        let wrong = |reason| Error::InvalidSecret { reason };
        let bytes = match secret.strip_prefix(SECRET_PREFIX) {
            Some(rest) => {
                STANDARD.decode(rest).map_err(|_| wrong("the part after `whsec_` is not Base64"))?
            }
            None => secret.as_bytes().to_vec(),
        };
        if bytes.is_empty() {
            return Err(wrong("it is empty"));
        }
        Hmac::new_from_slice(&bytes).map(Self).map_err(|_| wrong("its length is invalid"))
    }

    /// Returns the headers of a JSON body that is sent with an id at a time, in seconds since 1970: `webhook-id`,
    /// `webhook-timestamp`, `webhook-signature` and `content-type`. Returns `None` if the id is not a header value.
    pub fn headers(&self, id: &str, timestamp: i64, body: &str) -> Option<HeaderMap> {
        let value = |text: &str| HeaderValue::from_str(text).ok();
        let timestamp = timestamp.to_string();
        Some(HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (ID_HEADER, value(id)?),
            (SIGNATURE_HEADER, value(&self.sign(id, &timestamp, body))?),
            (TIMESTAMP_HEADER, value(&timestamp)?),
        ]))
    }

    /// Returns the signature of a body that is sent with an id at a time.
    fn sign(&self, id: &str, timestamp: &str, body: &str) -> String {
        let mut code = self.0.clone();
        for part in [id, ".", timestamp, ".", body] {
            code.update(part.as_bytes());
        }
        format!("v1,{}", STANDARD.encode(code.finalize().into_bytes()))
    }
}

impl fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookKey")
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, WebhookKey};

    #[test]
    fn the_signature_is_that_of_the_published_example() {
        let key = WebhookKey::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = r#"{"test": 2432232314}"#;
        let headers = key.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body).unwrap();
        assert_eq!(headers["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(headers["webhook-timestamp"], "1614265330");
    }

    #[test]
    fn any_text_is_a_secret_unless_it_is_empty_or_broken_base64() {
        let sign = |secret: &str| WebhookKey::new(secret).unwrap().sign("a", "1", "{}");
        assert_ne!(sign("one"), sign("two"));
        assert_eq!(format!("{:?}", WebhookKey::new("one").unwrap()), "WebhookKey");
        for secret in ["", "whsec_", "whsec_no base64"] {
            let refused = WebhookKey::new(secret).unwrap_err();
            assert!(matches!(refused, Error::InvalidSecret { .. }), "{secret}: {refused}");
        }
    }
}
