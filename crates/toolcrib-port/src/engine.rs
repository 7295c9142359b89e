//! From an authorized call to its result.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::{Tool, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};

use crate::{Approver, CallContext};

/// Runs the calls of a source.
#[async_trait]
pub trait ToolEngine: Send + Sync {
    /// Runs one call. What a tool does wrong is a [`ToolResult`] with an error; a panic is caught by the executor and
    /// reported as a fault. The executor drops the future when the deadline passes or the caller gives up, so a call
    /// must hold nothing that outlives its future. A tool that declares itself idempotent may be invoked again with the
    /// same authorized call.
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult;

    /// Refuses a call that [`invoke`](Self::invoke) would refuse, as far as that is known without running it: a program
    /// that may not be started, a path that may not be written. It is called before a person is asked, so that nobody is
    /// asked in vain, and not for calls that nobody is asked about. It changes nothing.
    async fn check(&self, call: &Call, context: &CallContext) -> Result<(), ToolError> {
        let (_, _) = (call, context);
        Ok(())
    }

    /// Returns why the engine cannot run a tool, where it knows that before any call; the tool is rejected then.
    fn misfit(&self, _tool: &Tool) -> Option<String> {
        None
    }

    /// Returns what the operator should know of a tool that the engine can run, such as a declaration that it cannot
    /// enforce.
    fn warning(&self, _tool: &Tool) -> Option<String> {
        None
    }

    /// Whether calls run in this process and reach nothing outside of it that could be slow or down. Their number is not
    /// bounded then, unless somebody says so.
    fn is_in_process(&self) -> bool {
        false
    }

    /// Whether it tells the listener of the context how far a call is. Each time it does, the call has its deadline anew,
    /// up to a maximum.
    fn reports_progress(&self) -> bool {
        false
    }

    /// Is told whom to ask what a call cannot go on without. The executor says so once, when it takes the engine in.
    fn attend(&self, _approver: &Arc<dyn Approver>) {}

    /// Ends what the engine has running for a session that nobody goes on with.
    async fn end_session(&self, _session: &str) {}

    /// Ends what the engine has running: connections, child processes. Called once, at shutdown.
    async fn close(&self) {}
}
