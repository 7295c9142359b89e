//! A call through the whole pipeline, compared with the same call on a bare `rmcp` client.
//!
//! Only the overhead of this project is measured. Everything else is the same on both sides: the runtime and its one
//! thread, the server program, the pipes or the HTTP client, the arguments, and the client information, which revision
//! 2026-07-28 has in every request and the server reads each time. Both have a deadline too, because a real client sets
//! one, and a timer alone adds some microseconds to a bare call. The sides alternate, also in their order, so that
//! disturbances and deferred work of the runtime affect all of them. The engine is also measured without the pipeline,
//! to show the cost of each part.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, JsonObject, ProtocolVersion,
    TASKS_EXTENSION_ID,
};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_exec::limits::DEFAULT_DEADLINE;
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_io::process::{Command, spawn};
use toolcrib_loader_mcp::{McpConnection, McpEngine, McpLoader, McpSource, McpTransport};
use toolcrib_model::ToolCall;
use toolcrib_policy::{Authorized, Call, Capabilities, Effect, Policy, Verdict};
use toolcrib_port::{CallContext, ToolEngine, ToolLoader};
use toolcrib_registry::{Snapshot, ToolRegistry};

use crate::server;

const CALLS: usize = 1_000;
const ROUNDS: usize = 8;

/// The orders of the three; each follows each other one equally often.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]];

/// The maximum ratio of the whole pipeline to the bare call.
const BOUND_TO_BARE: f64 = 1.1;

type Client = RunningService<RoleClient, ClientConfig>;

/// Measures calls over the pipes of a child process.
pub(crate) fn stdio() -> Result<(), Box<dyn Error>> {
    title("a call of an MCP tool over standard input and output");
    let program = std::env::current_exe()?.display().to_string();
    runtime()?.block_on(async {
        let mut source = McpSource::stdio("bench", [program.clone()]);
        if let McpTransport::Stdio { env, .. } = &mut source.transport {
            env.insert(server::VARIABLE.into(), toolcrib_model::Secret::new("0"));
        }
        let mut child = spawn(&Command::new([program.clone()]).with_env(server::VARIABLE, "0"), "bare")?;
        let (input, output) = (child.take_stdin(), child.take_stdout());
        let (Some(input), Some(output)) = (input, output) else { return Err("no pipes".into()) };
        let bare = open(AsyncRwTransport::new_client(output, input)).await?;
        compare(source, bare).await
    })
}

/// Measures calls over Streamable HTTP.
pub(crate) fn http() -> Result<(), Box<dyn Error>> {
    title("a call of an MCP tool over Streamable HTTP");
    runtime()?.block_on(async {
        let url = server::open_http()?;
        let mut source = McpSource::http("bench", &url);
        if let McpTransport::Http { allow_private, .. } = &mut source.transport {
            *allow_private = true;
        }
        let client = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() })?;
        let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
        let transport = StreamableHttpClientTransport::with_client(client.reqwest_client().clone(), config);
        compare(source, open(transport).await?).await
    })
}

fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Opens a bare client with the same client information as ours.
async fn open<T>(transport: T) -> Result<Client, Box<dyn Error>>
where
    T: rmcp::transport::Transport<RoleClient> + 'static,
{
    let mut capabilities = ClientCapabilities::default();
    capabilities.extensions = Some([(TASKS_EXTENSION_ID.to_owned(), JsonObject::new())].into());
    let info = ClientConfig::new(capabilities, Implementation::new("toolcrib", env!("CARGO_PKG_VERSION")));
    let newest = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    Ok(serve_client_with_lifecycle(info, transport, newest).await?)
}

