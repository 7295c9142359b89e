//! A running app.
//!
//! [`Runtime::start`] connects the parts of a [`Blueprint`](toolcrib_app::Blueprint): sources into a registry, engines
//! and rules into the one entrance. An [`AgentSetup`](toolcrib_app::AgentSetup) is what one of its agents is shown. [`Runtime::close`] ends
//! everything that it started.
//!
//! ```
//! use std::sync::Arc;
//! use toolcrib_exec::DenyAll;
//! use toolcrib_model::ToolCall;
//! use toolcrib_port::CallContext;
//! use toolcrib_app::Blueprint;
//! use toolcrib_runtime::Runtime;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "modules: {hello: {}}\ntools: {capabilities: {default_policy: grant}}\n";
//! let blueprint = Blueprint::from_text("app.yaml", text)?;
//! let runtime = Runtime::start(blueprint, Arc::new(DenyAll)).await?;
//! let result = runtime.executor().call(ToolCall::new("hello.status", Default::default()), &CallContext::new("s")).await;
//! assert!(result.is_ok());
//! runtime.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! It connects the crates below, which make all decisions.

mod agent;
mod call_app;
mod connect;
mod error;
mod runtime;
mod services;
mod setup;
mod source_reload;
mod sources;
mod stored;
mod tasks;

#[cfg(test)]
mod tests;

pub use error::Error;
pub use runtime::Runtime;
pub use source_reload::AppWatch;
