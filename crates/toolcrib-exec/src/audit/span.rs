//! The span of a call.

use std::sync::{Arc, OnceLock};

use toolcrib_model::ToolCall;
use toolcrib_port::CallContext;
use tracing::Span;
use tracing::field::Empty;

/// Says what the `traceparent` of a span is.
type TraceSource = fn(&Span) -> Option<String>;

static TRACE_SOURCE: OnceLock<TraceSource> = OnceLock::new();

/// Sets what knows the W3C `traceparent` of spans, once in a process, as the subscriber is. Without it calls pass on what
/// their caller gave them. Says whether it was the first.
pub fn set_trace_source(source: fn(&Span) -> Option<String>) -> bool {
    TRACE_SOURCE.set(source).is_ok()
}

/// The span of a call, as the conventions for generative AI have it: `execute_tool {tool}`. The name stands in `otel.name`
/// and is recorded once the tool is known; `mcp.*` and what belongs to it are recorded by an engine that calls an MCP
/// server, which then makes no span of its own. `toolcrib.parent` is the `traceparent` of the caller, for when no span is
/// around this one. No values of arguments or results are among the fields.
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

/// The `traceparent` of a span, where something knows it.
pub(super) fn traceparent(span: &Span) -> Option<Arc<str>> {
    if span.is_disabled() {
        return None;
    }
    TRACE_SOURCE.get().and_then(|source| source(span)).map(Arc::from)
}
