//! Two servers behind one executor: one that misbehaves, and its sibling.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tokio::time::{Instant, timeout};
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_loader_mcp::{McpConnection, McpEngine, McpLoader, McpSource, McpTransport};
use toolcrib_model::{ErrorKind, Secret, ToolCall, ToolError, ToolResult};
use toolcrib_policy::Policy;
use toolcrib_port::{CallContext, ToolEngine, ToolLoader};
use toolcrib_registry::{Snapshot, ToolRegistry};
use toolcrib_testkit::wait_until;

use super::resource_counts::ResourceCounts;
use crate::support::{PATIENCE, hostile_server};

/// How long a call of the sibling may take at the very most, whatever the other server does: far less than any deadline
/// that a test sets aside for the other.
const UNDISTURBED: Duration = Duration::from_secs(10);

/// How many tools a server has when nothing else is said.
pub(super) const TOOLS: usize = 3;

/// A server, and its loader and engine.
struct Server {
    loader: Arc<McpLoader>,
    engine: Arc<McpEngine>,
}

impl Server {
    fn new(folder: &Path, name: &str, mode: &str, change: impl FnOnce(McpSource) -> McpSource) -> Self {
        let log = folder.join(format!("{name}.log"));
        let command = [hostile_server(), mode.into(), log].map(|word| word.to_str().unwrap().to_owned());
        // By this variable the server and whatever it starts are found again.
        let env = BTreeMap::from([("HOSTILE_FOLDER".to_owned(), Secret::new(folder.to_str().unwrap()))]);
        let transport = McpTransport::Stdio { command: command.to_vec(), env, cwd: None, sandbox: None };
        let connection = McpConnection::new(change(McpSource::new(name, transport)));
        Self {
            loader: Arc::new(McpLoader::new(connection.clone())),
            engine: Arc::new(McpEngine::new(connection)),
        }
    }
}

/// The two servers, named `bad` and `calm`.
pub(super) struct Fixture {
    folder: TempDir,
    calm: Server,
    bad: Server,
    pub(super) registry: Arc<ToolRegistry>,
    executor: Arc<Executor>,
    before: ResourceCounts,
}

impl Fixture {
    /// Starts the sibling. The other server, which is in this mode, is not started yet.
    pub(super) async fn new(mode: &str) -> Self {
        Self::with(mode, |source| source).await
    }

    /// The same, with changes to the source.
    pub(super) async fn with(mode: &str, change: impl FnOnce(McpSource) -> McpSource) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let calm = Server::new(folder.path(), "calm", "polite", |source| source);
        let bad = Server::new(folder.path(), "bad", mode, change);
        let capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
        let policy = Policy::new(&capabilities, []).unwrap();
        let loaders: [Arc<dyn ToolLoader>; 2] = [calm.loader.clone(), bad.loader.clone()];
        let registry = Arc::new(ToolRegistry::new());
        for loader in loaders {
            registry.add_loader(loader);
        }
        let executor = Executor::new(registry.clone(), Arc::new(policy), Arc::new(DenyAll))
            .with_engine(calm.loader.source(), calm.engine.clone())
            .with_engine(bad.loader.source(), bad.engine.clone());
        let loaded = calm.loader.load().await;
        assert_eq!((loaded.tools.len(), loaded.rejected.len()), (TOOLS, 0), "{:?}", loaded.rejected);
        let before = ResourceCounts::settled(folder.path()).await;
        Self { folder, calm, bad, registry, executor: Arc::new(executor), before }
    }

    /// Loads both servers. The tools of the sibling are there.
    pub(super) async fn load(&self) -> Arc<Snapshot> {
        let snapshot = timeout(PATIENCE, self.registry.refresh()).await.expect("loading ends").unwrap();
        let calm = snapshot.iter().filter(|entry| entry.tool.name.namespace() == "calm").count();
        assert_eq!(calm, TOOLS);
        snapshot
    }

    /// Calls a tool, as `bad.echo`, with a text.
    pub(super) async fn call(&self, tool: &str, text: &str) -> ToolResult {
        self.call_with(tool, text, &CallContext::new("test")).await
    }

    pub(super) async fn call_with(&self, tool: &str, text: &str, context: &CallContext) -> ToolResult {
        let arguments = json!({"text": text}).as_object().cloned().unwrap();
        let called = self.executor.call(ToolCall::new(tool, arguments), context);
        timeout(PATIENCE, called).await.expect("a call ends")
    }

    /// Calls a tool of the bad server, which has to fail, while its sibling is called.
    pub(super) async fn fails(&self, tool: &str, context: &CallContext) -> ToolError {
        let (result, ()) = tokio::join!(self.call_with(tool, "anything", context), self.assert_undisturbed());
        result.error.unwrap_or_else(|| panic!("{tool} returned {}", result.result))
    }

    /// The same within a time, at which the call is given up.
    pub(super) async fn fails_at_deadline(&self, tool: &str, time: Duration) -> ToolError {
        let mut context = CallContext::new("test");
        context.deadline = Some(Instant::now() + time);
        let began = Instant::now();
        let error = self.fails(tool, &context).await;
        assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
        assert!(began.elapsed() >= time);
        error
    }

    /// The sibling answers, and promptly.
    pub(super) async fn assert_undisturbed(&self) {
        for text in ["one", "two", "three"] {
            let answer =
                timeout(UNDISTURBED, self.call("calm.echo", text)).await.expect("the sibling answers");
            assert_eq!(answer.result, text, "{:?}", answer.error);
        }
    }

    /// The lines of the bad server's log that contain this.
    pub(super) fn logged(&self, text: &str) -> Vec<String> {
        let log = fs::read_to_string(self.folder.path().join("bad.log")).unwrap_or_default();
        log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }

    /// Waits until the bad server has logged a line that contains this.
    pub(super) async fn assert_logs(&self, text: &str) {
        let look = || Ok((!self.logged(text).is_empty()).then_some(()));
        wait_until(text, PATIENCE, look).await.unwrap();
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Whatever happened to the bad server, at some time nothing of it is left, although nobody has closed it.
    pub(super) async fn assert_nothing_of_it_is_left(&self) {
        self.before.assert_no_more_is_held(self.folder()).await;
    }

    /// Closes the bad server: nothing of it is left, and the sibling serves on.
    pub(super) async fn close(self) {
        timeout(PATIENCE, self.bad.engine.close()).await.expect("closing ends");
        self.assert_nothing_of_it_is_left().await;
        self.assert_undisturbed().await;
        self.end().await;
    }

    /// Lets go of the bad server without closing it.
    pub(super) async fn let_go(self) {
        let Self { folder, calm, bad, registry, executor, before } = self;
        drop((bad, registry, executor));
        before.assert_no_more_is_held(folder.path()).await;
        calm.engine.close().await;
    }

    /// Ends the sibling too.
    async fn end(self) {
        self.calm.engine.close().await;
        let look = || Ok(toolcrib_testkit::processes_of(self.folder())?.is_empty().then_some(()));
        wait_until("the end of the sibling", PATIENCE, look).await.unwrap();
    }
}
