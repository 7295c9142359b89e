//! The executor, through which every call runs.
//!
//! A caller passes a call to [`Executor::call`] and gets exactly one [`ToolResult`](toolcrib_model::ToolResult). The
//! call is
//!
//! 1. resolved: any spelling of the name, with suggestions for an unknown name;
//! 2. checked against the policy for the tool, so that nothing is revealed about a tool that may not be used;
//! 3. matched to an overload and validated, with errors by which a model can repair the call;
//! 4. checked against the policy for the final arguments, and put to a person if the policy requires approval;
//! 5. routed to the engine of the tool's source and invoked under a deadline;
//! 6. limited in size, and labelled with metadata for operators.
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
//!     async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
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
//! The executor knows no specific source or vendor; the engines are in other crates.

mod deferred_check;
mod executor;
pub mod flow;
mod former_arguments;
mod hooks;
pub mod limits;

pub mod audit;

mod approval;
mod approvers;
mod authorize;
mod call_errors;
mod heartbeat;
mod invoke;
mod normalize;
mod panic_guard;
mod views;

#[cfg(test)]
mod tests;

pub use approvers::{Callback, DenyAll};
pub use call_errors::OperatorHints;
pub use executor::{DryRun, Executor};
pub use flow::FlowSettings;
pub use hooks::{Hook, HookVerdict, MAX_REASON_CHARS, ResultVerdict};
