//! Tools from MCP servers: the loader that lists them and the engine that calls them, over one connection.
//!
//! - An [`McpSource`] describes a server, which is a child process or is behind a URL, and sets the namespace of its
//!   tools.
//! - An [`McpConnection`] is opened by the first load or call, and opened again after the server has exited. A server
//!   that fails to start, or exits early, is started again after a backoff.
//! - An [`McpLoader`] turns `tools/list` into tools. Broken tools are rejects, and so is a server that cannot be
//!   reached.
//! - An [`McpEngine`] turns a call into `tools/call`. A call that the server may have processed is never sent again: if
//!   the server exits during the call, the error is `outcome_unknown`. If a call is cancelled, the server is notified.
//! - [`module`](module::module) creates the module `mcp`, with which an agent connects to further servers while it
//!   runs.
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
//! The crate supports revision 2026-07-28 of the protocol, and the earlier ones with an `initialize` handshake: over
//! pipes, over Streamable HTTP, and over HTTP with server-sent events. The tools of a server are known from a
//! [cache](tools::ToolsCache) before it is started, and compared with those that were [approved](tools::TrustLock). The
//! questions of a server to the user go through the approver of the executor; sampling and roots are not supported.
//! Arguments are validated, and deadlines enforced, by the executor.

mod source;

pub mod entry;

mod apps;
mod auth;
mod calls;
mod connection;
mod elicitation;
pub mod module;
pub mod tools;
mod transport;

mod error;
mod span;
mod text;

#[cfg(test)]
mod tests;

pub use calls::{McpEngine, SessionEngines};
pub use connection::McpConnection;
pub use error::Error;
pub use module::ID as MODULE_ID;
pub use source::{DEFAULT_STARTUP_TIMEOUT, HttpProtocol, McpSource, McpTransport};
pub use toolcrib_oauth::client as oauth;
pub use tools::McpLoader;
pub use transport::CLOSE_GRACE;
