//! A server with one tool, over standard input and output or over HTTP.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServiceExt as _};
use serde_json::json;
use tokio::net::TcpListener;

/// The variable that turns a process into the server; its value is the startup time in milliseconds.
pub(crate) const VARIABLE: &str = "TOOLCRIB_BENCH_MCP_SERVER";

/// Repeats what it is given.
#[derive(Clone)]
pub(crate) struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::default();
        config.capabilities = ServerCapabilities::builder().enable_tools().build();
        config
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({
            "type": "object",
            "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
            "required": ["text"],
        });
        let schema = Arc::new(schema.as_object().cloned().unwrap_or_default());
        Ok(ListToolsResult::with_all_items(vec![Tool::new("echo", "Repeats a text.", schema)]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.as_ref().and_then(|arguments| arguments.get("text")?.as_str());
        Ok(CallToolResult::success(vec![ContentBlock::text(text.unwrap_or_default())]).into())
    }
}

/// Returns the startup time if this process is to be the server.
pub(crate) fn wanted() -> Option<Duration> {
    let delay = std::env::var(VARIABLE).ok()?.parse().ok()?;
    Some(Duration::from_millis(delay))
}

/// Serves until the input ends.
pub(crate) fn serve(delay: Duration) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::time::sleep(delay).await;
        Echo.serve(rmcp::transport::stdio()).await?.waiting().await?;
        Ok(())
    })
}

/// Starts the same server on a free port, in a thread that ends with the program.
pub(crate) fn open_http() -> Result<String, Box<dyn Error>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let sessions = Arc::new(LocalSessionManager::default());
            let service =
                StreamableHttpService::new(|| Ok(Echo), sessions, StreamableHttpServerConfig::default());
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let url = format!("http://{}/mcp", listener.local_addr()?);
            // Sending fails only if the bench has ended.
            let _ = sender.send(url);
            axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await
        })
    });
    Ok(receiver.recv()?)
}
