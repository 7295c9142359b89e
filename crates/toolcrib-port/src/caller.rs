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

    /// The tools that may be used in this context, those of a source in its order. None where that is not known.
    fn visible_tools(&self, _context: &CallContext) -> Vec<Arc<Tool>> {
        Vec::new()
    }

    /// The tools that a name means in this context, in any spelling; several where it is overloaded.
    ///
    /// # Errors
    ///
    /// Where it means none, or more than one name.
    fn find_tools(&self, name: &str, _context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        Err(ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`")))
    }

    /// Whether a call only looks, so that it may run beside others: its tool is of low risk and without side effects, and
    /// where it forwards calls, so are theirs. `false` where that is not known.
    fn only_reads(&self, _call: &ToolCall, _context: &CallContext) -> bool {
        false
    }

    /// Whether a call does no harm when it is made a second time: it only looks, or its tool declares itself idempotent.
    fn may_repeat(&self, call: &ToolCall, context: &CallContext) -> bool {
        self.only_reads(call, context)
    }

    /// Keeps a result of this tool that its reader is to be shown less of, and says how it is read then. `None` where it
    /// is not kept.
    fn keep(&self, _tool: &str, _result: String, _context: &CallContext) -> Option<String> {
        None
    }

    /// The binary data that was taken out of a result and kept under this handle.
    fn media(&self, _handle: &str, _context: &CallContext) -> Option<Media> {
        None
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
