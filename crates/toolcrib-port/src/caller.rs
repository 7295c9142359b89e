//! The one entrance to execution, as seen by whatever wants to run a tool.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::{ErrorKind, Tool, ToolCall, ToolError, ToolResult};

use crate::CallContext;

/// The one entrance to execution.
#[async_trait]
pub trait ToolCaller: Send + Sync {
    /// Runs a call through the whole gate. There is exactly one result, whatever happens.
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult;

    /// Runs several calls, each through the whole gate. There is exactly one result for each, in the order of the calls.
    /// The executor judges all of them before any runs, asks about them together, and runs them side by side; this runs
    /// one after the other.
    async fn call_all(&self, calls: Vec<ToolCall>, context: &CallContext) -> Vec<ToolResult> {
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            results.push(self.call(call, context).await);
        }
        results
    }

    /// The entrance that this one stands before, if it does: what is asked of tools, and not answered here, is answered there.
    /// Calls are not passed on by themselves.
    fn inner(&self) -> Option<&dyn ToolCaller> {
        None
    }

    /// The tools that may be used in this context, those of a source in its order. None where that is not known.
    fn visible_tools(&self, context: &CallContext) -> Vec<Arc<Tool>> {
        self.inner().map(|inner| inner.visible_tools(context)).unwrap_or_default()
    }

    /// The tools that a name means in this context, in any spelling; several where it is overloaded.
    ///
    /// # Errors
    ///
    /// Where it means none, or more than one name.
    fn find_tools(&self, name: &str, context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        let unknown = || ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"));
        self.inner().ok_or_else(unknown)?.find_tools(name, context)
    }

    /// Checks a call that is made later: its tool, its arguments, and the rules, as they are now. Nothing is asked and
    /// nothing runs. An entrance that cannot know says nothing.
    ///
    /// # Errors
    ///
    /// The error that the call would end with.
    fn check_call(&self, call: &ToolCall, context: &CallContext) -> Result<(), ToolError> {
        self.inner().map_or(Ok(()), |inner| inner.check_call(call, context))
    }

    /// Refuses callers to whom every tool is denied, such as clients that the app does not name any more.
    ///
    /// # Errors
    ///
    /// Where nothing may be done in the name of this caller.
    fn admit(&self, context: &CallContext) -> Result<(), ToolError> {
        self.inner().map_or(Ok(()), |inner| inner.admit(context))
    }

    /// Whether a call only looks, so that it may run beside others: its tool is of low risk and without side effects, and
    /// where it forwards calls, so are theirs. `false` where that is not known.
    fn only_reads(&self, call: &ToolCall, context: &CallContext) -> bool {
        self.inner().is_some_and(|inner| inner.only_reads(call, context))
    }

    /// Whether a call does no harm when it is made a second time: it only looks, or its tool declares itself idempotent.
    fn may_repeat(&self, call: &ToolCall, context: &CallContext) -> bool {
        self.inner().map_or_else(|| self.only_reads(call, context), |inner| inner.may_repeat(call, context))
    }

    /// Keeps a result of this tool that its reader is to be shown less of, and says how it is read then. `None` where it
    /// is not kept.
    fn keep(&self, tool: &str, result: String, context: &CallContext) -> Option<String> {
        self.inner()?.keep(tool, result, context)
    }

    /// The binary data that was taken out of a result and kept under this handle.
    fn media(&self, handle: &str, context: &CallContext) -> Option<Media> {
        self.inner()?.media(handle, context)
    }
}

/// Binary data of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Its media type.
    pub media_type: String,
    /// Base64.
    pub data: String,
}
