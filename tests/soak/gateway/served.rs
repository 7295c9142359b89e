//! The gateway as a program, and the servers behind it.

use std::env;
use std::fs;
use std::future::pending;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_testkit::{Process, descendants, wait_until};

use super::client::{Client, TOOLS};

/// How long a program may take to start or to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long a call may take, in seconds.
pub(super) const DEADLINE_SECONDS: u64 = 20;

/// How often a server that was killed is called until it answers, and how long nobody calls it between.
const TRIES: usize = 30;
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// What the command lines of the servers have, by which they are told from programs that only start them.
const SERVERS: [&str; 5] =
    ["server-everything", "server-filesystem", "server-memory", "mcp_server_time", "mcp_server_git"];

/// The OpenAPI documents that are served beside the servers, where the shared data is.
const DOCUMENTS: [&str; 2] =
    ["readmeio_oas_examples__3.0_json_star_trek.json", "twilio_twilio_oai__spec_json_twilio_studio_v2.json"];

pub(super) struct Served {
    child: tokio::sync::Mutex<Child>,
    id: u32,
    pub(super) address: SocketAddr,
    pub(super) folder: TempDir,
    pub(super) http: HttpClient,
}

impl Served {
    pub(super) async fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        write_app(folder.path())?;
        let mut child = Command::new(named("TOOLCRIB_BIN")?)
            .args(["serve", "app.yaml", "--http", "0"])
            .current_dir(folder.path())
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .env("XDG_STATE_HOME", folder.path().join("state"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let id = child.id().context("the gateway has no id")?;
        let mut lines = BufReader::new(child.stderr.take().context("no standard error")?).lines();
        let address = timeout(PATIENCE, async {
            while let Some(line) = lines.next_line().await? {
                if let Some((_, rest)) = line.split_once("http://") {
                    return Ok(rest.trim_end_matches("/mcp").parse()?);
                }
            }
            anyhow::bail!("the gateway has ended")
        });
        let address = address.await.context("the gateway does not listen")??;
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() })?;
        Ok(Self { child: tokio::sync::Mutex::new(child), id, address, folder, http })
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// The servers that run behind it.
    pub(super) fn behind(&self) -> Result<Vec<Process>> {
        let all = descendants(self.id)?;
        Ok(all
            .into_iter()
            .filter(|process| SERVERS.iter().any(|name| process.command.contains(name)))
            .collect())
    }

    /// Calls each server until it answers, so that all are there.
    pub(super) async fn rest(&self) -> Result<()> {
        let mut client = Client::new(self, u32::MAX, 0).await?;
        for tool in TOOLS {
            let mut tries = 0;
            while !client.call(tool).await? {
                tries += 1;
                ensure!(tries < TRIES, "`{tool}` does not come back");
                let _ = timeout(BETWEEN_TRIES, pending::<()>()).await;
            }
        }
        client.leave().await.map(drop)
    }

    /// Tells it to end, and looks that it does, and leaves nothing behind.
    pub(super) async fn end(&self) -> Result<()> {
        let family = descendants(self.id)?;
        let id = Pid::from_raw(self.id.try_into()?).context("the gateway has no id")?;
        kill_process(id, Signal::TERM)?;
        let status = timeout(PATIENCE, async { self.child.lock().await.wait().await }).await;
        let status = status.context("the gateway does not end")??;
        ensure!(status.success(), "the gateway ended with {status}");
        let look = || Ok((!family.iter().any(Process::is_alive)).then_some(()));
        wait_until("the end of all that it has started", PATIENCE, look).await
    }
}

/// Ends a process at once.
pub(super) fn kill(id: u32) -> Result<()> {
    let Some(id) = Pid::from_raw(id.try_into()?) else { return Ok(()) };
    match kill_process(id, Signal::KILL) {
        // It may have ended by itself.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Where a file is that says which client reads it.
pub(super) fn note(folder: &Path, client: usize) -> PathBuf {
    folder.join("work").join(format!("note-{client}.txt"))
}

fn named(variable: &str) -> Result<PathBuf> {
    env::var_os(variable)
        .map(PathBuf::from)
        .with_context(|| format!("{variable} is not set; run `cargo xtask soak`"))
}

fn write_app(folder: &Path) -> Result<()> {
    let work = folder.join("work");
    fs::create_dir(&work)?;
    for client in 0..super::CLIENTS {
        fs::write(note(folder, client), format!("for client {client}.\n"))?;
    }
    let made = std::process::Command::new("git").args(["init", "--quiet"]).current_dir(&work).status()?;
    ensure!(made.success(), "git could not make a repository");
    let peers = named("TOOLCRIB_PEERS")?;
    let npm = |name: &str| peers.join("npm/node_modules/.bin").join(format!("mcp-server-{name}"));
    let server = |namespace: &str, command: Value, env: Value| json!({"type": "mcp", "namespace": namespace, "command": command, "env": env, "startup_timeout_seconds": 60});
    let python = json!({"PYTHONPATH": peers.join("python")});
    let mut registry = vec![
        server("everything", json!([npm("everything"), "stdio"]), json!({})),
        server("filesystem", json!([npm("filesystem"), work]), json!({})),
        server("memory", json!([npm("memory")]), json!({"MEMORY_FILE_PATH": folder.join("memory.jsonl")})),
        server("time", json!(["python3", "-m", "mcp_server_time"]), python.clone()),
        server("git", json!(["python3", "-m", "mcp_server_git"]), python),
    ];
    if let Ok(shared) = named("TOOLCRIB_SHARED") {
        registry.extend(DOCUMENTS.iter().enumerate().map(|(number, name)| {
            json!({"type": "rest", "namespace": format!("api_{number}"), "spec": shared.join("data/openapi").join(name)})
        }));
    }
    let app = json!({
        "tools": {
            "registry": registry,
            "capabilities": {"default_policy": "grant"},
            "limits": {"source": {"timeout_seconds": DEADLINE_SECONDS, "queue": 1000}},
        },
        "serve": {
            "surface": "discovery",
            "limits": {"requests_per_second": 100_000, "requests_at_once": 1024},
        },
    });
    Ok(fs::write(folder.join("app.yaml"), app.to_string())?)
}
