//! A running app as an MCP server, for agents that exist already.
//!
//! [`serve_stdio`] answers on standard input and output until the client hangs up. The client sees what an agent of
//! the app would be offered: every tool while they fit, else the meta-tools by which the others are found and run.
//! Every call goes through the one entrance; what needs approval is answered by the runtime's approver.
//!
//! ```no_run
//! use std::sync::Arc;
//! use toolcrib_exec::DenyAll;
//! use toolcrib_runtime::{App, Runtime};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Arc::new(Runtime::start(App::open("app.yaml")?, Arc::new(DenyAll)).await?);
//! toolcrib_server::serve_stdio(Arc::clone(&runtime)).await?;
//! runtime.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! It has no logic about tools: that is the runtime's.

mod error;
mod handler;
mod serve;

#[cfg(test)]
mod tests;

pub use error::Error;
pub use serve::{serve, serve_stdio};
