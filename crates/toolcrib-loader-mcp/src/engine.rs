//! From an authorized call to the server and back.

use async_trait::async_trait;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, GetMeta as _, ServerResult};
use serde_json::Value;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};
use tracing::Span;

use crate::McpConnection;
use crate::result;
use crate::session::Fault;
use crate::span;

/// Calls the tools of a server.
pub struct McpEngine {
    connection: McpConnection,
}

impl McpEngine {
    /// The engine of the server behind this connection.
    pub fn new(connection: McpConnection) -> Self {
        Self { connection }
    }

    async fn call(&self, call: &Call, trace: Option<&str>) -> Result<Value, ToolError> {
        span::describe(&Span::current(), "tools/call", self.connection.source());
        let answer = self.connection.request(|| request(call, trace)).await;
        answer.map_err(|fault| self.failure(call, fault)).and_then(read)
    }

    fn failure(&self, call: &Call, fault: Fault) -> ToolError {
        let target = self.connection.source().target();
        match fault {
            Fault::NoServer(error) => unavailable(error.to_string()),
            Fault::NotSent(reason) => unavailable(format!("MCP server `{target}` cannot be reached: {reason}")),
            Fault::TurnedAway { kind, reason } => {
                ToolError::new(kind, format!("MCP server `{target}` refuses the call: {reason}"))
            }
            Fault::Lost { how, said } => ToolError::new(
                ErrorKind::OutcomeUnknown,
                format!(
                    "MCP server `{target}` {how}, and whether the call took effect is not known; the next call \
                     starts the server again{said}"
                ),
            )
            .with_hint("find out whether the call took effect before you repeat it"),
            Fault::Rpc(error) => {
                Span::current().record("rpc.response.status_code", error.code.0.to_string());
                result::rpc_error(call.tool.name.name(), &error)
            }
        }
    }
}

#[async_trait]
impl ToolEngine for McpEngine {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        let outcome = tokio::select! {
            biased;
            () = context.cancel.cancelled() => {
                Err(ToolError::new(ErrorKind::Cancelled, "the call was given up, and the server was told"))
            }
            outcome = self.call(call, context.trace.as_deref()) => outcome,
        };
        match outcome {
            Ok(value) => call.ok(value),
            Err(error) => call.failed(error),
        }
    }

    async fn close(&self) {
        self.connection.close().await;
    }
}

fn request(call: &Call, trace: Option<&str>) -> ClientRequest {
    let params =
        CallToolRequestParams::new(call.tool.name.name().to_owned()).with_arguments(call.arguments.clone());
    let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    if let Some(trace) = trace {
        request.get_meta_mut().set_traceparent(trace);
    }
    request
}

fn read(answer: ServerResult) -> Result<Value, ToolError> {
    match answer {
        ServerResult::CallToolResult(result) => result::convert(result),
        ServerResult::InputRequiredResult(_) => Err(ToolError::new(
            ErrorKind::InputRequired,
            "the server wants an answer from the user before it goes on, and there is no way to ask for it",
        )),
        ServerResult::CreateTaskResult(_) => Err(ToolError::new(
            ErrorKind::OutcomeUnknown,
            "the server runs the call as a task of its own, which this client did not ask for and cannot follow",
        )),
        _ => Err(ToolError::new(
            ErrorKind::OutcomeUnknown,
            "the server answered the call with something that is not a tool result",
        )),
    }
}

fn unavailable(message: String) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, message)
}
