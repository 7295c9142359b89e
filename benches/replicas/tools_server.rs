//! An MCP server with many tools, over standard input and output. It leaves a file when it is started.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    ErrorData, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServiceExt as _};
use serde_json::Value;
use toolcrib_bench::catalogue;

/// The number of tools.
pub(crate) const TOOLS: usize = 10_000;

/// The variable that turns a process into the server; its value is the path of the file.
pub(crate) const VARIABLE: &str = "TOOLCRIB_BENCH_TOOLS_SERVER";

#[derive(Clone)]
struct ManyTools(Arc<Vec<Tool>>);

impl ServerHandler for ManyTools {
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
        Ok(ListToolsResult::with_all_items(self.0.as_ref().clone()))
    }
}

/// Returns the path of the file if this process is to be the server.
pub(crate) fn wanted() -> Option<OsString> {
    std::env::var_os(VARIABLE)
}

/// Serves until the input ends.
pub(crate) fn serve(started: &OsString) -> Result<(), Box<dyn Error>> {
    fs::write(started, "")?;
    let tools = catalogue::tools(TOOLS).into_iter().filter_map(|tool| {
        let text = |key: &str| Some(tool.get(key)?.as_str()?.to_owned());
        let schema = tool.get("parameters").and_then(Value::as_object).cloned()?;
        Some(Tool::new(text("name")?, text("description")?, Arc::new(schema)))
    });
    let server = ManyTools(Arc::new(tools.collect()));
    crate::runtime()?.block_on(async {
        server.serve(rmcp::transport::stdio()).await?.waiting().await?;
        Ok(())
    })
}
