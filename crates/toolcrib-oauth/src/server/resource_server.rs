//! The configuration of a resource server.

use url::Url;

use super::algorithm::SignatureAlgorithm;

/// A resource server, and the tokens that it accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceServer {
    /// The exact issuer of the tokens.
    pub issuer: String,
    /// The same, as a URL: `https`, or `http` on this machine.
    pub issuer_url: Url,
    /// The exact audience of the tokens.
    pub audience: String,
    /// The exact URL by which clients call this server.
    pub resource: String,
    /// The same, as a URL.
    pub resource_url: Url,
    /// The URL of the keys; by default the one that the issuer publishes. `https`, or `http` on this machine.
    pub jwks_url: Option<Url>,
    /// The name of the setting with that URL, for errors.
    pub jwks_setting: &'static str,
    /// True if host names of the issuer may resolve to private addresses.
    pub allow_private: bool,
    /// The accepted signature algorithms.
    pub algorithms: Vec<SignatureAlgorithm>,
}

impl ResourceServer {
    /// Returns true if the keys of both are the same.
    pub(super) fn has_keys_of(&self, other: &Self) -> bool {
        self.issuer == other.issuer
            && self.jwks_url == other.jwks_url
            && self.allow_private == other.allow_private
    }
}
