//! OAuth 2.1 for servers behind a URL, as MCP's authorization specification has it.
//!
//! - [`McpAuth`] is what an app says: which client we are, which scopes, where tokens are kept.
//! - [`Authorization`] holds the tokens of one server, renews them, and runs a login.
//! - [`Authorize`] is whoever takes the user to the authorization server; [`LoopbackRedirect`] waits for a browser.
//!
//! Every URL in here but the first comes from a server, and is hostile until [`fetch`] has looked at it. Tokens leave
//! this module in one place, the `Authorization` header of requests to the server that they were issued for.

mod authorize;
mod loopback;
mod settings;

mod fetch;

mod challenge;
mod discovery;
mod metadata;
mod scopes;

mod key;

mod assertion;
mod client;
mod dpop;
mod grant;
mod random;
mod token;

mod record;
mod store;

mod authorization;
mod flow;
mod inner;

mod echo;
mod transport;

#[cfg(test)]
mod tests;

pub use authorization::{Authorization, LoggedIn};
pub use authorize::{Authorize, Redirect};
pub use loopback::{LOGIN_TIMEOUT, LoopbackRedirect};
pub use settings::{Grant, IdentityProvider, IdentityToken, McpAuth, SecretSink};
pub use store::TokenStore;
pub(crate) use transport::{AuthorizedClient, refusal};
