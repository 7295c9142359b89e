//! The tracing span of a call.

use toolcrib_model::ToolCall;
use toolcrib_port::CallContext;
use tracing::Span;
use tracing::field::Empty;

/// A function that returns the W3C `traceparent` of a span, if a subscriber gives spans such ids.
pub type TraceSource = fn(&Span) -> Option<String>;

/// Creates the span of a call according to the conventions for generative AI: `execute_tool {tool}`. Its name is in
/// `otel.name` and is recorded once the tool is known; an engine that calls an MCP server records `mcp.*` and the
/// fields that belong to it, and creates no span for the request. `toolcrib.parent` is the `traceparent` of the caller,
/// in case no span surrounds this one. No field holds values of arguments or results.
pub fn span(call: &ToolCall, context: &CallContext) -> Span {
    tracing::info_span!(
        target: "toolcrib_exec",
        "execute_tool",
        "otel.name" = Empty,
        "otel.kind" = Empty,
        "otel.status_code" = Empty,
        "toolcrib.parent" = context.trace.as_deref(),
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = Empty,
        "gen_ai.tool.type" = "function",
        "gen_ai.tool.call.id" = call.call_id.as_deref(),
        "gen_ai.agent.name" = context.agent.as_deref(),
        "gen_ai.conversation.id" = context.conversation.as_deref(),
        "session.id" = &*context.session,
        "error.type" = Empty,
        "toolcrib.source" = Empty,
        "toolcrib.original" = Empty,
        "toolcrib.decision" = Empty,
        "toolcrib.rule" = Empty,
        "toolcrib.consent" = Empty,
        "mcp.method.name" = Empty,
        "mcp.protocol.version" = Empty,
        "network.transport" = Empty,
        "network.protocol.name" = Empty,
        "server.address" = Empty,
        "server.port" = Empty,
        "rpc.response.status_code" = Empty,
    )
}
