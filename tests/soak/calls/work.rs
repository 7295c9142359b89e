//! What is called, and what has to come of it.

use std::env::consts::EXE_SUFFIX;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolcrib_exec::{DenyAll, Executor, FlowSettings};
use toolcrib_loader_mcp::{McpConnection, McpEngine, McpLoader, McpSource};
use toolcrib_model::{ErrorKind, ToolCall, ToolResult};
use toolcrib_policy::Policy;
use toolcrib_port::{CallContext, ToolLoader as _};
use toolcrib_registry::ToolRegistry;

/// How many call side by side.
const WORKERS: u64 = 8;

/// One call in so many is cancelled, and one ends the server.
const OUT_OF: u64 = 100;

/// After how many calls a worker goes on in a new session.
const SESSION_CALLS: u64 = 50;

/// After which time a call that hangs is given up.
const GIVE_UP: Duration = Duration::from_millis(5);

/// The longest that any call may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The server and who calls it.
pub(crate) struct Work {
    executor: Arc<Executor>,
    pub(crate) calls: u64,
    pub(crate) cancelled: u64,
    pub(crate) crashes: u64,
}

/// How many calls a worker made.
#[derive(Default)]
struct Done {
    calls: u64,
    cancelled: u64,
    crashes: u64,
}

impl Work {
    /// Loads the server.
    pub(crate) async fn start() -> Result<Self> {
        let program = std::env::current_exe()?;
        let folder = program.ancestors().nth(2).context("this program has no folder")?;
        let server = folder.join(format!("hostile-server{EXE_SUFFIX}"));
        ensure!(server.is_file(), "{} is not there; run `cargo xtask soak`", server.display());
        let command = [server.to_str().context("the path is not UTF-8")?, "polite"];
        let connection = McpConnection::new(McpSource::stdio("server", command));
        let loader = Arc::new(McpLoader::new(connection.clone()));
        let engine = Arc::new(McpEngine::new(connection));
        let registry = ToolRegistry::new();
        registry.add_loader(loader.clone());
        let policy = Policy::new(&serde_json::from_value(json!({"default_policy": "grant"}))?, [])?;
        // A server that crashes so often would be left alone else, and hardly be called.
        let settings: FlowSettings = serde_json::from_value(json!({"source": {"breaker": {"failures": 0}}}))?;
        let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll))
            .with_flow(settings)
            .with_engine(loader.source(), engine);
        let loaded = executor.registry().refresh().await?;
        ensure!(loaded.rejected().is_empty(), "the server does not load: {:?}", loaded.rejected());
        Ok(Self { executor: Arc::new(executor), calls: 0, cancelled: 0, crashes: 0 })
    }

    /// Loads the tools again and has all workers call for a time.
    pub(crate) async fn round(&mut self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        let refreshed = self.executor.registry().refresh().await?;
        ensure!(refreshed.rejected().is_empty(), "the server no longer loads: {:?}", refreshed.rejected());
        let begun = self.calls;
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| tokio::spawn(work(self.executor.clone(), format!("{begun}-{worker}"), worker, end)))
            .collect();
        for worker in workers {
            let done = worker.await??;
            self.calls += done.calls;
            self.cancelled += done.cancelled;
            self.crashes += done.crashes;
        }
        Ok(())
    }

    pub(crate) async fn close(&self) {
        self.executor.close().await;
    }
}

/// Calls one tool after the other until the end.
async fn work(executor: Arc<Executor>, name: String, worker: u64, end: Instant) -> Result<Done> {
    let mut done = Done::default();
    while Instant::now() < end {
        let session = format!("{name}-{}", done.calls / SESSION_CALLS);
        let context = CallContext::new(session);
        // Each worker begins elsewhere, so that they do not all end the server at once.
        match (done.calls + worker * OUT_OF / WORKERS) % OUT_OF {
            7 => {
                cancel(&executor, context, done.cancelled).await?;
                done.cancelled += 1;
            }
            57 => {
                crash(&executor, &context).await?;
                done.crashes += 1;
            }
            _ => echo(&executor, &format!("{name} {}", done.calls), &context).await?,
        }
        done.calls += 1;
    }
    Ok(done)
}

/// A call that returns what it was given, unless the server ended meanwhile.
async fn echo(executor: &Arc<Executor>, text: &str, context: &CallContext) -> Result<()> {
    let answer = call(executor, "server.echo", text, context).await?;
    match answer.error {
        None => ensure!(answer.result == text, "{text:?} was answered with {}", answer.result),
        Some(error) if matches!(error.kind, ErrorKind::OutcomeUnknown | ErrorKind::Unavailable) => {}
        Some(error) => bail!("a call failed: {error}"),
    }
    Ok(())
}

/// A call that ends the server. Where others have ended it, and then its successor, in that very moment, the call was not
/// sent at all.
async fn crash(executor: &Arc<Executor>, context: &CallContext) -> Result<()> {
    let result = call(executor, "server.exit", "", context).await?;
    match result.error {
        Some(error) if matches!(error.kind, ErrorKind::OutcomeUnknown | ErrorKind::Unavailable) => Ok(()),
        Some(error) => bail!("a crash is told as {error}"),
        None => bail!("a call that ends the server has returned {}", result.result),
    }
}

/// A call that hangs and is given up, by its token or by its future.
async fn cancel(executor: &Arc<Executor>, context: CallContext, number: u64) -> Result<()> {
    if number.is_multiple_of(2) {
        let _ = timeout(GIVE_UP, call(executor, "server.hang", "", &context)).await;
        return Ok(());
    }
    let cancel = CancellationToken::new();
    let context = context.with_cancel(cancel.clone());
    let give_up = async {
        let _ = timeout(GIVE_UP, pending::<()>()).await;
        cancel.cancel();
    };
    let (given_up, ()) = tokio::join!(call(executor, "server.hang", "", &context), give_up);
    ensure!(given_up?.error.is_some(), "a call that hangs has returned");
    Ok(())
}

async fn call(executor: &Arc<Executor>, tool: &str, text: &str, context: &CallContext) -> Result<ToolResult> {
    let arguments = json!({"text": text}).as_object().cloned().unwrap_or_default();
    let called = executor.call(ToolCall::new(tool, arguments), context);
    timeout(PATIENCE, called).await.context("a call did not end")
}
