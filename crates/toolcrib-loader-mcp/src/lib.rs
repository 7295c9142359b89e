//! Tools from MCP servers: the loader that lists them and the engine that calls them, over one connection.
//!
//! - An [`McpSource`] says which server it is, a child process or a URL, and which namespace its tools have.
//! - An [`McpConnection`] is made at the first load or call, kept, and made anew when the server has died. A server
//!   that fails to start, or ends at once each time, is left alone for a while, longer each time.
//! - An [`McpLoader`] turns `tools/list` into tools. What is broken is a reject, and so is a server that is not there.
//! - An [`McpEngine`] turns a call into `tools/call`. A call that the server may have seen is never sent again: when the
//!   server dies in the middle of it, the error is `outcome_unknown`. When a call is given up, the server is told.
//!
//! - [`module`] makes the module `mcp`, by whose tools an agent connects to further servers while it runs.
//!
//! ```
//! use toolcrib_loader_mcp::{McpConnection, McpEngine, McpLoader, McpSource};
//! use toolcrib_port::{ToolEngine, ToolLoader};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let connection = McpConnection::new(McpSource::stdio("notes", ["no-such-server", "--stdio"]));
//! let loader = McpLoader::new(connection.clone());
//! let engine = McpEngine::new(connection);
//!
//! let loaded = loader.load().await;
//! assert!(loaded.tools.is_empty());
//! assert!(loaded.rejected[0].reason.starts_with("MCP server `no-such-server --stdio` does not start"));
//! engine.close().await;
//! # }
//! ```
//!
//! It speaks revision 2026-07-28 of the protocol, and those with an `initialize` handshake before it: over pipes, over
//! Streamable HTTP, and over HTTP with server-sent events. A server is found by what was [kept](ManifestCache) of it, and
//! held to what was [approved](Pins). What a server asks the user is put through the approver of the executor; sampling and
//! roots are refused. It checks no arguments and enforces no deadline: that is the executor's work.

mod source;

mod backoff;
mod backpressure;
mod connection;
mod handshake;
mod probe;
mod progress;
mod session;
mod subscription;
mod ways;

mod auth;

mod http;
mod message;
mod mirror;
mod pipes;
mod scan;
mod sse;
mod stdio;

mod elicitation;
mod handler;

mod catalog;
mod extras;
mod loader;
mod manifest;
mod pins;
mod secret;
mod tool;

mod engine;
mod per_session;
mod result;
mod task;

mod module;

mod error;
mod span;
mod text;

#[cfg(test)]
mod tests;

pub use auth::{
    Authorization, Authorize, Grant, IdentityProvider, IdentityToken, LOGIN_TIMEOUT, LoggedIn,
    LoopbackRedirect, McpAuth, Redirect, SecretSink, TokenStore,
};
pub use backoff::{FIRST_BACKOFF, MAX_BACKOFF, SETTLED_AFTER};
pub use catalog::{MAX_LIST_BYTES, MAX_PAGES, MAX_TOOLS};
pub use connection::McpConnection;
pub use elicitation::{ANSWER_PATIENCE, MAX_FORM_LINES, MAX_QUESTIONS};
pub use engine::McpEngine;
pub use error::Error;
pub use loader::McpLoader;
pub use manifest::{MAX_MANIFEST_BYTES, ManifestCache};
pub use module::{
    ID as MODULE_ID, IDLE_TIME, MAX_SERVERS, MAX_SHOWN_TOOLS, McpModuleConfig, NAMESPACE_PREFIX, module,
};
pub use per_session::{DEFAULT_SESSION_SERVERS, SESSION_IDLE_TIME, SessionEngines};
pub use pins::{Change, MAX_LOCK_BYTES, Pins, PinsError};
pub use source::{DEFAULT_STARTUP_TIMEOUT, HttpProtocol, McpSource, McpTransport};
pub use stdio::CLOSE_GRACE;
pub use text::{
    MAX_DESCRIPTION_CHARS, MAX_ERROR_CHARS, MAX_INSTRUCTIONS_CHARS, MAX_PROGRESS_CHARS, MAX_TITLE_CHARS,
};
