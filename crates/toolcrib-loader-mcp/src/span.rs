//! Tracing spans for requests to a server, by the semantic conventions of OpenTelemetry for MCP.

use tracing::Span;
use tracing::field::Empty;
use url::Url;

use crate::{McpSource, McpTransport};

/// Creates a span for a request that is not a tool call: `initialize`, `tools/list`.
pub(crate) fn request(method: &'static str, source: &McpSource) -> Span {
    let span = tracing::info_span!(
        "mcp",
        "otel.name" = method,
        "otel.kind" = Empty,
        "otel.status_code" = Empty,
        "mcp.method.name" = Empty,
        "mcp.protocol.version" = Empty,
        "network.transport" = Empty,
        "network.protocol.name" = Empty,
        "server.address" = Empty,
        "server.port" = Empty,
        "error.type" = Empty,
        "rpc.response.status_code" = Empty,
    );
    describe(&span, method, source);
    span
}

/// Records on a span that it is a request to this server. A tool call has a span already, which the executor opened; a
/// nested one would duplicate it.
pub(crate) fn describe(span: &Span, method: &'static str, source: &McpSource) {
    if span.is_disabled() {
        return;
    }
    span.record("otel.kind", "client");
    span.record("mcp.method.name", method);
    match &source.transport {
        McpTransport::Stdio { .. } => {
            span.record("network.transport", "pipe");
        }
        McpTransport::Http { url, .. } => {
            span.record("network.transport", "tcp");
            span.record("network.protocol.name", "http");
            if let Ok(url) = Url::parse(url) {
                span.record("server.address", url.host_str());
                span.record("server.port", url.port_or_known_default());
            }
        }
    }
}

/// Records a failure on a span.
pub(crate) fn failed(span: &Span, error_type: &str) {
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
}
