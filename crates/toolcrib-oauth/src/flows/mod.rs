//! The requests for tokens: discovery, registration, logins, grants, and the store of tokens.
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
mod credentials_key;
mod token_folder;
mod token_key;
mod token_store;
mod token_table;

mod loopback;

mod authorization;
mod client_credentials;
mod request;

#[cfg(test)]
mod tests;

pub use authorization::Authorization;
pub use client_credentials::TokenSource;
pub use loopback::LoopbackRedirect;
pub use request::RequestAuthorization;
pub use token_exchange::TokenExchange;
pub use token_key::TokenKey;
pub use token_store::TokenStore;
