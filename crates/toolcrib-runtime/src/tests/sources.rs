//! Sources: what they bring, what they may not, and when they are loaded again.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_app::Blueprint;
use toolcrib_exec::DenyAll;
use toolcrib_model::{JsonObject, ToolCall};
use toolcrib_port::CallContext;
use toolcrib_testkit::wait_until;

use super::start;
use crate::Runtime;

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
    let app = Blueprint::from_text(
        "app.yaml",
        "
tools:
  registry:
    - {type: inline, namespace: desk, tools: [{name: ask_canary_5ab3}, {name: ask}]}
",
    )
    .unwrap();
    app.app.secrets().add("TOKEN", toolcrib_model::Secret::new("canary_5ab3"));
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
    let app = Blueprint::open(folder.path().join("app.yaml")).unwrap();
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
    let app = Blueprint::open(folder.path().join("app.yaml")).unwrap();
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    let snapshot = runtime.snapshot();
    let rejected: Vec<_> = snapshot.rejected().iter().map(|reject| reject.name.as_deref().unwrap()).collect();
    assert_eq!(rejected, ["context_builder::execute_tool", "hello::shout"]);
    assert!(snapshot.find("default.own", |_| true).is_ok());
}

#[tokio::test]
async fn an_unset_variable_disables_its_source_and_not_the_app() {
    let app = "
modules: {hello: {}}
tools:
  registry:
    - {type: mcp, name: crm, command: [crm], env: {TOKEN: '${TOOLCRIB_NOT_SET}'}}
    - {type: inline, namespace: shop, engine: shop, tools: [{name: sell}]}
    - {type: inline, namespace: desk, engine: canned, tools: [{name: ask}, {name: steal, namespace: mcp_crm}]}
  engines:
    shop: {type: command, argv: [shop], env: {KEY: '${TOOLCRIB_NOT_SET_EITHER}'}}
    canned: {type: mock, default: 1}
";
    let runtime = start(app).await;
    let snapshot = runtime.snapshot();
    assert!(snapshot.find("hello.status", |_| true).is_ok());
    assert!(snapshot.find("desk.ask", |_| true).is_ok());
    let of = |source: &str| {
        snapshot.rejected().iter().find(|reject| reject.source == source).unwrap().reason.clone()
    };
    let reason = of("mcp mcp_crm");
    assert!(
        reason.starts_with("app.yaml:5:52: the environment variable `TOOLCRIB_NOT_SET` is not set"),
        "{reason}"
    );
    assert!(of("inline shop").contains("`TOOLCRIB_NOT_SET_EITHER` is not set"));
    let stolen = of("inline desk");
    assert!(stolen.contains("belongs to mcp mcp_crm"), "no other source acts under its name: {stolen}");
    runtime.close().await;
}

#[tokio::test]
async fn a_template_word_that_no_parameter_fills_rejects_its_tool() {
    let text = "
tools:
  registry:
    - type: inline
      namespace: disk
      engine: rm
      tools:
        - {name: wipe, parameters: {type: object, properties: {place: {type: string}}}}
        - {name: open, parameters: {type: object, additionalProperties: true}}
        - {name: any}
  engines: {rm: {type: command, argv: [echo, rm, '/data/{plaec}']}}
";
    let (snapshot, _) = Blueprint::from_text("app.yaml", text).unwrap().load_local_sources().await;
    let rejected: Vec<String> = snapshot.rejected().iter().map(ToString::to_string).collect();
    assert_eq!(
        rejected,
        [
            "inline disk: disk::wipe: in the command of `wipe`: `{plaec}` is not one of the `parameters`, did you mean `{place}`?"
        ]
    );
    assert_eq!(snapshot.iter().len(), 2, "tools whose arguments are open may be given it");
}

#[tokio::test]
async fn a_source_without_engine_and_access_that_nothing_enforces_are_warnings() {
    let text = "
tools:
  registry:
    - {type: inline, namespace: a, tools: [{name: x}]}
    - {type: inline, namespace: b, engine: sh, tools: [{name: y, access: {network: [example.com], system: [echo]}}]}
  engines: {sh: {type: command, argv: [echo]}}
";
    let (_, warnings) = Blueprint::from_text("app.yaml", text).unwrap().load_local_sources().await;
    assert_eq!(
        warnings,
        [
            "inline a has no `engine`: its tools are found, and no call of them runs; name one of `tools.engines`",
            "`access.network` of `b.y` is not enforced: its program is not sandboxed, and reaches what its user may reach; set `sandbox`",
        ]
    );
}

#[tokio::test]
async fn a_strict_app_does_not_start_without_all_of_its_tools() {
    let registry =
        "[{type: inline, namespace: a, tools: [{name: x}, {name: x}]}, {type: file, path: none.yaml}]";
    let lenient = start(&format!("tools: {{registry: {registry}}}")).await;
    assert_eq!(lenient.snapshot().rejected().len(), 2);
    lenient.close().await;
    let app =
        Blueprint::from_text("app.yaml", &format!("tools: {{strict: true, registry: {registry}}}")).unwrap();
    let error = Runtime::start(app, Arc::new(DenyAll)).await.err().unwrap().to_string();
    assert!(error.starts_with("app.yaml: not all tools are there, and the app is strict"), "{error}");
    assert!(error.contains("duplicate tool: a::x") && error.contains("none.yaml"), "{error}");
}

#[tokio::test]
async fn two_sources_cannot_have_one_namespace() {
    let error = super::wrong(
        "modules: {hello: {}}\ntools: {registry: [{type: mcp, namespace: hello, command: [x]}]}",
    );
    assert_eq!(error, "app.yaml:2:20: the namespace `hello` is that of the module `hello`; use another one");
    let error = super::wrong(
        "tools: {registry: [{type: mcp, namespace: a, command: [x]}, {type: rest, namespace: a, spec: a.yaml}]}",
    );
    assert!(error.ends_with("the namespace `a` is that of `mcp a`; use another one"), "{error}");
    // A file may hold tools of any namespace, so it is its tools that are rejected.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tools.yaml"), "tools: [{name: wave, description: Waves.}]").unwrap();
    for entry in [
        "{type: inline, namespace: hello, tools: [{name: wave, description: Waves.}]}",
        "{type: file, path: tools.yaml, namespace: hello}",
        "{type: inline, namespace: context_builder, tools: [{name: wave, description: Waves.}]}",
    ] {
        let path = dir.path().join("app.yaml");
        std::fs::write(&path, format!("modules: {{hello: {{}}}}\ntools: {{registry: [{entry}]}}")).unwrap();
        let (snapshot, _) = Blueprint::open(&path).unwrap().load_local_sources().await;
        let [reject] = snapshot.rejected() else { panic!("{entry}: {:?}", snapshot.rejected()) };
        assert!(reject.reason.contains("namespace"), "{reject:?}");
    }
}
