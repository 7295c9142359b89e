//! Tests of overrides: applying, following, and naming them.

use async_trait::async_trait;
use parking_lot::Mutex as SyncMutex;
use toolcrib_model::{LoadOutcome, QualifiedName, Tool};
use toolcrib_policy::{Capabilities, Effect};

use super::*;

/// A source that has no tools while it is suspended.
struct TestSource {
    name: &'static str,
    namespace: Option<&'static str>,
    tools: &'static [(&'static str, &'static str)],
    /// The calls of `set_suspended`.
    suspensions: SyncMutex<Vec<bool>>,
}

impl TestSource {
    fn new(
        name: &'static str,
        namespace: Option<&'static str>,
        tools: &'static [(&'static str, &'static str)],
    ) -> Arc<Self> {
        Arc::new(Self { name, namespace, tools, suspensions: SyncMutex::default() })
    }
}

#[async_trait]
impl ToolLoader for TestSource {
    fn source(&self) -> &str {
        self.name
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        self.namespace
    }

    async fn load(&self) -> LoadOutcome {
        let is_suspended = self.suspensions.lock().last() == Some(&true);
        let tools = self.tools.iter().filter(|_| !is_suspended);
        let tools = tools.map(|(namespace, name)| Tool::new(QualifiedName::new(*namespace, *name).unwrap()));
        LoadOutcome { tools: tools.collect(), rejected: Vec::new() }
    }

    async fn set_suspended(&self, is_suspended: bool) {
        self.suspensions.lock().push(is_suspended);
    }
}

/// An app with a server, a file, and a tool of the runtime.
struct TestApp {
    team: Arc<TestSource>,
    registry: Arc<ToolRegistry>,
    overrides: Arc<ActiveOverrides>,
}

impl TestApp {
    async fn start(location: Option<StoreLocation>) -> Self {
        let team = TestSource::new("mcp team", Some("team"), &[("team", "ask"), ("team", "tell")]);
        let others = [
            TestSource::new("file notes.yaml", None, &[("notes", "search")]),
            TestSource::new("runtime", None, &[(toolcrib_policy::RUNTIME_NAMESPACE, "search_tools")]),
        ];
        let registry = Arc::new(ToolRegistry::new());
        let granted = Capabilities { default_policy: Effect::Grant, ..Capabilities::default() };
        let policy = Arc::new(Policy::new(&granted, []).unwrap());
        let loaders = [Arc::clone(&team)].into_iter().chain(others);
        let loaders: Vec<_> = loaders.map(|source| source as Arc<dyn ToolLoader>).collect();
        let store = (location, TaskStore::Resident);
        let overrides = ActiveOverrides::open(store, (&registry, &policy), &loaders).await.unwrap();
        for loader in loaders {
            registry.add_loader(loader);
        }
        registry.refresh().await.unwrap();
        Self { team, registry, overrides }
    }

    async fn disabled(&self, text: &str) -> String {
        self.overrides.disable(text).await.map_or_else(|error| error.to_string(), |target| target.id())
    }

    async fn enabled(&self, text: &str) -> String {
        self.overrides.enable(text).await.map_or_else(|error| error.to_string(), |target| target.id())
    }

    fn is_usable(&self, tool: &str) -> bool {
        let snapshot = self.registry.snapshot();
        let policy = &self.overrides.policy;
        snapshot
            .find(tool, |entry| policy.is_visible(&entry.tool, "s"))
            .is_ok_and(|found| found.first().is_some_and(|entry| policy.is_visible(&entry.tool, "s")))
    }
}

#[tokio::test]
async fn a_text_means_a_source_a_namespace_or_a_tool_in_any_spelling() {
    let app = TestApp::start(None).await;
    for (text, target) in [
        ("mcp team", "source:mcp team"),
        ("notes", "namespace:notes"),
        ("notes.search", "tool:notes.search"),
        ("notes__search", "tool:notes.search"),
        ("notes::search", "tool:notes.search"),
        ("tool:gone.by", "tool:gone.by"),
        ("gone.by", "tool:gone.by"),
    ] {
        assert_eq!(app.disabled(text).await, target, "{text}");
    }
    let own = "the runtime's own tools reach others only through the gate, and are not disabled";
    for text in ["context_builder", "search_tools", "runtime"] {
        assert_eq!(app.disabled(text).await, own, "{text}");
    }
    assert_eq!(
        app.disabled("note.search").await,
        "there is no tool, namespace or source `note.search`; did you mean `notes.search`?"
    );
    assert_eq!(app.disabled("xyzzy").await, "there is no tool, namespace or source `xyzzy`");
}

#[tokio::test]
async fn a_tool_of_a_disabled_namespace_is_enabled_as_an_exception() {
    let app = TestApp::start(None).await;
    assert_eq!(app.enabled("notes.search").await, "tool `notes.search` is not disabled");
    app.disabled("notes").await;
    assert!(!app.is_usable("notes.search"));
    assert_eq!(
        app.overrides.disabling("notes__search"),
        Some(("namespace:notes".parse().unwrap(), Some("notes.search".to_owned())))
    );
    assert_eq!(app.enabled("notes.search").await, "tool:notes.search");
    assert!(app.is_usable("notes.search"));
    assert_eq!(app.overrides.disabling("notes.search"), None);
    let exception: OverrideTarget = "tool:notes.search".parse().unwrap();
    app.overrides.remove(&exception).await.unwrap();
    assert!(!app.is_usable("notes.search"));
    let error = app.overrides.remove(&exception).await.unwrap_err().to_string();
    assert_eq!(error, "tool `notes.search` has no override; it may have been removed since");
}

#[tokio::test]
async fn a_disabled_source_is_suspended_before_it_is_loaded_until_one_of_its_tools_is_enabled() {
    let folder = tempfile::tempdir().unwrap();
    let location = Some(StoreLocation::File(folder.path().join("store.db")));
    let first = TestApp::start(location.clone()).await;
    assert_eq!(first.disabled("team").await, "namespace:team");
    assert_eq!(*first.team.suspensions.lock(), [true]);
    first.overrides.close().await;

    let second = TestApp::start(location).await;
    assert_eq!(*second.team.suspensions.lock(), [true]);
    assert!(second.registry.snapshot().find("team.ask", |_| true).is_err(), "it was not loaded");
    assert_eq!(second.overrides.disabling("team.ask"), Some(("namespace:team".parse().unwrap(), None)));
    let mut changes = second.registry.subscribe();
    assert_eq!(second.enabled("team.ask").await, "tool:team.ask", "its name need not be known");
    assert_eq!(*second.team.suspensions.lock(), [true, false]);
    changes.recv().await.unwrap();
    assert!(second.is_usable("team.ask") && !second.is_usable("team.tell"));
    second.overrides.close().await;
}

#[tokio::test]
async fn a_process_follows_the_overrides_of_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let location = Some(StoreLocation::File(folder.path().join("store.db")));
    // A store that is created later is not followed.
    let changing = TestApp::start(location.clone()).await;
    changing.overrides.use_profile(Some("review")).await.unwrap();
    let following = TestApp::start(location).await;
    assert_eq!(following.overrides.policy.overrides().profile.as_deref(), Some("review"));
    let mut changes = following.overrides.subscribe();
    assert_eq!(changing.disabled("notes.search").await, "tool:notes.search");
    changes.changed().await.unwrap();
    assert!(!following.is_usable("notes.search"));
    changing.overrides.close().await;
    following.overrides.close().await;
}
