//! The traits that the parts of Toolcrib meet at. It holds no implementation.
//!
//! - A [`ToolLoader`] turns a source into tools and [`Reject`]s.
//! - A [`ToolEngine`] runs the calls of a source. It takes [`Authorized`](toolcrib_policy::Authorized) calls only.
//! - A [`CallContext`] carries what the runtime knows of a call and its arguments cannot say.
//! - A [`ToolCaller`] is the one entrance to execution, as seen by whatever wants to run a tool.
//! - A [`PhaseTracker`] tells whether a call waits for a person, and for how long it has.
//! - A [`ProgressListener`] is told how far a call is.
//! - An [`Approver`] puts a question to a person.
//!
//! ```
//! use async_trait::async_trait;
//! use toolcrib_model::ToolResult;
//! use toolcrib_policy::{Authorized, Call};
//! use toolcrib_port::{CallContext, ToolEngine};
//!
//! /// Answers each call with its own arguments.
//! struct Echo;
//!
//! #[async_trait]
//! impl ToolEngine for Echo {
//!     async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
//!         call.ok(call.arguments.clone())
//!     }
//! }
//! ```

mod approver;
mod caller;
mod context;
mod engine;
mod loader;
mod phase;
mod progress;

pub use approver::{Answer, Approver, Asked};
pub use caller::{Media, ToolCaller};
pub use context::CallContext;
pub use engine::ToolEngine;
pub use loader::{Loaded, Reject, RejectKind, ToolLoader};
pub use phase::{CallPhase, PersonWait, PhaseTracker};
pub use progress::{Progress, ProgressListener};
pub use toolcrib_model::{
    CallScope, MAX_SCOPE_ENTRIES, MAX_SCOPE_KEY_BYTES, MAX_SCOPE_VALUE_BYTES, ScopeError,
};
