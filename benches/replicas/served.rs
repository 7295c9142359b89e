//! Processes that serve an app, the server of their store, and the requests of clients.

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_io::http::{HttpClient, HttpPolicy};

/// The bytes of the file whose text is behind a handle.
const FILE_BYTES: usize = 64 * 1024;

/// A rate that no bench reaches.
const CALLS: u32 = 100_000_000;

/// A call that is measured.
#[derive(Clone, Copy)]
pub(crate) enum Measured {
    /// It needs nothing that is shared.
    Local,
    /// Its rate is counted in the store.
    Counted,
    /// Its rate is counted too, and the rest of its result is in the store.
    Handle,
}

impl Measured {
    fn params(self) -> Value {
        match self {
            Self::Local => json!({"name": "hello__say_hello", "arguments": {"name": "Ada"}}),
            Self::Counted => json!({"name": "filesystem__stat", "arguments": {"path": "long.txt"}}),
            Self::Handle => json!({"name": "filesystem__read", "arguments": {"path": "long.txt"}}),
        }
    }
}

/// A process that serves the app.
pub(crate) struct Served {
    child: Child,
    url: String,
    http: reqwest::Client,
    _folder: TempDir,
}

impl Served {
    /// Starts a process on a store: the URL of a database, or a file of its own.
    pub(crate) fn start(store: Option<&str>) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let work = folder.path().join("work");
        fs::create_dir(&work)?;
        let line = "A line of a text that is too long for one answer, and is read by its handle.\n";
        fs::write(work.join("long.txt"), line.repeat(FILE_BYTES / line.len()))?;
        let app = json!({
            "store": store.unwrap_or("./tasks.db"),
            "app": {"workspace": "work"},
            "modules": {"hello": {}, "filesystem": {"limits": {"rate": {"calls": CALLS, "exact": true}}}},
            "tools": {"capabilities": {"default_policy": "grant"}},
            "serve": {
                "surface": "direct",
                "limits": {"requests_per_second": CALLS, "requests_at_once": 1024},
            },
        });
        fs::write(folder.path().join("app.yaml"), app.to_string())?;
        let program = std::env::var_os("TOOLCRIB_BIN").ok_or("TOOLCRIB_BIN is not set")?;
        let mut child = Command::new(program)
            .args(["serve", "app.yaml", "--http", "0"])
            .current_dir(folder.path())
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .env("XDG_STATE_HOME", folder.path().join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or("no standard error")?).lines();
        let mut said = String::new();
        let url = loop {
            let Some(line) = lines.next() else { return Err(format!("it does not serve: {said}").into()) };
            let line = line?;
            if let Some((_, address)) = line.split_once("http://") {
                break format!("http://{address}");
            }
            said.extend([line.as_str(), "\n"]);
        };
        std::thread::spawn(move || lines.for_each(drop));
        let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() })?;
        Ok(Self { child, url, http: http.reqwest_client().clone(), _folder: folder })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Makes a call, and returns the time that it took.
    pub(crate) async fn call(&self, measured: Measured) -> Result<Duration, Box<dyn Error + Send + Sync>> {
        let mut params = measured.params();
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        if let Some(params) = params.as_object_mut() {
            params.insert("_meta".to_owned(), meta);
        }
        let request = self
            .http
            .post(&self.url)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", params.get("name").and_then(Value::as_str).unwrap_or_default())
            .body(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string());
        let start = Instant::now();
        let response = request.send().await?;
        let status = response.status();
        let text = response.text().await?;
        let taken = start.elapsed();
        let is_handle = matches!(measured, Measured::Handle);
        if !status.is_success() || text.contains("\"isError\":true") || is_handle && !text.contains("r_") {
            return Err(format!("the call failed: {status}: {text}").into());
        }
        Ok(taken)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The URL of a new database on the server of the bench.
pub(crate) fn new_database() -> Result<String, Box<dyn Error>> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("bench_{}_{number}", std::process::id());
    query(&format!("CREATE DATABASE {name}"))?;
    let server = server()?;
    let (base, _) = server.rsplit_once('/').ok_or("a URL of a database")?;
    Ok(format!("{base}/{name}"))
}

fn server() -> Result<String, Box<dyn Error>> {
    let server = std::env::var("TOOLCRIB_TEST_POSTGRES");
    server.map_err(|_| "TOOLCRIB_TEST_POSTGRES is not set; run `cargo xtask bench replicas`".into())
}

/// Returns the rows of a statement.
pub(crate) fn query(sql: &str) -> Result<String, Box<dyn Error>> {
    let arguments = ["--quiet", "--no-psqlrc", "--tuples-only", "--no-align", "--command", sql];
    let output = Command::new("psql").arg(server()?).args(arguments).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
