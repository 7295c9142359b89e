//! Sources: what they bring, what they may not, and when they are loaded again.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_exec::DenyAll;
use toolcrib_model::{JsonObject, ToolCall};
use toolcrib_port::CallContext;
use toolcrib_testkit::wait_until;

use super::start;
use crate::{App, Runtime};

#[tokio::test]
async fn a_source_that_is_down_does_not_stop_the_app() {
    let app = "
modules: {hello: {}}
tools:
  registry:
    - {type: file, path: no/such/file.yaml}
    - {type: mcp, command: [no-such-server], namespace: gone}
  capabilities: {default_policy: grant}
";
    let runtime = start(app).await;
    let sources: Vec<_> = runtime.snapshot().rejected().iter().map(|reject| reject.source.clone()).collect();
    assert_eq!(sources, ["file ./no/such/file.yaml", "mcp gone"]);
    let call = ToolCall::new("hello.say_hello", json!({"name": "Ada"}).as_object().unwrap().clone());
    assert!(runtime.executor().call(call, &CallContext::new("s")).await.is_ok());
    runtime.close().await;
}

#[tokio::test]
async fn tools_can_stand_in_the_app_file_itself() {
    let app = "
tools:
  registry:
    - type: inline
      namespace: desk
      engine: canned
      tools:
        - {name: ask, description: Asks the desk.}
        - {description: nameless}
  engines: {canned: {type: mock, default: yes}}
  capabilities: {default_policy: grant}
";
    let runtime = start(app).await;
    let call = ToolCall::new("desk.ask", JsonObject::new());
    assert_eq!(runtime.executor().call(call, &CallContext::new("s")).await.result, "yes");
    assert_eq!(runtime.snapshot().rejected()[0].reason, "app.yaml:9:11: the tool has no `name`");
}

#[tokio::test]
async fn a_tool_whose_name_holds_a_secret_is_not_loaded() {
    let app = App::from_text(
        "app.yaml",
        "
tools:
  registry:
    - {type: inline, namespace: desk, tools: [{name: ask_canary_5ab3}, {name: ask}]}
",
    )
    .unwrap();
    app.secrets().add("TOKEN", toolcrib_model::Secret::new("canary_5ab3"));
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    let snapshot = runtime.snapshot();
    assert!(snapshot.tool_names().all(|name| !name.name().contains("canary")));
    assert!(snapshot.tool_names().any(|name| name.dotted() == "desk.ask"));
    let rejected = &snapshot.rejected()[0];
    assert_eq!(rejected.name.as_deref(), Some("desk::ask_[secret TOKEN]"));
    assert!(rejected.reason.starts_with("its name holds a secret"), "{rejected:?}");
}

/// How soon a saved file has to be loaded again.
const RELOAD_TIME: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_saved_file_is_loaded_again_and_a_broken_save_keeps_the_tools() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools.yaml");
    std::fs::write(&tools, "- {name: one}\n").unwrap();
    let text = "tools: {registry: [{type: file, path: tools.yaml, watch: true}]}\n";
    std::fs::write(folder.path().join("app.yaml"), text).unwrap();
    let app = App::open(folder.path().join("app.yaml")).unwrap();
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    let registry = runtime.executor().registry();
    let mut changes = registry.subscribe();

    std::fs::write(&tools, "- {name: one}\n- {name: two}\n").unwrap();
    let change = tokio::time::timeout(RELOAD_TIME, changes.recv()).await.expect("loaded in time").unwrap();
    assert_eq!(change.added[0].dotted(), "default.two");

    let generation = registry.snapshot().generation();
    std::fs::write(&tools, "- {name: one\n").unwrap();
    let reloaded = || Ok((registry.snapshot().generation() > generation).then(|| registry.snapshot()));
    let snapshot = wait_until("the broken save", Duration::from_secs(10), reloaded).await.unwrap();
    assert_eq!(snapshot.tool_names().filter(|name| name.namespace() == "default").count(), 2);
    assert!(snapshot.rejected()[0].reason.contains("not valid YAML"), "{:?}", snapshot.rejected());
}

#[tokio::test]
async fn no_source_speaks_for_the_runtime_or_for_a_module() {
    let folder = tempfile::tempdir().unwrap();
    let tools = "- {name: execute_tool, namespace: context_builder}\n- {name: shout, namespace: hello}\n- {name: own}\n";
    std::fs::write(folder.path().join("tools.yaml"), tools).unwrap();
    let text = "modules: {hello: {}}\ntools: {registry: [{type: file, path: tools.yaml}]}\n";
    std::fs::write(folder.path().join("app.yaml"), text).unwrap();
    let app = App::open(folder.path().join("app.yaml")).unwrap();
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    let snapshot = runtime.snapshot();
    let rejected: Vec<_> = snapshot.rejected().iter().map(|reject| reject.name.as_deref().unwrap()).collect();
    assert_eq!(rejected, ["context_builder::execute_tool", "hello::shout"]);
    assert!(snapshot.find("default.own", |_| true).is_ok());
}
