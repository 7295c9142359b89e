//! An MCP server in a few lines of shell.

/// What a server does when nothing else is said: `on_start` before the first request, `on_call NAME` on a call, `list`
/// for its tools: one, `ask`, takes a text `what`.
const USUAL: &str = r#"
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { reply "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
on_start() { :; }
on_call() { text "$1 was called"; }
list() {
  reply '{"tools":[{"name":"ask","description":"Asks the team.","inputSchema":{"type":"object","properties":{"what":{"type":"string"}}}}]}'
}
"#;

const LOOP: &str = r#"
on_start
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[!0-9]*}
  case $line in
    *'"method":"initialize"'*)
      reply '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    *'"method":"tools/list"'*) list ;;
    *'"method":"tools/call"'*) name=${line#*\"name\":\"}; on_call "${name%%\"*}" ;;
  esac
done
"#;

/// The script of a server with these functions in place of the usual ones, to be run with `sh`.
pub(crate) fn mcp_script(functions: &str) -> String {
    [USUAL, functions, LOOP].concat()
}
