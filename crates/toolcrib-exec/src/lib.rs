//! The one entrance to execution.
//!
//! Whatever wants to run a tool, gives its call to [`Executor::call`] and gets exactly one
//! [`ToolResult`](toolcrib_model::ToolResult). On the way the call is
//!
//! 1. resolved: any spelling of the name, did-you-mean when there is no such tool;
//! 2. gated on the tool, so that nothing is said about one that may not be used;
//! 3. matched to an overload and validated, with an error that a model can repair the call by;
//! 4. gated on the final arguments, and put to a person where policy wants that;
//! 5. routed to the engine of the tool's source and invoked under a deadline;
//! 6. bounded, and labelled with what an operator wants to know.
//!
//! ```
//! use std::sync::Arc;
//! use async_trait::async_trait;
//! use toolcrib_exec::{DenyAll, Executor};
//! use toolcrib_model::{QualifiedName, Tool, ToolCall, ToolResult};
//! use toolcrib_policy::{Authorized, Call, Capabilities, Effect, Policy};
//! use toolcrib_port::{CallContext, ToolEngine};
//! use toolcrib_registry::ToolRegistry;
//!
//! struct Clock;
//!
//! #[async_trait]
//! impl ToolEngine for Clock {
//!     async fn invoke(&self, call: Authorized<Call>, _context: &CallContext) -> ToolResult {
//!         call.ok("12:00")
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = ToolRegistry::from_tools("clock", [Tool::new(QualifiedName::new("clock", "now")?)])?;
//! let policy = Policy::new(&Capabilities { default_policy: Effect::Grant, ..Capabilities::default() }, [])?;
//! let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll))
//!     .with_engine("clock", Arc::new(Clock));
//! let executor = Arc::new(executor);
//! let result = executor.call(ToolCall::new("clock.now", Default::default()), &CallContext::new("session")).await;
//! assert_eq!(result.result, "12:00");
//! # Ok(())
//! # }
//! ```
//!
//! It knows no source and no vendor; engines are brought by others.

mod executor;
mod limits;

mod approve;
mod bound;
mod explain;
mod invoke;

#[cfg(test)]
mod tests;

pub use approve::DenyAll;
pub use executor::Executor;
pub use limits::{DEFAULT_DEADLINE, Limits, MAX_APPROVAL_WAIT, MAX_DEADLINE, MAX_DEPTH, MAX_RESULT_BYTES};
