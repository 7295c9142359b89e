//! The servers that are called directly and through the gateway.

use std::error::Error;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_io::process::Command;

/// A server, and a call that changes nothing.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) command: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

impl Peer {
    pub(crate) fn start(&self) -> Command {
        self.started(self.command.clone())
    }

    /// Returns the same with relays on both sides that forward all bytes unchanged.
    pub(crate) fn start_behind_relay(&self) -> Command {
        let relay = ["sh", "-c", "cat | \"$@\" | cat", "relay"].map(str::to_owned);
        self.started(relay.into_iter().chain(self.command.clone()).collect())
    }

    fn started(&self, words: Vec<String>) -> Command {
        let command = Command::new(words);
        self.environment.iter().fold(command, |command, (name, value)| command.with_env(*name, value))
    }
}

/// Returns the path in an environment variable.
pub(crate) fn named(variable: &str) -> Result<PathBuf, Box<dyn Error>> {
    let value = std::env::var_os(variable);
    value
        .map(PathBuf::from)
        .ok_or_else(|| format!("{variable} is not set; run `cargo xtask bench serve`").into())
}

/// Returns the path of a server program from npm.
pub(crate) fn npm(program: &str) -> Result<String, Box<dyn Error>> {
    Ok(named("TOOLCRIB_PEERS")?.join("npm/node_modules/.bin").join(program).display().to_string())
}

/// Returns all servers; this is their working folder.
pub(crate) fn all(folder: &TempDir) -> Result<Vec<Peer>, Box<dyn Error>> {
    let work = folder.path().join("work");
    std::fs::create_dir_all(&work)?;
    std::fs::write(work.join("note.txt"), "Ada wants a lamp.\n")?;
    let made = std::process::Command::new("git").args(["init", "--quiet"]).current_dir(&work).status()?;
    if !made.success() {
        return Err("git could not make a repository".into());
    }
    let packages = named("TOOLCRIB_PEERS")?.join("python").display().to_string();
    let python = |module: &str| ["python3", "-m", module].map(str::to_owned).to_vec();
    let path = |path: &Path| path.display().to_string();
    Ok(vec![
        Peer {
            name: "everything",
            command: vec![npm("mcp-server-everything")?, "stdio".into()],
            environment: Vec::new(),
            tool: "echo",
            arguments: json!({"message": "hello"}),
        },
        Peer {
            name: "filesystem",
            command: vec![npm("mcp-server-filesystem")?, path(&work)],
            environment: Vec::new(),
            tool: "read_text_file",
            arguments: json!({"path": path(&work.join("note.txt"))}),
        },
        Peer {
            name: "memory",
            command: vec![npm("mcp-server-memory")?],
            environment: vec![("MEMORY_FILE_PATH", path(&folder.path().join("memory.jsonl")))],
            tool: "read_graph",
            arguments: json!({}),
        },
        Peer {
            name: "time",
            command: python("mcp_server_time"),
            environment: vec![("PYTHONPATH", packages.clone())],
            tool: "get_current_time",
            arguments: json!({"timezone": "UTC"}),
        },
        Peer {
            name: "git",
            command: python("mcp_server_git"),
            environment: vec![("PYTHONPATH", packages)],
            tool: "git_status",
            arguments: json!({"repo_path": path(&work)}),
        },
    ])
}
