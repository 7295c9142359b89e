//! OAuth 2.1 for both sides of a request.
//!
//! - [`client`] obtains, stores and renews the tokens for requests to a server. It discovers the authorization server,
//!   registers a client, has a user log in, and binds tokens to keys. The feature `flows` has the code of these requests.
//! - [`server`] validates the tokens that a server receives.
//! - [`metadata`] has the documents by which the two sides find each other.
//!
//! All requests go through [`toolcrib_io::http`], so its address guard and its limits apply to each URL that a server
//! names.
//!
//! ```
//! use toolcrib_oauth::metadata::{is_same_issuer, issuer_metadata_urls};
//!
//! // A server names its issuer, and the issuer has a document at one of these addresses.
//! let urls = issuer_metadata_urls(&"https://login.example/tenant".parse()?);
//! assert_eq!(urls[0].as_str(), "https://login.example/.well-known/oauth-authorization-server/tenant");
//! // That document has to name the issuer that was asked for, and no other.
//! assert!(!is_same_issuer("https://login.example/tenant", "https://evil.example/tenant"));
//! # Ok::<(), url::ParseError>(())
//! ```
//!
//! The crates `oauth2` and `jsonwebtoken` are not used. `oauth2` 5.0 covers PKCE, the body of a token request, and its
//! response, which are about 110 lines here. Its responses reject lifetimes written as texts and errors with status
//! 200, which issuers send, and it has neither client assertions nor key-bound tokens. `jsonwebtoken` 10.4 has no
//! backend for `ring`: its own add AWS-LC, or 27 packages with the RSA implementation of RUSTSEC-2023-0071. A backend
//! here would be as long as the check of signatures is now, and set for the whole process. The strict parsing would
//! remain: no duplicate keys, no `crit`, and no failure of a key set because of one unknown key.

#[cfg(feature = "client")]
pub mod client;
pub mod metadata;

#[cfg(feature = "server")]
pub mod server;

#[cfg(feature = "client")]
mod error;
#[cfg(feature = "flows")]
mod flows;
#[cfg(any(feature = "flows", feature = "server"))]
mod http;

#[cfg(feature = "client")]
pub use error::Error;
pub use metadata::MAX_ANSWER_BYTES;

#[cfg(any(feature = "flows", feature = "server"))]
/// The length of the longest token that is sent or accepted, in bytes. Servers rarely accept longer headers.
pub(crate) const MAX_TOKEN_BYTES: usize = 16 * 1024;
