//! Tokens for requests to a server, by the authorization specification of MCP.
//!
//! - [`ClientSettings`] is the configuration: the client, the scopes, and the store for tokens.
//! - [`Authorization`] holds the tokens of one server, renews them, and runs a login. [`RequestAuthorization`] adds them
//!   to a request.
//! - [`Authorize`] sends the user to the authorization server; `LoopbackRedirect` waits for a browser.
//!
//! Without the feature `flows`, the same types can be named, and none obtains a token: each fails as
//! [`Error::Unsupported`](crate::Error::Unsupported).

mod login_links;
mod redirect;
mod settings;
mod types;
#[cfg(not(feature = "flows"))]
mod unsupported;

pub use login_links::{LoginLinks, LoginOwner};
pub use redirect::{Authorize, Redirect};
pub use settings::{ClientSettings, Grant, IdentityProvider, IdentityToken};
pub use types::{
    AccessToken, ClientCredentials, LOGIN_TIMEOUT, LoginSummary, Probe, SecretSink, shell_quoted,
};
#[cfg(not(feature = "flows"))]
pub use unsupported::{Authorization, RequestAuthorization, TokenExchange, TokenSource, TokenStore};

#[cfg(feature = "flows")]
pub use crate::flows::{
    Authorization, LoopbackRedirect, RequestAuthorization, TokenExchange, TokenKey, TokenSource, TokenStore,
};
