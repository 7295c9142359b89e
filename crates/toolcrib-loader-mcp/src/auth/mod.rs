//! OAuth 2.1 for servers behind a URL, by the authorization specification of MCP.
//!
//! - [`McpAuth`] is the configuration: the client, the scopes, and the store for tokens.
//! - [`Authorization`] holds the tokens of one server, renews them, and runs a login.
//! - [`Authorize`] sends the user to the authorization server; [`LoopbackRedirect`] waits for a browser.
//!
//! Every URL in this module except the first comes from a server, and is hostile until [`http_client`] has checked it. Tokens
//! leave this module in one place only, the `Authorization` header of requests to the server that they were issued for.

mod loopback;
mod redirect;
mod settings;

mod http_client;

mod challenge;
mod discovery;
mod metadata;
mod scopes;

mod signing_key;

mod client;
mod client_assertion;
mod dpop;
mod grant;
mod random;
mod token_request;

mod credentials;
mod token_store;

mod authorization;
mod flow;
mod token_manager;

mod authorized_client;
mod token_redaction;

#[cfg(test)]
mod tests;

pub use authorization::{Authorization, LoginSummary};
pub(crate) use authorized_client::{AuthorizedClient, carried_error};
pub use loopback::{LOGIN_TIMEOUT, LoopbackRedirect};
pub use redirect::{Authorize, Redirect};
pub use settings::{Grant, IdentityProvider, IdentityToken, McpAuth, SecretSink};
pub use token_store::TokenStore;
