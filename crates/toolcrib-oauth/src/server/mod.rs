//! Validation of access tokens, for a resource server (RFC 6750, RFC 9068, RFC 9728).
//!
//! A [`TokenValidator`] fetches the keys of one authorization server and checks the tokens that this one has signed.

mod algorithm;
mod key_cache;
mod key_fetch;
mod keys;
mod resource_server;
mod token;
mod validator;

#[cfg(test)]
mod tests;

pub use algorithm::SignatureAlgorithm;
pub use resource_server::ResourceServer;
pub use token::{Claims, TokenError};
pub use validator::{TokenValidator, ValidationError};
