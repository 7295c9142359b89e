//! The traits between the crates of Toolcrib. This crate holds no implementations.
//!
//! - A [`ToolLoader`] turns a source into tools and [`Reject`]s.
//! - A [`ToolEngine`] runs the calls of a source. It takes [`Authorized`](toolcrib_policy::Authorized) calls only.
//! - A [`CallContext`] carries everything the runtime knows about a call that is not an argument.
//! - A [`ToolCaller`] is the interface through which tools, agents and servers call tools. Its [`Catalogue`] answers
//!   queries about tools, and its [`ResultStore`] keeps results.
//! - A [`RunBudget`] limits an agent run together with all that it starts.
//! - A [`PhaseTracker`] tracks the phase of a call, and the time it has spent waiting for a person.
//! - A [`ProgressListener`] receives the progress of a call.
//! - A [`CallJournal`] records the start of a call for a caller that can make the call again after a crash.
//! - An [`Approver`] asks a person for the approval of calls; a [`ClientPrompter`] is the client whose user it asks.
//!
//! ```
//! use async_trait::async_trait;
//! use toolcrib_model::ToolResult;
//! use toolcrib_policy::{Authorized, Call};
//! use toolcrib_port::{CallContext, ToolEngine};
//!
//! /// An engine that answers each call with the call's arguments.
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
mod budget;
mod caller;
mod context;
mod engine;
mod journal;
mod loader;
mod phase;

pub use approver::{Answer, ApprovalRequest, Approver, ClientPrompter};
pub use budget::{Reservation, RunBudget};
pub use caller::{Catalogue, ResultStore, ToolCaller};
pub use context::CallContext;
pub use engine::ToolEngine;
pub use journal::CallJournal;
pub use loader::ToolLoader;
pub use phase::{CallPhase, PersonWait, PhaseTracker, Progress, ProgressListener};
pub use toolcrib_model::result::Media;
pub use toolcrib_model::{CallScope, LoadOutcome, Reject, RejectKind};
