//! The token that a caller came with.

use crate::Secret;

/// The access token that a caller came with, for sources that exchange it for a token of their server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectToken {
    /// The token.
    pub token: Secret,
    /// The time at which it expires, in seconds since 1970.
    pub expires_at: u64,
}
