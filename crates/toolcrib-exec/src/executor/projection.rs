//! Projections of results by shapes and callers.

use std::sync::Arc;

use toolcrib_model::tool::Forwarding;
use toolcrib_model::{Tool, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_results::Projections;

use super::Executor;

impl Executor {
    /// Applies the projection of a shape, and that of the caller, to the result of a tool. The result of a forwarded call
    /// has been projected already.
    pub(super) async fn project(
        &self,
        result: ToolResult,
        tool: Option<&Arc<Tool>>,
        context: &CallContext,
    ) -> ToolResult {
        if tool.is_some_and(|tool| tool.forwarding() == Some(Forwarding::Call)) {
            return result;
        }
        let of_shape = tool.and_then(|tool| tool.view()).and_then(|view| view.projection.as_deref());
        let projections = Projections { of_shape, of_caller: context.projection.as_deref() };
        self.results.project(result, projections, tool, context).await
    }
}

/// Returns the projection for the calls that a tool makes: that of its caller if it forwards one call.
pub(super) fn projection_below(tool: &Tool, context: &CallContext) -> Option<Arc<str>> {
    context.projection.clone().filter(|_| tool.forwarding() == Some(Forwarding::Call))
}
