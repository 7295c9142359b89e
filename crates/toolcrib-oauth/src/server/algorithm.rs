//! Signature algorithms.

use schemars::JsonSchema;
use serde::Deserialize;

/// A signature algorithm of tokens with a private key (RFC 7518, RFC 8037).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "these are the names of the RFCs")]
#[non_exhaustive]
pub enum SignatureAlgorithm {
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    #[serde(rename = "EdDSA")]
    EdDsa,
}

impl SignatureAlgorithm {
    /// All algorithms.
    pub const ALL: [Self; 9] = [
        Self::RS256,
        Self::RS384,
        Self::RS512,
        Self::PS256,
        Self::PS384,
        Self::PS512,
        Self::ES256,
        Self::ES384,
        Self::EdDsa,
    ];
}
