//! The executor as seen by a tool that it runs.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use toolcrib_model::{ErrorKind, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, Catalogue, ResultStore, ToolCaller};
use toolcrib_results::Results;

use super::Executor;
use crate::flow::CallChain;

/// The executor as seen by a tool that it runs.
pub(super) struct ExecutorHandle {
    pub(super) executor: Weak<Executor>,
    pub(super) results: Arc<Results>,
    /// The permits of the calls above.
    pub(super) call_chain: CallChain,
}

#[async_trait]
impl ToolCaller for ExecutorHandle {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        match self.executor.upgrade() {
            Some(executor) => executor.call_below(call, context, &self.call_chain).await,
            None => closed(call),
        }
    }

    async fn call_all(&self, calls: Vec<ToolCall>, context: &CallContext) -> Vec<ToolResult> {
        match self.executor.upgrade() {
            Some(executor) => executor.call_all_below(calls, context, &self.call_chain).await,
            None => calls.into_iter().map(closed).collect(),
        }
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }

    fn results(&self) -> &dyn ResultStore {
        self.results.as_ref()
    }
}

impl Catalogue for ExecutorHandle {
    fn visible_tools(&self, context: &CallContext) -> Vec<Arc<Tool>> {
        self.executor.upgrade().map(|executor| executor.visible_tools(context)).unwrap_or_default()
    }

    fn find_tools(&self, name: &str, context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        self.executor.upgrade().ok_or_else(shutting_down)?.find_tools(name, context)
    }

    fn check_call(&self, call: &ToolCall, context: &CallContext) -> Result<(), ToolError> {
        self.executor.upgrade().ok_or_else(shutting_down)?.check_call(call, context)
    }

    fn admit(&self, context: &CallContext) -> Result<(), ToolError> {
        self.executor.upgrade().ok_or_else(shutting_down)?.admit(context)
    }

    fn only_reads(&self, call: &ToolCall, context: &CallContext) -> bool {
        self.executor.upgrade().is_some_and(|executor| executor.only_reads(call, context))
    }

    fn may_repeat(&self, call: &ToolCall, context: &CallContext) -> bool {
        self.executor.upgrade().is_some_and(|executor| executor.may_repeat(call, context))
    }
}

fn closed(call: ToolCall) -> ToolResult {
    ToolResult::failed(call.call_id, call.name, shutting_down())
}

fn shutting_down() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "the runtime is shutting down")
}
