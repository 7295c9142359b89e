//! The answers to MCP requests.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as WireTool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use toolcrib_model::{Risk, ToolCall, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_runtime::{AgentSetup, Runtime};

/// The session that calls of this connection belong to: one process serves one client.
const SESSION: &str = "mcp-stdio";

pub(crate) struct Handler {
    runtime: Arc<Runtime>,
}

impl Handler {
    pub(crate) fn new(runtime: Arc<Runtime>) -> Self {
        Self { runtime }
    }

    fn setup(&self) -> Result<Arc<AgentSetup>, ErrorData> {
        self.runtime.agent(None).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    fn annotations(&self, setup: &AgentSetup, wire_name: &str) -> Option<ToolAnnotations> {
        let snapshot = self.runtime.snapshot();
        let tool = &snapshot.get(&setup.wire_names.resolve(wire_name)?.name)?.first()?.tool;
        let mut annotations = ToolAnnotations::new();
        annotations.title = tool.title().map(str::to_owned);
        annotations.read_only_hint = Some(tool.risk() == Risk::Low);
        annotations.destructive_hint = Some(tool.risk() == Risk::High);
        annotations.idempotent_hint = Some(tool.is_idempotent());
        Some(annotations)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let app = self.runtime.app();
        let info = Implementation::new("toolcrib", env!("CARGO_PKG_VERSION"));
        let config =
            ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(info);
        match &app.config.app.description {
            Some(description) => config.with_instructions(description.clone()),
            None => config,
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let setup = self.setup()?;
        let tool = |offered: &toolcrib_prompt::OfferedTool| {
            let schema = offered.parameters.as_object().cloned().unwrap_or_default();
            let tool = WireTool::new(offered.wire_name.clone(), offered.description.clone(), schema);
            match self.annotations(&setup, &offered.wire_name) {
                Some(annotations)
                    if setup
                        .wire_names
                        .resolve(&offered.wire_name)
                        .is_some_and(|target| !setup.wire_names.is_runtime(&target.name)) =>
                {
                    tool.with_annotations(annotations)
                }
                _ => tool,
            }
        };
        Ok(ListToolsResult::with_all_items(setup.plan.offered.iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let setup = self.setup()?;
        let name = match setup.wire_names.resolve(&request.name) {
            Some(target) => target.name.to_string(),
            None => request.name.to_string(),
        };
        let call = ToolCall::new(name, request.arguments.unwrap_or_default());
        let mut call_context = CallContext::new(SESSION).with_cancel(context.ct.clone());
        if let Some(trace) = context.meta.get_traceparent().filter(|trace| is_traceparent(trace)) {
            call_context = call_context.with_trace(trace);
        }
        Ok(content(self.runtime.executor().call(call, &call_context).await).into())
    }
}

/// Whether a client's text has the form of a `traceparent`, which is passed on to the engines.
fn is_traceparent(text: &str) -> bool {
    text.len() == 55 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// A result as MCP has it: text that any client shows, and the structure where there is one. A failure of the tool is
/// a result too, so that the client's model reads it.
fn content(result: ToolResult) -> CallToolResult {
    if let Some(error) = result.error {
        let text = serde_json::to_string(&error).unwrap_or_else(|_| error.to_string());
        return CallToolResult::error(vec![ContentBlock::text(text)]);
    }
    let text = match &result.result {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut content = CallToolResult::success(vec![ContentBlock::text(text)]);
    content.structured_content = Some(result.result).filter(Value::is_object);
    content
}
