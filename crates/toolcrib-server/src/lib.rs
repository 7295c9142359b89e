//! A running app as an MCP server for existing agents.
//!
//! A [`Server`] serves standard input and output, or Streamable HTTP. It supports revision 2026-07-28 of the protocol,
//! and the earlier ones with an `initialize` handshake, on the same endpoint. Clients see all tools while they fit, or
//! else the meta-tools that find and run the others. Every call passes through the executor of the runtime. Approvals go to the
//! client's user if the client can ask one, and otherwise to the fallback of the [`ClientApprover`]. An operator may
//! answer as well, through [`PendingApprovals`](approval::PendingApprovals): on a [`Console`], or from another
//! terminal through an [`OperatorListener`](operator::OperatorListener).
//!
//! ```no_run
//! use std::sync::Arc;
//! use toolcrib_exec::DenyAll;
//! use toolcrib_app::Blueprint;
//! use toolcrib_runtime::Runtime;
//! use toolcrib_server::{ClientApprover, Server, ServerSettings};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let approver = ClientApprover::new(Arc::new(DenyAll));
//! let runtime = Arc::new(Runtime::start(Blueprint::open("app.yaml")?, approver).await?);
//! let server = Server::new(Arc::clone(&runtime), ServerSettings::default())?;
//! server.serve_stdio().await?;
//! runtime.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Over HTTP, a request is admitted before its body is read: by its host name, the web page that sent it, its token,
//! and the open requests of its client. A token gives access to this server only and is never forwarded.
//!
//! The crate has no logic about tools, which belongs to the runtime.

mod error;
mod settings;

mod app_reload;
mod app_version;
mod client;
mod metrics;
mod replica;
mod server;

mod surface;

mod calls;
mod prompts;
mod resources;

pub mod approval;
pub mod operator;

mod protocol;

mod console;
pub mod http;
mod stdio;

#[cfg(test)]
mod tests;

pub use approval::ClientApprover;
pub use calls::tasks::TASK_AFTER;
pub use console::Console;
pub use error::Error;
pub use replica::Replica;
pub use server::Server;
pub use settings::ServerSettings;
pub use surface::{ListCost, ListedCost};
