//! The operator's key, and the seals of cookies and forms.

use sha2::{Digest as _, Sha256};
use toolcrib_model::random::{hex, random_bytes};

use crate::Error;

/// The size of the operator's key in bytes: long enough not to be guessed, and short enough for a link on one line.
const OPERATOR_KEY_BYTES: usize = 16;

/// The size of the key of seals, in bytes.
const SEAL_BYTES: usize = 32;

/// The keys of one process.
pub(crate) struct Keys {
    operator: String,
    seal: [u8; SEAL_BYTES],
}

impl Keys {
    pub(super) fn new() -> Result<Self, Error> {
        Ok(Self { operator: hex(&random_bytes::<OPERATOR_KEY_BYTES>()?), seal: random_bytes()? })
    }

    /// Returns the operator's key.
    pub(super) fn operator(&self) -> &str {
        &self.operator
    }

    /// Returns the digest of the operator's key.
    pub(super) fn operator_digest(&self) -> String {
        digest(&self.operator)
    }

    /// Returns true if this is the operator's key. Compares digests, so that the duration reveals nothing about the
    /// key.
    pub(super) fn is_operator(&self, key: &str) -> bool {
        digest(key) == self.operator_digest()
    }

    /// Returns the seal of a text, which only this process can create.
    pub(super) fn sealed(&self, text: &str) -> String {
        // The outer digest prevents length extension of the inner one.
        let inner = Sha256::new().chain_update(self.seal).chain_update(text).finalize();
        hex(&Sha256::new().chain_update(self.seal).chain_update(inner).finalize())
    }

    /// Returns true if a seal is that of this text.
    pub(super) fn is_sealed(&self, text: &str, seal: &str) -> bool {
        Sha256::digest(self.sealed(text)) == Sha256::digest(seal)
    }
}

/// Returns the digest of a key.
pub(super) fn digest(key: &str) -> String {
    hex(Sha256::digest(key).as_slice())
}

#[cfg(test)]
mod tests {
    use super::Keys;

    #[test]
    fn a_seal_is_of_one_text_and_one_process() {
        let keys = Keys::new().unwrap();
        let seal = keys.sealed("answer/1");
        assert!(keys.is_sealed("answer/1", &seal));
        assert!(!keys.is_sealed("answer/2", &seal) && !keys.is_sealed("answer/1", ""));
        assert!(!Keys::new().unwrap().is_sealed("answer/1", &seal));
        assert!(keys.is_operator(keys.operator()) && !keys.is_operator(""));
    }
}
