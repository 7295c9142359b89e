//! The interface of engines, which run authorized calls.

use async_trait::async_trait;
use tokio::sync::watch;
use toolcrib_model::{Tool, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};

use crate::CallContext;

/// An engine: it runs the calls of a source.
#[async_trait]
pub trait ToolEngine: Send + Sync {
    /// Runs one call. An error of the tool is a [`ToolResult`] with an error; the executor catches a panic and reports
    /// it as a fault. The executor drops the future at the deadline or when the caller gives up, so a call must hold
    /// nothing that outlives its future. A tool that declares itself idempotent may be invoked again with the same
    /// authorized call.
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult;

    /// Refuses a call that [`invoke`](Self::invoke) would refuse, to the extent that this is known without running it:
    /// a program that may not be started, a path that may not be written. The executor calls it before it asks a person
    /// for approval, so that no approval is wasted, and does not call it for calls that need no approval. It has no
    /// side effects.
    async fn check(&self, call: &Call, context: &CallContext) -> Result<(), ToolError> {
        let (_, _) = (call, context);
        Ok(())
    }

    /// Subscribes to changes of what a call that reads returns; `None` if the engine does not announce any. The receiver
    /// gets the number of changes, and dropping it ends the subscription.
    async fn watch(
        &self,
        call: &Authorized<Call>,
        context: &CallContext,
    ) -> Result<Option<watch::Receiver<u64>>, ToolError> {
        let (_, _) = (call, context);
        Ok(None)
    }

    /// Returns the reason why the engine cannot run a tool, if it knows one before any call; the tool is rejected then.
    fn unsupported_reason(&self, _tool: &Tool) -> Option<String> {
        None
    }

    /// Returns a warning for the operator about a tool, such as a declaration that the engine cannot enforce.
    fn warning(&self, _tool: &Tool) -> Option<String> {
        None
    }

    /// Returns true if calls run in this process and access nothing outside of it that could be slow or unavailable.
    /// Their number is not limited then, unless a setting limits it.
    fn is_in_process(&self) -> bool {
        false
    }

    /// Returns true if the engine reports progress to the listener of the context. Each report restarts the deadline of
    /// the call, up to a maximum.
    fn reports_progress(&self) -> bool {
        false
    }

    /// Tells the engine if calls have a user who can answer questions in the middle of them, for engines that announce
    /// it to a server. The executor calls it once, when the engine is added. The questions go through the approver in the
    /// context of a call.
    fn set_has_user(&self, _has_user: bool) {}

    /// Ends the engine's work for a session that has ended.
    async fn end_session(&self, _session: &str) {}

    /// Ends the engine's work: connections, child processes. The executor calls it once, at shutdown.
    async fn close(&self) {}
}
