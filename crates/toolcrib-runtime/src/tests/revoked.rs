//! What is left of a client of the server whose token is taken out of the app file.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_app::{Blueprint, EntryContext, Extensions, TaskStore};
use toolcrib_exec::DenyAll;
use toolcrib_model::{ErrorKind, Risk, ToolCall, ToolError, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_sdk::{FunctionTool, Module};
use toolcrib_testkit::wait_until;

use crate::Runtime;

const CI: &str = "{name: ci, token: a-token-of-the-builds, namespaces: [hello, scheduler]}";
const DEVOPS: &str = "{name: devops, token: a-token-of-the-owner}";
const SESSION: &str = "serve/ci/1";

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A bank that counts its payments, and the folder of the app that has it.
struct World {
    folder: tempfile::TempDir,
    payments: Arc<AtomicUsize>,
}

impl World {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), payments: Arc::default() }
    }

    /// The app with these tokens.
    fn app(&self, tokens: &str) -> Blueprint {
        let payments = Arc::clone(&self.payments);
        let extensions = Extensions::default().with_module(
            "bank",
            move |_: toolcrib_modules::NoConfig, _: &EntryContext<'_>| {
                let payments = Arc::clone(&payments);
                let pay = FunctionTool::new("pay", "Pays.", move |_: Nothing, _| {
                    payments.fetch_add(1, Ordering::SeqCst);
                    async { Ok::<_, ToolError>(json!("paid")) }
                });
                Ok(Module::new("bank", "A bank.").with_tool(pay.with_risk(Risk::Low)))
            },
        );
        let file = self.folder.path().join("app.yaml");
        let text = format!(
            "
modules: {{bank: {{}}, hello: {{}}, scheduler: {{}}}}
store: tasks.db
tools: {{capabilities: {{default_policy: grant}}}}
serve: {{tokens: [{tokens}]}}
"
        );
        fs::write(&file, text).unwrap();
        let mut app = Blueprint::open_with(Path::new(&file), extensions).unwrap();
        app.options.tasks = TaskStore::Resident;
        app
    }

    async fn start(&self, tokens: &str) -> Runtime {
        Runtime::start(self.app(tokens), Arc::new(DenyAll)).await.unwrap()
    }

    fn paid(&self) -> usize {
        self.payments.load(Ordering::SeqCst)
    }
}

async fn call(runtime: &Runtime, session: &str, name: &str, arguments: Value) -> ToolResult {
    let call = ToolCall::new(name, arguments.as_object().unwrap().clone());
    runtime.executor().call(call, &CallContext::new(session)).await
}

fn by(tool: &str, params: &Value) -> Value {
    json!({"when": "in 1s", "action": {"type": "tool_call", "tool": tool, "params": params}})
}

#[tokio::test]
async fn a_call_that_a_schedule_would_forward_is_judged_when_the_schedule_is_made() {
    let world = World::new();
    let runtime = world.start(&format!("{CI}, {DEVOPS}")).await;
    let pay = json!({"name": "bank.pay", "params": {}});
    let greet = json!({"name": "hello.say_hello", "params": {"name": "Ada"}});
    for (tool, params) in [
        ("bank.pay", json!({})),
        ("execute_tool", pay.clone()),
        ("run_parallel", json!({"calls": [greet, pay]})),
        ("execute_tool", json!({"name": "run_parallel", "params": {"calls": [pay]}})),
    ] {
        let made = call(&runtime, SESSION, "scheduler.schedule_once", by(tool, &params)).await;
        assert_eq!(made.error.map(|error| error.kind), Some(ErrorKind::Denied), "{tool} {params}");
    }
    // The owner's is made and runs.
    let made = call(&runtime, "serve/devops/1", "scheduler.schedule_once", by("execute_tool", &pay)).await;
    assert_eq!(made.error, None);
    wait_until("the payment", Duration::from_secs(20), || Ok((world.paid() == 1).then_some(())))
        .await
        .unwrap();
    runtime.close().await;
}

/// Waits until the runs that are due have ended, and gives what came of each.
async fn outcomes(runtime: &Runtime, count: usize) -> Vec<String> {
    let mut ended = Vec::new();
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    for _ in 0..400 {
        looks.tick().await;
        let all = json!(runtime.tasks().list().await);
        ended = all
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|task| Some(task["last_run"]["outcome"].as_str()?.to_owned()))
            .filter(|outcome| outcome != "running")
            .collect();
        if ended.len() == count {
            return ended;
        }
    }
    panic!("only {ended:?} have ended")
}

async fn schedule(runtime: &Runtime) {
    let greet = json!({"name": "hello.say_hello", "params": {"name": "Ada"}});
    for (tool, params) in [("hello.say_hello", json!({"name": "Ada"})), ("execute_tool", greet)] {
        let made = call(runtime, SESSION, "scheduler.schedule_once", by(tool, &params)).await;
        assert_eq!(made.error, None);
    }
}

#[tokio::test]
async fn a_client_that_is_taken_out_of_the_app_has_nothing_run_any_more_after_a_reload() {
    let world = World::new();
    let earlier = world.start(&format!("{CI}, {DEVOPS}")).await;
    schedule(&earlier).await;
    let runtime = earlier.successor(world.app(DEVOPS), Arc::new(DenyAll)).await.unwrap();
    assert_eq!(outcomes(&runtime, 2).await, ["failed", "failed"]);
    assert!(
        runtime.executor().tool_caller().catalogue().visible_tools(&CallContext::new(SESSION)).is_empty()
    );
    let refused = call(&runtime, SESSION, "bank.pay", json!({})).await;
    assert_eq!(refused.error.unwrap().kind, ErrorKind::Denied);
    assert_eq!(world.paid(), 0);
    runtime.close().await;
}

#[tokio::test]
async fn a_client_that_is_taken_out_of_the_app_has_nothing_run_any_more_after_a_restart() {
    let world = World::new();
    let earlier = world.start(&format!("{CI}, {DEVOPS}")).await;
    schedule(&earlier).await;
    earlier.close().await;
    // Nor where the app has no clients at all any more, and whoever is on this machine comes in.
    let runtime = world.start("").await;
    assert_eq!(outcomes(&runtime, 2).await, ["failed", "failed"]);
    assert_eq!(call(&runtime, "serve/local/1", "bank.pay", json!({})).await.error, None);
    runtime.close().await;
}
