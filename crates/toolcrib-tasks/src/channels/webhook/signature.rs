//! Webhook signatures according to Standard Webhooks (<https://www.standardwebhooks.com>).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use toolcrib_model::Secret;

use crate::Error;

/// The prefix of a Base64 secret.
const SECRET_PREFIX: &str = "whsec_";

/// A signing key.
#[derive(Clone)]
pub(super) struct Key(Hmac<Sha256>);

impl Key {
    pub(super) fn new(secret: &Secret) -> Result<Self, Error> {
        let wrong = |reason| Error::InvalidSecret { reason };
        let text = secret.expose();
        let bytes = match text.strip_prefix(SECRET_PREFIX) {
            Some(rest) => {
                STANDARD.decode(rest).map_err(|_| wrong("the part after `whsec_` is not Base64"))?
            }
            None => text.as_bytes().to_vec(),
        };
        if bytes.is_empty() {
            return Err(wrong("it is empty"));
        }
        Hmac::new_from_slice(&bytes).map(Self).map_err(|_| wrong("its length is invalid"))
    }

    /// Returns the signature of a body that is sent with an id at a time.
    pub(super) fn sign(&self, id: &str, timestamp: &str, body: &str) -> String {
        let mut code = self.0.clone();
        for part in [id, ".", timestamp, ".", body] {
            code.update(part.as_bytes());
        }
        format!("v1,{}", STANDARD.encode(code.finalize().into_bytes()))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, Key, Secret};

    #[test]
    fn it_is_that_of_the_published_example() {
        let key = Key::new(&Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).unwrap();
        let signature = key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_text_is_a_secret_and_what_proves_nothing_is_none() {
        let sign = |secret: &str| Key::new(&Secret::new(secret)).unwrap().sign("a", "1", "{}");
        assert_ne!(sign("one"), sign("two"));
        assert_eq!(format!("{:?}", Key::new(&Secret::new("one")).unwrap()), "Key");
        for secret in ["", "whsec_", "whsec_no base64"] {
            let refused = Key::new(&Secret::new(secret)).unwrap_err();
            assert!(matches!(refused, Error::InvalidSecret { .. }), "{secret}: {refused}");
        }
    }
}
