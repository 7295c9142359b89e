//! From a server to its tools.

use async_trait::async_trait;
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool as WireTool};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use toolcrib_port::{Loaded, Reject, RejectKind, ToolLoader};
use tracing::Instrument as _;

use crate::McpConnection;
use crate::session::Fault;
use crate::span;
use crate::text::{MAX_ERROR_CHARS, clean};
use crate::tool;

/// The most pages of tools that are fetched from one server.
pub const MAX_PAGES: usize = 1_000;

/// The most tools that are taken from one server.
pub const MAX_TOOLS: usize = 20_000;

/// The most characters of a name that a [`Reject`] repeats.
const MAX_SHOWN_NAME_CHARS: usize = 80;

/// Loads the tools of a server.
pub struct McpLoader {
    connection: McpConnection,
    source: String,
}

impl McpLoader {
    /// The loader of the server behind this connection.
    pub fn new(connection: McpConnection) -> Self {
        let source = format!("mcp {}", connection.source().namespace);
        Self { connection, source }
    }

    fn failed(&self, kind: RejectKind, reason: impl Into<String>) -> Loaded {
        Loaded::failed(&*self.source, kind, reason)
    }

    /// Fetches all pages. What came before a failure is thrown away: half a list would look like a server that has
    /// lost its other tools.
    async fn list(&self) -> Result<Loaded, Loaded> {
        let target = self.connection.source().target();
        let mut loaded = Loaded::default();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let request = || {
                let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
                ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params))
            };
            let page = match self.connection.request(request).await {
                Ok(result) => Page::read(result),
                Err(fault) => return Err(self.failed(RejectKind::Unavailable, list_fault(&target, fault))),
            };
            let Some(page) = page else {
                let reason =
                    format!("MCP server `{target}` answers `tools/list` with something else than tools");
                return Err(self.failed(RejectKind::Syntax, reason));
            };
            for entry in page.tools {
                if loaded.tools.len() + loaded.rejected.len() >= MAX_TOOLS {
                    let reason = format!(
                        "MCP server `{target}` lists more than {MAX_TOOLS} tools; the rest is left out"
                    );
                    loaded.rejected.push(Reject::source(&*self.source, RejectKind::TooLarge, reason));
                    return Ok(loaded);
                }
                match self.convert(entry) {
                    Ok(tool) => loaded.tools.push(tool),
                    Err(reject) => loaded.rejected.push(reject),
                }
            }
            match page.next_cursor {
                None => return Ok(loaded),
                next if next == cursor => {
                    let reason =
                        format!("MCP server `{target}` names the same next page twice; the rest is left out");
                    loaded.rejected.push(Reject::source(&*self.source, RejectKind::Syntax, reason));
                    return Ok(loaded);
                }
                next => cursor = next,
            }
        }
        let reason = format!(
            "MCP server `{target}` lists its tools on more than {MAX_PAGES} pages; the rest is left out"
        );
        loaded.rejected.push(Reject::source(&*self.source, RejectKind::TooLarge, reason));
        Ok(loaded)
    }

    fn convert(&self, entry: Result<WireTool, BrokenTool>) -> Result<toolcrib_model::Tool, Reject> {
        let reject = |name: Option<String>, reason| Reject {
            source: self.source.clone(),
            name: name.map(|name| clean(&name, MAX_SHOWN_NAME_CHARS)),
            kind: RejectKind::InvalidTool,
            reason,
        };
        let wire = entry.map_err(|broken| reject(broken.name, broken.reason))?;
        let name = wire.name.to_string();
        tool::convert(self.connection.source(), wire).map_err(|error| reject(Some(name), error.to_string()))
    }
}

#[async_trait]
impl ToolLoader for McpLoader {
    fn source(&self) -> &str {
        &self.source
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        Some(&self.connection.source().namespace)
    }

    async fn load(&self) -> Loaded {
        let source = self.connection.source();
        let deadline = Instant::now() + source.startup_timeout;
        // A server that does not start has the same time, and its own error says more.
        if let Err(error) = self.connection.session().await {
            return self.failed(RejectKind::Unavailable, error.to_string());
        }
        let span = span::request("tools/list", source);
        timeout_at(deadline, self.list().instrument(span.clone())).await.map_or_else(
            |_| {
                span::failed(&span, "timeout");
                let (target, seconds) = (source.target(), source.startup_timeout.as_secs_f32());
                let reason = format!("MCP server `{target}` did not list its tools within {seconds} s");
                self.failed(RejectKind::Unavailable, reason)
            },
            |listed| {
                listed.unwrap_or_else(|failed| {
                    span::failed(&span, "unavailable");
                    failed
                })
            },
        )
    }
}

fn list_fault(target: &str, fault: Fault) -> String {
    match fault {
        Fault::NoServer(error) => error.to_string(),
        Fault::Rpc(error) => {
            let message = clean(&error.message, MAX_ERROR_CHARS);
            format!("MCP server `{target}` answers `tools/list` with an error: {message}")
        }
        Fault::NotSent(reason) => format!("MCP server `{target}` cannot be reached: {reason}"),
        Fault::TurnedAway { reason, .. } => {
            format!("MCP server `{target}` refuses to list its tools: {reason}")
        }
        Fault::Lost { how, said } => format!("MCP server `{target}` {how} of `tools/list`{said}"),
    }
}

struct Page {
    tools: Vec<Result<WireTool, BrokenTool>>,
    next_cursor: Option<String>,
}

struct BrokenTool {
    name: Option<String>,
    reason: String,
}

impl Page {
    /// Reads a page tool by tool where rmcp could not read it as a whole, so that one broken tool hides no other.
    fn read(result: ServerResult) -> Option<Self> {
        if let ServerResult::ListToolsResult(page) = result {
            return Some(Self {
                tools: page.tools.into_iter().map(Ok).collect(),
                next_cursor: page.next_cursor,
            });
        }
        let page = serde_json::to_value(result).ok()?;
        let tools = page.get("tools")?.as_array()?.iter().map(read_tool).collect();
        let next_cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        Some(Self { tools, next_cursor })
    }
}

fn read_tool(tool: &Value) -> Result<WireTool, BrokenTool> {
    serde_json::from_value(tool.clone()).map_err(|error| BrokenTool {
        name: tool.get("name").and_then(Value::as_str).map(str::to_owned),
        reason: format!("not a tool as the protocol has it: {error}"),
    })
}
