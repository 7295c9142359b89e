//! Tokens for requests to a server, by the authorization specification of MCP.
//!
//! - [`ClientSettings`] is the configuration: the client, the scopes, and the store for tokens.
//! - [`Authorization`] holds the tokens of one server, renews them, and runs a login. [`RequestAuthorization`] adds them
//!   to a request.
//! - [`Authorize`] sends the user to the authorization server; [`LoopbackRedirect`] waits for a browser.
//!
//! Every URL in this module except the first comes from a server, and is hostile until the HTTP client has checked it.
//! Tokens leave this module in one place only, the headers of requests to the server that they were issued for.

mod clock;
mod pkce;
mod signing_key;
mod stored_secret;

mod challenge;
mod dpop;
mod form;
mod http_client;
mod scopes;
mod token_response;

mod token_endpoint;
mod token_exchange;

mod discovery;
mod server_metadata;

mod context;
mod flow;
mod grant;
mod registration;
mod token_request;

mod credentials;
mod token_folder;
mod token_key;
mod token_store;
mod token_table;

mod login_links;
mod loopback;
mod redirect;
mod settings;

mod authorization;
mod client_credentials;
mod request;

#[cfg(test)]
mod tests;

pub use authorization::{Authorization, LoginSummary, Probe, shell_quoted};
pub use client_credentials::TokenSource;
pub use login_links::{LoginLinks, LoginOwner};
pub use loopback::{LOGIN_TIMEOUT, LoopbackRedirect};
pub use redirect::{Authorize, Redirect};
pub use request::RequestAuthorization;
pub use settings::{ClientSettings, Grant, IdentityProvider, IdentityToken, SecretSink};
pub use token_endpoint::{AccessToken, ClientCredentials};
pub use token_exchange::TokenExchange;
pub use token_key::{TOKEN_KEY_VARIABLE, TokenKey};
pub use token_store::TokenStore;
