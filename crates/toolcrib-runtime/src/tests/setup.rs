//! What `modules.<id>.setup` promises.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_app::{Blueprint, EntryContext, Extensions};
use toolcrib_exec::DenyAll;
use toolcrib_model::{ErrorKind, ToolCall, ToolError, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_sdk::{Lifecycle, Module, module};

use crate::Runtime;

/// What came to pass, in order.
type Log = Arc<Mutex<Vec<String>>>;

struct Store {
    log: Log,
}

/// Keeps things in a place that has to be opened.
#[module(id = "store")]
impl Store {
    /// Opens a place.
    #[tool(risk = "high", confirmation_required)]
    fn open(
        &self,
        context: &toolcrib_sdk::CallContext,
        /// Which one.
        place: String,
    ) -> Result<String, ToolError> {
        if place == "nowhere" {
            return Err(
                ToolError::new(ErrorKind::Unavailable, format!("there is no {place}")).with_hint("look")
            );
        }
        self.log.lock().push(format!("open {place} for {} {:?}", context.session, context.agent));
        Ok(place)
    }

    /// Puts a thing there.
    #[tool(risk = "low")]
    fn put(
        &self,
        /// The thing.
        thing: String,
        /// How many.
        #[serde(default)]
        count: u8,
    ) -> String {
        self.log.lock().push(format!("put {count} {thing}"));
        thing
    }
}

#[derive(Clone, Default)]
struct World {
    log: Log,
    closed: Arc<AtomicUsize>,
}

#[async_trait]
impl Lifecycle for World {
    async fn close(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }
}

impl World {
    fn extensions(&self) -> Extensions {
        let world = self.clone();
        Extensions::default().with_module(
            "store",
            move |_: toolcrib_modules::NoConfig, _: &EntryContext<'_>| {
                let module = Module::from(Store { log: Arc::clone(&world.log) });
                Ok(module.with_lifecycle(Arc::new(world.clone())))
            },
        )
    }

    fn app(&self, text: &str) -> Blueprint {
        Blueprint::from_text_with("app.yaml", text, self.extensions()).unwrap()
    }

    fn wrong(&self, text: &str) -> String {
        Blueprint::from_text_with("app.yaml", text, self.extensions()).unwrap_err().to_string()
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().clone()
    }
}

async fn call(runtime: &Runtime, name: &str, arguments: Value) -> ToolResult {
    let call = ToolCall::new(name, arguments.as_object().unwrap().clone());
    runtime.executor().call(call, &CallContext::new("s").with_agent("a")).await
}

const APP: &str = "
modules:
  store:
    setup:
      - {action: open, params: {place: '{{env.CARGO_PKG_NAME}}'}}
      - {action: put, params: {thing: cup, count: '2'}}
    constraints: {allowed_actions: [put]}
tools: {capabilities: {default_policy: approve, max_risk_level: medium, grant: [{module: store, actions: [put]}]}}
";

#[tokio::test]
async fn setup_runs_once_in_order_by_the_operator_before_any_agent_and_asks_nobody() {
    let world = World::default();
    let runtime = Runtime::start(world.app(APP), Arc::new(DenyAll)).await.unwrap();
    let opened = format!("open {} for setup None", env!("CARGO_PKG_NAME"));
    assert_eq!(world.log(), [opened.as_str(), "put 2 cup"]);
    assert!(call(&runtime, "store.put", json!({"thing": "jug"})).await.is_ok());
    let denied = call(&runtime, "store.open", json!({"place": "elsewhere"})).await.error.unwrap();
    assert_eq!(denied.kind, ErrorKind::Denied, "what setup may do, agents may not");
    runtime.executor().registry().refresh().await.unwrap();
    assert_eq!(world.log().len(), 3, "a refresh sets nothing up again");
    runtime.close().await;
    assert_eq!(world.closed.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn setup_is_recorded_with_the_place_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let world = World::default();
    let app = world.app(&format!("{APP}audit: {{path: '{}'}}\n", path.display()));
    Runtime::start(app, Arc::new(DenyAll)).await.unwrap().close().await;
    let text = std::fs::read_to_string(path).unwrap();
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<_> =
        records.iter().map(|record| (&record["tool"], &record["session"], &record["rule"])).collect();
    insta::assert_debug_snapshot!(said);
}

#[tokio::test]
async fn a_module_that_cannot_be_set_up_is_left_out_as_a_whole_and_alone() {
    let world = World::default();
    let text = "
modules:
  hello: {}
  store:
    setup:
      - {action: put, params: {thing: cup}}
      - {action: open, params: {place: nowhere}}
      - {action: put, params: {thing: jug}}
tools: {capabilities: {default_policy: grant}}
";
    let runtime = Runtime::start(world.app(text), Arc::new(DenyAll)).await.unwrap();
    assert_eq!(world.log(), ["put 0 cup"], "nothing runs behind what failed");
    assert_eq!(world.closed.load(Ordering::SeqCst), 1, "what was begun is ended");
    let snapshot = runtime.snapshot();
    insta::assert_json_snapshot!(snapshot.rejected());
    assert!(snapshot.iter().all(|entry| entry.tool.name.namespace() != "store"));
    assert!(call(&runtime, "hello.status", json!({})).await.is_ok());
    runtime.close().await;
}

#[tokio::test]
async fn an_app_that_is_only_looked_at_is_not_set_up() {
    let world = World::default();
    let mut app = world.app(APP);
    app.options.setup = false;
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    assert_eq!(world.log(), [] as [String; 0]);
    assert!(runtime.snapshot().iter().any(|entry| entry.tool.name.dotted() == "store.put"));
    runtime.close().await;
}

#[test]
fn a_mistake_in_setup_is_said_at_its_place_before_anything_starts() {
    let world = World::default();
    let setups = [
        "[{action: opn}]",
        "[{action: open}]",
        "[{acton: open}]",
        "[{action: open, params: [x]}]",
        "[{action: open, params: {plce: x}}]",
        "[{action: put, params: {thing: x, count: many}}]",
        "[{action: put, params: {thing: x}}, {action: put, params: {thing: [], count: -1}}]",
        "[{action: put, params: {thing: '{{secret.TOOLCRIB_NO_SUCH_VARIABLE}}'}}]",
        "[{action: put, params: {thing: x, count: '{{secret.CARGO_MANIFEST_DIR}}'}}]",
        "{action: open}",
    ];
    let mut messages: Vec<String> = setups
        .iter()
        .map(|setup| world.wrong(&format!("modules:\n  store:\n    setup: {setup}\n")))
        .collect();
    messages.push(world.wrong(
        "modules: {store: {setup: [{action: open, params: {place: x}}]}}\n\
         tools: {capabilities: {deny: [{module: store, actions: [open]}]}}",
    ));
    messages.push(world.wrong("modules: {hello: {setup: [{action: say_helo, params: {name: Ada}}]}}"));
    insta::assert_snapshot!(messages.join("\n"));
    assert_eq!(world.log(), [] as [String; 0]);
}

#[test]
fn a_setup_that_connects_to_an_mcp_server_is_refused_with_where_to_name_the_server() {
    let text =
        "modules: {mcp: {setup: [{action: connect, params: {server: a, url: 'https://a.example/mcp'}}]}}\n";
    insta::assert_snapshot!(super::wrong(text), @"app.yaml:1:17: the module `mcp` has no use for `setup`: a server that an action connects to belongs to one session, and no session of an agent would have it; name the server under `tools.registry`, as `{type: mcp, name: NAME, url: URL}`, for all of them");
}
