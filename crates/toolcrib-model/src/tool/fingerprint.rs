//! The digest that identifies an argument schema.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::text::{ExactIntegers, canonical_json, canonical_json_with};

/// SHA-256 of a schema's [canonical JSON](canonical_json); written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint([u8; 32]);

/// The text is not 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a fingerprint of 64 hexadecimal digits")]
pub struct ParseFingerprintError {
    text: String,
}

impl Fingerprint {
    /// Returns the fingerprint of a schema.
    pub fn of(schema: &Value) -> Self {
        Self(Sha256::digest(canonical_json(schema)).into())
    }

    /// Returns the fingerprint of a schema with integers that its value cannot hold.
    pub fn of_exact(schema: &Value, exact: &ExactIntegers) -> Self {
        Self(Sha256::digest(canonical_json_with(schema, exact)).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl TryFrom<&str> for Fingerprint {
    type Error = ParseFingerprintError;

    fn try_from(text: &str) -> Result<Self, ParseFingerprintError> {
        let error = || ParseFingerprintError { text: text.into() };
        if text.len() != 64 || !text.is_ascii() {
            return Err(error());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| error())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| error())?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = ParseFingerprintError;

    fn try_from(text: String) -> Result<Self, ParseFingerprintError> {
        text.as_str().try_into()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}
