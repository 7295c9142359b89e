//! Three replicas as programs, the proxy before them, and the server of their store.

use std::env;
use std::fs;
use std::future::pending;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_testkit::RoundRobin;

/// The number of replicas.
pub(super) const REPLICAS: usize = 3;

/// The time for a replica or the server of the store to be there.
const PATIENCE: Duration = Duration::from_mins(1);

/// The time between two attempts to start a replica, which fail while the store is away.
const BETWEEN_STARTS: Duration = Duration::from_millis(500);

/// The variable with the server that is restarted.
const SERVER: &str = "TOOLCRIB_TEST_POSTGRES_VICTIM";

/// The name of the module of the tools.
const MODULE: &str = "ledger";

/// The replicas and what they need.
pub(super) struct Cluster {
    replicas: Vec<tokio::sync::Mutex<Replica>>,
    proxy: RoundRobin,
    server: String,
    pub(super) http: HttpClient,
    folder: TempDir,
}

struct Replica {
    folder: PathBuf,
    address: SocketAddr,
    store: String,
    child: Option<Child>,
}

impl Cluster {
    /// Starts the replicas of an app for this number of clients.
    pub(super) async fn start(clients: usize) -> Result<Self> {
        let server =
            env::var(SERVER).with_context(|| format!("{SERVER} is not set; run `cargo xtask soak`"))?;
        let folder = tempfile::tempdir()?;
        let name = format!("soak_{}", std::process::id());
        query(&server, &format!("CREATE DATABASE {name}")).await?;
        let base = server.split('?').next().unwrap_or_default();
        let (base, _) = base.rsplit_once('/').context("a URL of a database")?;
        let store = format!("{base}/{name}");
        let app = app(&folder.path().join("effects.txt"), clients).to_string();
        let mut replicas = Vec::new();
        for number in 0..REPLICAS {
            let folder = folder.path().join(format!("replica-{number}"));
            fs::create_dir(&folder)?;
            fs::write(folder.join("app.yaml"), &app)?;
            for tool in TOOLS {
                fs::write(folder.join(format!("{tool}.json")), definition(tool).to_string())?;
            }
            let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
            let mut replica = Replica { folder, address, store: store.clone(), child: None };
            replica.start().await?;
            replicas.push(tokio::sync::Mutex::new(replica));
        }
        let mut addresses = Vec::new();
        for replica in &replicas {
            addresses.push(replica.lock().await.address);
        }
        let proxy = RoundRobin::start(addresses).await?;
        let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() })?;
        Ok(Self { replicas, proxy, server, http, folder })
    }

    /// Returns the URL of the proxy.
    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.proxy.address())
    }

    /// Returns the file to which the tools append.
    pub(super) fn effects(&self) -> PathBuf {
        self.folder.path().join("effects.txt")
    }

    /// Kills a replica and starts it again.
    pub(super) async fn kill(&self, number: usize) -> Result<()> {
        let replica = self.replicas.get(number % REPLICAS).context("a replica")?;
        let mut replica = replica.lock().await;
        if let Some(mut child) = replica.child.take() {
            child.kill().await?;
        }
        replica.start().await
    }

    /// Ends the server of the store, which is started again: in order, or as a power failure would.
    pub(super) async fn restart_store(&self, in_order: bool) -> Result<()> {
        let pid = "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)";
        let pid: i32 = query(&self.server, pid).await?.trim().parse().context("no process of the server")?;
        let pid = Pid::from_raw(pid).context("no process of the server")?;
        kill_process(pid, if in_order { Signal::INT } else { Signal::KILL })?;
        let begun = Instant::now();
        while query(&self.server, "SELECT 1").await.is_err() {
            ensure!(begun.elapsed() < PATIENCE, "the server of the store does not come back");
            pause(BETWEEN_STARTS).await;
        }
        Ok(())
    }
}

impl Replica {
    /// Starts the program until it serves: it does not start while its store is away.
    async fn start(&mut self) -> Result<()> {
        let begun = Instant::now();
        loop {
            match timeout(PATIENCE, self.attempt()).await.context("a replica does not listen")? {
                Ok(child) => {
                    self.child = Some(child);
                    return Ok(());
                }
                Err(error) if begun.elapsed() > PATIENCE => return Err(error),
                Err(_) => pause(BETWEEN_STARTS).await,
            }
        }
    }

    async fn attempt(&self) -> Result<Child> {
        let program =
            env::var_os("TOOLCRIB_BIN").context("TOOLCRIB_BIN is not set; run `cargo xtask soak`")?;
        let mut child = Command::new(program)
            .args(["serve", "app.yaml", "--http", &self.address.to_string()])
            .current_dir(&self.folder)
            .env("STORE_URL", &self.store)
            .env("XDG_CACHE_HOME", self.folder.join("cache"))
            .env("XDG_STATE_HOME", self.folder.join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().context("no standard error")?).lines();
        let mut said = String::new();
        while let Some(line) = lines.next_line().await? {
            if line.contains("http://") {
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Ok(child);
            }
            said.extend([line.as_str(), "\n"]);
        }
        bail!("a replica has ended: {said}")
    }
}

/// The tools: one without an effect, and two that append a line, one of which is asked about.
const TOOLS: [&str; 3] = ["price", "note", "order"];

fn definition(tool: &str) -> Value {
    let item = json!({"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]});
    let (description, risk) = match tool {
        "price" => ("What an item costs.", "low"),
        "note" => ("Notes an item.", "medium"),
        _ => ("Orders an item.", "medium"),
    };
    json!({MODULE: [{"name": tool, "description": description, "risk": risk, "parameters": item}]})
}

fn app(effects: &Path, clients: usize) -> Value {
    let file = |tool: &&str| json!({"type": "file", "path": format!("{tool}.json"), "engine": tool});
    let shell = |script: String| json!({"type": "command", "argv": ["sh", "-c", script, "sh", "{item}"]});
    // One write, so that no line is split.
    let append =
        |done: &str| shell(format!("printf '%s\\n' \"$1\" >> '{}' && echo \"{done} $1\"", effects.display()));
    let tokens = (0..clients).map(|number| json!({"name": format!("c{number}"), "token": token(number)}));
    json!({
        "store": "${STORE_URL}",
        "execution": {"scheduler": true},
        "tools": {
            "registry": TOOLS.iter().map(file).collect::<Vec<_>>(),
            "engines": {
                "price": shell("echo \"the price of $1\"".to_owned()),
                "note": append("noted"),
                "order": append("ordered"),
            },
            "capabilities": {"default_policy": "grant", "approve": [{"module": MODULE, "actions": ["order"]}]},
        },
        "serve": {
            "surface": "direct",
            "tokens": tokens.collect::<Vec<_>>(),
            "limits": {"requests_per_second": 100_000, "requests_at_once": 1024},
        },
    })
}

/// Returns the token of a client.
pub(super) fn token(client: usize) -> String {
    format!("the-token-of-client-{client}-for-the-soak")
}

/// Returns the rows of a statement.
async fn query(database: &str, sql: &str) -> Result<String> {
    let output = Command::new("psql")
        .args([database, "--quiet", "--no-psqlrc", "--tuples-only", "--no-align", "--command", sql])
        .output()
        .await
        .context("there is no `psql` here")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Waits for a time.
pub(super) async fn pause(time: Duration) {
    let _ = timeout(time, pending::<()>()).await;
}
