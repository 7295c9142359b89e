//! An MCP server in a dozen lines of shell, and whatever else a test wants it to do.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::{McpConnection, McpEngine, McpLoader, McpSource};

/// Reads requests line by line. A script may define functions before it to do other than this:
/// `on_start`, `on_discover`, `on_list`, `on_call NAME`, `on_other`. The line is `$line`, what it is answered under `$id`.
const SKELETON: &str = r#"
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
fail() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"; }
text() { reply "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
tool() { printf '{"name":"%s","inputSchema":{"type":"object"}}' "$1"; }
CAPABILITIES='{"tools":{}}'
INSTRUCTIONS=
on_start() { :; }
on_discover() { fail -32601 'no such method'; }
on_list() { reply "{\"tools\":[$(tool one)]}"; }
on_call() { text "called $1"; }
on_other() { :; }
"#;

const LOOP: &str = r#"
echo "start $$" >> "$LOG"
on_start
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$LOG"
  id=${line#*\"id\":}; id=${id%%[!0-9]*}
  case $line in
    *'"method":"initialize"'*)
      reply "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":$CAPABILITIES,\"serverInfo\":{\"name\":\"sh\",\"version\":\"1\"}${INSTRUCTIONS}}" ;;
    *'"method":"server/discover"'*) on_discover ;;
    *'"method":"tools/list"'*) on_list ;;
    *'"method":"tools/call"'*) name=${line#*\"name\":\"}; on_call "${name%%\"*}" ;;
    *'"method":"notifications/'*) : ;;
    *) on_other ;;
  esac
done
"#;

/// A server that runs a script, the loader and the engine of it, and the log of what it was sent.
pub(super) struct ScriptServer {
    pub(super) connection: McpConnection,
    pub(super) loader: McpLoader,
    pub(super) engine: McpEngine,
    directory: TempDir,
}

impl ScriptServer {
    /// The usual server, with these functions instead of its own.
    pub(super) fn new(functions: &str) -> Self {
        Self::with(functions, |source| source)
    }

    /// The same, with changes to the source.
    pub(super) fn with(functions: &str, change: impl FnOnce(McpSource) -> McpSource) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = format!("LOG='{}'", directory.path().join("log").display());
        let script = directory.path().join("server.sh");
        fs::write(&script, [&log, SKELETON, functions, LOOP].join("\n")).unwrap();
        let source = change(McpSource::stdio("test", ["sh", script.to_str().unwrap()]));
        let connection = McpConnection::new(source);
        let loader = McpLoader::new(connection.clone());
        let engine = McpEngine::new(connection.clone());
        Self { connection, loader, engine, directory }
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The lines of the log that contain this.
    pub(super) fn logged(&self, text: &str) -> Vec<String> {
        let log = fs::read_to_string(self.path().join("log")).unwrap_or_default();
        log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }

    /// The process ids of all servers that were started.
    pub(super) fn process_ids(&self) -> Vec<u32> {
        self.logged("start ").iter().map(|line| line.trim_start_matches("start ").parse().unwrap()).collect()
    }
}

/// Whether the process runs. One that nobody has reaped yet does not.
pub(super) fn runs(process: u32) -> bool {
    if cfg!(target_os = "linux") {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        return stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'));
    }
    std::process::Command::new("kill")
        .args(["-0", &process.to_string()])
        .status()
        .is_ok_and(|status| status.success())
}
