//! The time until a new replica is ready with the catalogue that another one has published: the tools, the search by words,
//! and the vectors. It contacts no source, and embeds nothing.
//!
//! Each replica is a separate process with a cache folder of its own, as on another machine.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_app::Blueprint;
use toolcrib_bench::report::{Row, title};
use toolcrib_exec::DenyAll;
use toolcrib_runtime::Runtime;
use toolcrib_search::embedding::Embeddings;

use crate::served::new_database;
use crate::tools_server::{self, TOOLS};

/// The time in which the catalogue is taken over.
const BOUND: Duration = Duration::from_millis(300);

/// The number of replicas that take it over, of which the median counts.
const REPLICAS: usize = 5;

/// The variable that turns a process into a replica; its value is the URL of the store.
const VARIABLE: &str = "TOOLCRIB_BENCH_REPLICA";

/// The variable with the path of the file that the server leaves.
const STARTED: &str = "TOOLCRIB_BENCH_STARTED";

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title(&format!("a catalogue of {TOOLS} tools in a new replica"));
    let store = new_database()?;
    let folder = tempfile::tempdir()?;
    let started = folder.path().join("started");
    let first = replica(&store, &started)?;
    if !started.exists() {
        return Err("the first replica did not contact the source".into());
    }
    std::fs::remove_file(&started)?;
    let mut times = Vec::new();
    for _ in 0..REPLICAS {
        times.push(replica(&store, &started)?);
    }
    if started.exists() {
        return Err("a later replica contacted the source".into());
    }
    times.sort_unstable();
    let median = times.get(REPLICAS / 2).copied().ok_or("no replica")?;
    Row::new("the first replica, which contacts the source", first).print();
    Row::new("a later one, which takes the catalogue over, median", median).at_most(BOUND).print();
    Ok(())
}

/// Measures in another process.
fn replica(store: &str, started: &Path) -> Result<Duration, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let output = Command::new(std::env::current_exe()?)
        .env(VARIABLE, store)
        .env(STARTED, started)
        .env("XDG_CACHE_HOME", folder.path().join("cache"))
        .env("XDG_STATE_HOME", folder.path().join("state"))
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let nanoseconds =
        text.trim().parse().map_err(|_| format!("a replica failed: {}: {text}", output.status))?;
    Ok(Duration::from_nanos(nanoseconds))
}

/// Returns the URL of the store if this process is a replica.
pub(crate) fn wanted() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// Measures, and prints nanoseconds.
#[expect(clippy::print_stdout, reason = "the bench reads it")]
pub(crate) fn measure(store: &str) -> Result<(), Box<dyn Error>> {
    let server = std::env::current_exe()?;
    let app = json!({
        "store": store,
        "tools": {
            "registry": [{
                "type": "mcp", "namespace": "shop", "command": [server],
                "env": {tools_server::VARIABLE: std::env::var(STARTED)?},
                "startup_timeout_seconds": 60,
            }],
            "capabilities": {"default_policy": "grant"},
        },
    });
    crate::runtime()?.block_on(async {
        let blueprint = Blueprint::from_text("app.yaml", &app.to_string())?;
        let start = Instant::now();
        let runtime = Runtime::start(blueprint, Arc::new(DenyAll)).await?;
        let (snapshot, embeddings) = loop {
            let snapshot = runtime.snapshot();
            let embeddings = snapshot.artifacts().get::<Embeddings>(Embeddings::KEY);
            // The server is contacted in the background if there is no catalogue yet.
            if snapshot.iter().len() >= TOOLS
                && let Some(embeddings) = embeddings
            {
                break (snapshot, embeddings);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        embeddings.finished().await;
        let time = start.elapsed();
        if let Some(degraded) = embeddings.degraded() {
            return Err(degraded.into());
        }
        drop(snapshot);
        runtime.close().await;
        println!("{}", time.as_nanos());
        Ok(())
    })
}
