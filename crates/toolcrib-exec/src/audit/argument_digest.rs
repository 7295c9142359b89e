//! Keyed digests of arguments, which reveal nothing without the key.

use sha2::{Digest, Sha256};
use toolcrib_model::JsonObject;
use toolcrib_model::random::{hex, random_bytes};
use toolcrib_model::text::canonical_json;

/// The block size of SHA-256 in bytes.
const BLOCK: usize = 64;

/// A key of HMAC-SHA-256 (RFC 2104), as a block.
#[derive(Clone, Copy)]
pub(super) struct DigestKey([u8; BLOCK]);

impl DigestKey {
    /// Creates a key from bytes of any length.
    pub(super) fn new(key: &[u8]) -> Self {
        let mut block = [0; BLOCK];
        let hashed;
        let key = if key.len() > BLOCK {
            hashed = Sha256::digest(key);
            hashed.as_slice()
        } else {
            key
        };
        for (to, from) in block.iter_mut().zip(key) {
            *to = *from;
        }
        Self(block)
    }

    /// Creates a random key that is never revealed; `None` on a system without random numbers.
    pub(super) fn random() -> Option<Self> {
        random_bytes().ok().map(Self)
    }

    /// Returns the digest of arguments as 64 hexadecimal digits.
    pub(super) fn digest(&self, arguments: &JsonObject) -> String {
        self.code(canonical_json(&serde_json::Value::Object(arguments.clone())).as_bytes())
    }

    fn code(&self, message: &[u8]) -> String {
        let inner =
            Sha256::new().chain_update(self.0.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
        let outer = Sha256::new().chain_update(self.0.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize();
        hex(&outer)
    }
}

#[cfg(test)]
mod tests {
    use super::DigestKey;

    #[test]
    fn it_is_hmac_as_the_vectors_of_rfc_4231_have_it() {
        let table: [(&[u8], &[u8], &str); 3] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, message, expected) in table {
            assert_eq!(DigestKey::new(key).code(message), expected);
        }
    }
}
