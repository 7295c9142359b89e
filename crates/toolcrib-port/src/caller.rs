//! The interface through which tools, agents and servers call tools.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::{ErrorKind, Tool, ToolCall, ToolError, ToolResult};

use crate::CallContext;

/// The interface through which tools, agents and servers call tools. Every call passes the full pipeline.
#[async_trait]
pub trait ToolCaller: Send + Sync {
    /// Runs a call through the full pipeline. Returns exactly one result in every case.
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult;

    /// Runs several calls, each through the full pipeline. Returns exactly one result for each, in the order of the
    /// calls. The executor authorizes all of them before any runs, asks for their approval together, and runs them
    /// concurrently; this default runs one after the other.
    async fn call_all(&self, calls: Vec<ToolCall>, context: &CallContext) -> Vec<ToolResult> {
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            results.push(self.call(call, context).await);
        }
        results
    }

    /// Returns the caller that this one wraps, if it wraps one. The default methods pass queries about tools on to it,
    /// but not calls.
    fn inner(&self) -> Option<&dyn ToolCaller> {
        None
    }

    /// Returns the tools that may be used in this context, those of a source in its order. Empty if the tools are not
    /// known.
    fn visible_tools(&self, context: &CallContext) -> Vec<Arc<Tool>> {
        self.inner().map(|inner| inner.visible_tools(context)).unwrap_or_default()
    }

    /// Returns the tools that a name means in this context, in any spelling; several if the name is overloaded.
    ///
    /// # Errors
    ///
    /// Returns an error if the name matches no tool, or more than one name.
    fn find_tools(&self, name: &str, context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        let unknown = || ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"));
        self.inner().ok_or_else(unknown)?.find_tools(name, context)
    }

    /// Checks a call to be made later: its tool, its arguments, and the current rules. It asks for no approval and runs
    /// nothing. A caller that cannot check returns `Ok`.
    ///
    /// # Errors
    ///
    /// Returns the error that the call would end with.
    fn check_call(&self, call: &ToolCall, context: &CallContext) -> Result<(), ToolError> {
        self.inner().map_or(Ok(()), |inner| inner.check_call(call, context))
    }

    /// Refuses callers to whom every tool is denied, such as clients that the app no longer names.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing may be done on behalf of this caller.
    fn admit(&self, context: &CallContext) -> Result<(), ToolError> {
        self.inner().map_or(Ok(()), |inner| inner.admit(context))
    }

    /// Returns true if a call is read-only, so that it may run concurrently with others: its tool has low risk and no
    /// side effects, and if it forwards calls, the same holds for them. Returns false if this is not known.
    fn only_reads(&self, call: &ToolCall, context: &CallContext) -> bool {
        self.inner().is_some_and(|inner| inner.only_reads(call, context))
    }

    /// Returns true if a call may safely be repeated: it is read-only, or its tool declares itself idempotent.
    fn may_repeat(&self, call: &ToolCall, context: &CallContext) -> bool {
        self.inner().map_or_else(|| self.only_reads(call, context), |inner| inner.may_repeat(call, context))
    }

    /// Stores a result of this tool that its reader sees only a part of. Returns a text that says how to read the rest,
    /// or `None` if the result was not stored.
    fn store_result(&self, tool: &str, result: String, context: &CallContext) -> Option<String> {
        self.inner()?.store_result(tool, result, context)
    }

    /// Returns the binary data that was extracted from a result and stored under this handle.
    fn media(&self, handle: &str, context: &CallContext) -> Option<Media> {
        self.inner()?.media(handle, context)
    }
}

/// Binary data of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The media type.
    pub media_type: String,
    /// The data in base64.
    pub data: String,
}
