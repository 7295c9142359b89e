//! The reason why a request is refused for its token.

use std::time::Duration;

use toolcrib_oauth::server::TokenError;

/// The reason why a request is not authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum AuthError {
    /// The request has no token.
    Missing,
    /// The token is unknown.
    Wrong,
    /// The token should come from the authorization server, and is invalid.
    Invalid(TokenError),
    /// The token of the authorization server is valid, but admits no client. Contains the scopes that would, if scopes
    /// can help.
    Insufficient(String),
    /// The token cannot be checked while the keys of the authorization server are unavailable. Contains the time after
    /// which to retry.
    Unavailable(Duration),
}
