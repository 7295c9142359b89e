//! The interface through which tools, agents and servers call tools.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::result::Media;
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

    /// Returns what is known about the tools. By default, nothing is.
    fn catalogue(&self) -> &dyn Catalogue {
        &Nothing
    }

    /// Returns the store of results. By default, nothing is stored.
    fn results(&self) -> &dyn ResultStore {
        &Nothing
    }
}

/// Queries about tools, and about calls before they are made. They run nothing and request no approval.
pub trait Catalogue: Send + Sync {
    /// Returns the tools that may be used in this context, those of a source in its order. Empty if the tools are not
    /// known.
    fn visible_tools(&self, _context: &CallContext) -> Vec<Arc<Tool>> {
        Vec::new()
    }

    /// Returns the tools that a name means in this context, in any spelling; several if the name is overloaded.
    ///
    /// # Errors
    ///
    /// Returns an error if the name matches no tool, or more than one name.
    fn find_tools(&self, name: &str, _context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        Err(ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`")))
    }

    /// Checks a call to be made later: its tool, its arguments, and the current rules. A catalogue that cannot check
    /// returns `Ok`.
    ///
    /// # Errors
    ///
    /// Returns the error that the call would end with.
    fn check_call(&self, _call: &ToolCall, _context: &CallContext) -> Result<(), ToolError> {
        Ok(())
    }

    /// Refuses callers to whom every tool is denied, such as clients that the app no longer names.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing may be done on behalf of this caller.
    fn admit(&self, _context: &CallContext) -> Result<(), ToolError> {
        Ok(())
    }

    /// Returns true if a call is read-only, so that it may run concurrently with others: its tool has low risk and no
    /// side effects, and if it forwards calls, the same holds for them. Returns false if this is not known.
    fn only_reads(&self, _call: &ToolCall, _context: &CallContext) -> bool {
        false
    }

    /// Returns true if a call may safely be repeated: it is read-only, or its tool declares itself idempotent.
    fn may_repeat(&self, call: &ToolCall, context: &CallContext) -> bool {
        self.only_reads(call, context)
    }
}

/// A store of results, and of the binary data in them.
pub trait ResultStore: Send + Sync {
    /// Stores a result of this tool that its reader sees only a part of. Returns a text that says how to read the rest,
    /// or `None` if the result was not stored.
    fn store(&self, _tool: &str, _result: String, _context: &CallContext) -> Option<String> {
        None
    }

    /// Returns the binary data that was extracted from a result and stored under this handle.
    fn media(&self, _handle: &str, _context: &CallContext) -> Option<Media> {
        None
    }
}

/// The catalogue and the store of callers that have none.
struct Nothing;

impl Catalogue for Nothing {}

impl ResultStore for Nothing {}
