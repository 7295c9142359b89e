//! The tools of an MCP server, which is a shell script here.

use toolcrib::mcp::{McpConnection, McpEngine, McpLoader, McpSource};
use toolcrib::port::{ToolEngine as _, ToolLoader as _};

const SERVER: &str = r#"
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[!0-9]*}
  case $line in
    *'"method":"initialize"'*)
      reply '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    *'"method":"tools/list"'*)
      reply '{"tools":[{"name":"ask","description":"Asks the team.","inputSchema":{"type":"object"}}]}' ;;
  esac
done
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let connection = McpConnection::new(McpSource::stdio("team", ["sh", "-c", SERVER]));
    let loader = McpLoader::new(connection.clone());
    let engine = McpEngine::new(connection);
    let loaded = loader.load().await;
    assert!(loaded.rejected.is_empty(), "{:?}", loaded.rejected);
    assert_eq!(loaded.tools[0].name.dotted(), "team.ask");
    engine.close().await;
}