async fn compare(source: McpSource, bare: Client) -> Result<(), Box<dyn Error>> {
    let connection = McpConnection::new(source);
    let loader = Arc::new(McpLoader::new(connection.clone()));
    let name = loader.source().to_owned();
    let registry = Arc::new(ToolRegistry::new());
    registry.add_loader(loader);
    let snapshot = registry.refresh().await?;
    if snapshot.iter().len() == 0 {
        return Err(format!("nothing was loaded: {:?}", snapshot.rejected()).into());
    }
    let capabilities = Capabilities { default_policy: Effect::Grant, ..Capabilities::default() };
    let policy = Arc::new(Policy::new(&capabilities, [])?);
    let engine = Arc::new(McpEngine::new(connection));
    let context = CallContext::new("bench");
    let arguments: JsonObject = json!({"text": "hello", "times": 3}).as_object().cloned().unwrap_or_default();
    let authorized = authorized(&snapshot, &policy, &context, &arguments)?;
    let executor = Executor::new(registry, policy, Arc::new(DenyAll));
    let executor = Arc::new(executor.with_engine(&name, Arc::clone(&engine) as Arc<dyn ToolEngine>));
    let [mut whole, mut part, mut alone] = [(); 3].map(|()| Timings::default());
    // The first round opens the connections.
    for round in 0..=ROUNDS {
        for order in ORDERS.iter().cycle().take(CALLS) {
            for side in order {
                let (taken, timings) = match side {
                    0 => (call(&executor, &context, &arguments).await?, &mut whole),
                    1 => (call_engine(&engine, &authorized, &context).await?, &mut part),
                    _ => (call_bare(&bare, &arguments).await?, &mut alone),
                };
                if round > 0 {
                    timings.add(taken);
                }
            }
        }
    }
    Row::new("a call, p50", whole.median()).at_most_times(BOUND_TO_BARE, alone.median()).print();
    Row::new("of that, the engine by itself, p50", part.median()).beside(alone.median()).print();
    Row::new("a call, p99", whole.percentile(99.0)).beside(alone.percentile(99.0)).print();
    executor.close().await;
    Ok(())
}

async fn call(
    executor: &Arc<Executor>,
    context: &CallContext,
    arguments: &JsonObject,
) -> Result<Duration, Box<dyn Error>> {
    let call = ToolCall::new("bench.echo", arguments.clone());
    let start = Instant::now();
    let result = black_box(executor.call(call, context).await);
    let taken = start.elapsed();
    if result.result != "hello" {
        return Err(format!("the call failed: {:?}", result.error).into());
    }
    Ok(taken)
}

/// Returns the call as the executor would pass it to the engine.
fn authorized(
    snapshot: &Snapshot,
    policy: &Policy,
    context: &CallContext,
    arguments: &JsonObject,
) -> Result<Authorized<Call>, Box<dyn Error>> {
    let entry = snapshot.iter().find(|entry| entry.tool.name.name() == "echo").ok_or("no tool `echo`")?;
    let mut call = Call::new(Arc::clone(&entry.tool), Arc::clone(&entry.source), snapshot.generation());
    call.arguments.clone_from(arguments);
    match policy.authorize(call, context.principal()) {
        Verdict::Granted(authorized) => Ok(authorized),
        _ => Err("the call is not granted".into()),
    }
}

async fn call_engine(
    engine: &McpEngine,
    call: &Authorized<Call>,
    context: &CallContext,
) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    let result = black_box(timeout(DEFAULT_DEADLINE, engine.invoke(call, context)).await?);
    let taken = start.elapsed();
    if result.result != "hello" {
        return Err(format!("the call failed: {:?}", result.error).into());
    }
    Ok(taken)
}

async fn call_bare(bare: &Client, arguments: &JsonObject) -> Result<Duration, Box<dyn Error>> {
    let params = CallToolRequestParams::new("echo").with_arguments(arguments.clone());
    let start = Instant::now();
    let answer = black_box(timeout(DEFAULT_DEADLINE, bare.call_tool(params)).await);
    let taken = start.elapsed();
    if answer??.content.is_empty() {
        return Err("the bare call brought nothing".into());
    }
    Ok(taken)
}
