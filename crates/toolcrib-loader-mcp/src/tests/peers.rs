//! Servers that others publish, where the harness has installed them.

use std::path::PathBuf;

use serde_json::json;
use toolcrib_port::{ToolEngine as _, ToolLoader as _};

use super::{authorized, context, invoke};
use crate::{McpConnection, McpEngine, McpLoader, McpSource};

/// `TOOLCRIB_PEERS` names the folder that `cargo xtask test` installs the peers into. On a machine without npm this one
/// is not there, as the harness says.
#[tokio::test]
async fn server_everything_loads_and_answers_over_stdio() {
    let Some(peers) = std::env::var_os("TOOLCRIB_PEERS").map(PathBuf::from) else { return };
    let program = peers.join("npm/node_modules/.bin/mcp-server-everything");
    if !program.exists() {
        return;
    }
    let connection = McpConnection::new(McpSource::stdio("test", [program.to_str().unwrap(), "stdio"]));
    let loader = McpLoader::new(connection.clone());
    let engine = McpEngine::new(connection);

    let found = loader.load().await;
    assert_eq!(found.rejected, []);
    assert_eq!(
        found.tools.len(),
        19,
        "13 of its own, 6 for its resources, prompts and completions: {:?}",
        found.tools
    );
    let echo = invoke(&engine, authorized("echo", json!({"message": "hello"})), &context()).await;
    assert_eq!(echo.result, "Echo: hello", "{:?}", echo.error);
    engine.close().await;
}
