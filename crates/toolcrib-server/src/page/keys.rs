//! Who the operator is, what a browser keeps of it, and whether a form is ours.

use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::random::{hex, random};

/// The bytes of the operator's key: too many to guess, and few enough for a link that fits on a line.
const OPERATOR_KEY_BYTES: usize = 16;

/// The bytes of the key of seals.
const SEAL_BYTES: usize = 32;

/// The keys of one process.
pub(crate) struct Keys {
    operator: String,
    seal: [u8; SEAL_BYTES],
}

impl Keys {
    pub(super) fn new() -> Result<Self, Error> {
        Ok(Self { operator: hex(&random::<OPERATOR_KEY_BYTES>()?), seal: random()? })
    }

    /// What the operator comes in with.
    pub(super) fn operator(&self) -> &str {
        &self.operator
    }

    /// Whether this is the operator's key. Digests are compared, so that how long it takes says nothing of it.
    pub(crate) fn is_operator(&self, key: &str) -> bool {
        Sha256::digest(key) == Sha256::digest(&self.operator)
    }

    /// What stands for a text of ours, and nobody else can make.
    pub(crate) fn sealed(&self, text: &str) -> String {
        // The outer digest keeps anybody from going on with the inner one.
        let inner = Sha256::new().chain_update(self.seal).chain_update(text).finalize();
        hex(&Sha256::new().chain_update(self.seal).chain_update(inner).finalize())
    }

    /// Whether a seal is the one of this text.
    pub(crate) fn is_sealed(&self, text: &str, seal: &str) -> bool {
        Sha256::digest(self.sealed(text)) == Sha256::digest(seal)
    }
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
