//! The time until ten servers are ready that take a second each.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_bench::report::{Row, title};
use toolcrib_loader_mcp::tools::ToolsCache;
use toolcrib_loader_mcp::{McpConnection, McpLoader, McpSource, McpTransport};
use toolcrib_meta::Discovery;
use toolcrib_policy::{Capabilities, Effect, Policy, Principal};
use toolcrib_registry::ToolRegistry;

use crate::server;

const SERVERS: usize = 10;

/// The time limit for all of them together.
const BOUND: Duration = Duration::from_secs(2);

/// The time limit for the first search if the lists of tools are cached.
const SEARCH_BOUND: Duration = Duration::from_millis(50);

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title("ten servers that each take a second to start");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let folder = tempfile::tempdir()?;
        let cache = ToolsCache::new(folder.path());
        let start = Instant::now();
        let connections = load(&cache).await?.1;
        Row::new("all of them ready, without manifests", start.elapsed()).at_most(BOUND).print();
        for connection in &connections {
            connection.close().await;
        }

        let start = Instant::now();
        let (registry, _connections) = load(&cache).await?;
        let capabilities = Capabilities { default_policy: Effect::Grant, ..Capabilities::default() };
        let discovery = Discovery::new(&registry, Arc::new(Policy::new(&capabilities, [])?));
        let found = discovery
            .search("repeat a text", 5, Principal::new("bench"))
            .map_err(|error| error.to_string())?;
        Row::new("the first search, with manifests", start.elapsed()).at_most(SEARCH_BOUND).print();
        if found.results.is_empty() {
            return Err("the search found nothing".into());
        }
        Ok(())
    })
}

async fn load(cache: &ToolsCache) -> Result<(Arc<ToolRegistry>, Vec<McpConnection>), Box<dyn Error>> {
    let program = std::env::current_exe()?.display().to_string();
    let registry = Arc::new(ToolRegistry::new());
    let mut connections = Vec::new();
    for number in 0..SERVERS {
        let mut source = McpSource::stdio(format!("server_{number}"), [program.clone()]);
        if let McpTransport::Stdio { env, .. } = &mut source.transport {
            env.insert(server::VARIABLE.into(), toolcrib_model::Secret::new("1000"));
        }
        let connection = McpConnection::new(source.with_tools_cache(cache.clone()));
        registry.add_loader(Arc::new(McpLoader::new(connection.clone())));
        connections.push(connection);
    }
    let snapshot = registry.refresh().await?;
    if snapshot.iter().len() != SERVERS {
        return Err(format!("not all are there: {:?}", snapshot.rejected()).into());
    }
    Ok((registry, connections))
}
