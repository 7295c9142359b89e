//! The documents by which clients, resource servers and authorization servers find each other (RFC 8414, RFC 9728).

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// The path of the metadata of a resource (RFC 9728, section 3). The path of the resource follows.
pub const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// The path of the metadata of an authorization server (RFC 8414, section 3). The path of the issuer follows.
const AUTHORIZATION_SERVER: &str = "/.well-known/oauth-authorization-server";

/// The path of the metadata of an `OpenID` provider, below the path of the issuer or before it.
const OPENID_PROVIDER: &str = "/.well-known/openid-configuration";

/// The largest response of an authorization server, in bytes.
pub const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The longest URL or identifier in a document, in bytes.
pub const MAX_URL_BYTES: usize = 2_048;

/// The metadata of a protected resource (RFC 9728, section 2).
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The resource identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The issuers of the tokens for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_servers: Option<Vec<String>>,
    /// The scopes of such tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// The parts of a request that may contain a token.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub bearer_methods_supported: Option<Vec<String>>,
    /// The name of the resource for people.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// True if tokens have to be bound to a key (RFC 9449).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dpop_bound_access_tokens_required: Option<bool>,
    /// The signature algorithms of proofs that the token is bound to a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
}

/// Returns the URL with this well-known path, which stands before the path of the given URL.
pub fn well_known_url(url: &Url, well_known: &str) -> Url {
    at_path(url, &format!("{well_known}{}", url.path().trim_end_matches('/')))
}

/// Returns the URLs of the metadata of an issuer, in the order in which they are tried.
pub fn issuer_metadata_urls(issuer: &Url) -> Vec<Url> {
    let mut urls = [AUTHORIZATION_SERVER, OPENID_PROVIDER].map(|path| well_known_url(issuer, path)).to_vec();
    let path = issuer.path().trim_end_matches('/');
    if !path.is_empty() {
        urls.push(at_path(issuer, &format!("{path}{OPENID_PROVIDER}")));
    }
    urls
}

/// Returns the URL of a path at the same origin, without a query.
pub(crate) fn at_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Returns true if two identifiers are equal. The comparison is exact, except that a URL without a path is equal to one
/// with the path `/`, since both lead to the same document.
pub fn is_same_issuer(one: &str, other: &str) -> bool {
    let bare = |text: &str| {
        let is_root = Url::parse(text).is_ok_and(|url| url.path() == "/" && url.query().is_none());
        if is_root { text.trim_end_matches('/').to_owned() } else { text.to_owned() }
    };
    bare(one) == bare(other)
}

/// Returns true if a text is a scope (RFC 6749, section 3.3) of at most `max_bytes`.
pub fn is_scope(text: &str, max_bytes: usize) -> bool {
    (1..=max_bytes).contains(&text.len()) && text.bytes().all(is_visible_unquoted)
}

/// Returns true for the bytes of scopes, tokens and nonces: visible ASCII without quotes and backslashes.
pub(crate) fn is_visible_unquoted(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\')
}

/// Returns true if the host is this machine, by name or address.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns the URL without its query, which may contain a key.
#[cfg(feature = "flows")]
pub(crate) fn display_url(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}
