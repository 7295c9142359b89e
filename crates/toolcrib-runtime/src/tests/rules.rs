//! What rules, access and limits of the app do to calls.

use std::sync::Arc;

use serde_json::json;
use toolcrib_app::Blueprint;
use toolcrib_exec::DenyAll;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall};
use toolcrib_port::CallContext;

use super::start;
use crate::Runtime;

#[tokio::test]
async fn the_limits_of_an_entry_hold_for_its_source() {
    let text = "
modules: {hello: {limits: {rate: {calls: 1, per_seconds: 3600}, queue: 0}}}
tools: {capabilities: {default_policy: grant}}
";
    let runtime = start(text).await;
    let context = CallContext::new("s");
    let call = || runtime.executor().call(ToolCall::new("hello.status", JsonObject::new()), &context);
    assert!(call().await.is_ok());
    assert_eq!(call().await.error.unwrap().kind, ErrorKind::Overloaded);
}

#[tokio::test]
async fn a_module_reaches_what_both_its_own_access_and_that_of_the_app_let_it() {
    let runtime = start(
        "modules: {filesystem: {access: {filesystem: [{path: src}]}}}
tools: {capabilities: {default_policy: grant, access: {filesystem: [{path: src/lib.rs}, {path: Cargo.toml}]}}}",
    )
    .await;
    for (path, is_ok) in [("src/lib.rs", true), ("src/app.rs", false), ("Cargo.toml", false)] {
        let arguments = json!({"path": path}).as_object().unwrap().clone();
        let call = ToolCall::new("filesystem.read", arguments);
        let result = runtime.executor().call(call, &CallContext::new("s")).await;
        assert_eq!(result.is_ok(), is_ok, "{path}: {result:?}");
    }
}

#[tokio::test]
async fn a_rule_that_speaks_of_no_tool_is_warned_of() {
    let runtime =
        start("modules: {hello: {}}\ntools: {capabilities: {deny: [{module: hello, actions: ['x*']}]}}")
            .await;
    assert_eq!(runtime.warnings(), ["`tools.capabilities.deny[0]` matches no tool"]);
    let text = "modules: {hello: {}}\nhooks: [{name: check, when: after, tools: [helo.*], run: [cat]}]";
    assert_eq!(start(text).await.warnings(), ["the hook `check` applies to no tool"]);
    let text =
        "modules: {hello: {}}\ntools: {limits: {tools: {hello.statsu: {retries: 1}, hello.status: {}}}}";
    let warned = ["`tools.limits.tools` has limits for `hello.statsu`, and there is no such tool"];
    assert_eq!(start(text).await.warnings(), warned);
}

#[tokio::test]
async fn a_denial_under_a_former_name_holds_for_the_present_one_and_is_warned_of() {
    let text = "
execution: {scheduler: true}
modules: {memory: {}}
tools:
  capabilities:
    default_policy: grant
    deny: [{module: context_builder, actions: [remember, background_cancel]}]
    grant: [{module: context_builder, actions: [background_list]}]
";
    let app = Blueprint::from_text("app.yaml", text).unwrap();
    let warned: Vec<_> =
        app.warnings().iter().filter(|warning| warning.contains("is called")).cloned().collect();
    insta::assert_snapshot!(warned.join("\n"), @r"
    `context_builder.background_list` is called `context_builder.background_run` now; a grant holds for that name alone
    `context_builder.remember` is called `context_builder.remind` now; the rule holds for it
    `context_builder.background_cancel` is called `context_builder.background_run` now; the rule holds for it
    ");
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    for name in ["remind", "context_builder.remember", "background_run", "background_status"] {
        let call = ToolCall::new(name, JsonObject::new());
        let error = runtime.executor().call(call, &CallContext::new("s")).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Denied, "{name}: {error}");
    }
    let arguments = json!({"content": "Tea is at four."}).as_object().unwrap().clone();
    let call = ToolCall::new("remember", arguments);
    let kept = runtime.executor().call(call, &CallContext::new("s")).await;
    assert_eq!(kept.name, "memory::remember", "{kept:?}");
    assert_ne!(kept.error.map(|error| error.kind), Some(ErrorKind::Denied));
    runtime.close().await;
}

#[tokio::test]
async fn background_run_and_remember_are_names_of_one_tool_each() {
    let text = "
execution: {scheduler: true}
modules: {memory: {}, shell: {}}
tools: {capabilities: {default_policy: grant}}
";
    let runtime = start(text).await;
    for (name, meant) in
        [("background_run", "context_builder::background_run"), ("remember", "memory::remember")]
    {
        let found =
            runtime.executor().call(ToolCall::new(name, JsonObject::new()), &CallContext::new("s")).await;
        assert_eq!(found.name, meant, "{found:?}");
    }
    runtime.close().await;
}

#[tokio::test]
async fn a_call_of_the_meta_tool_ends_as_the_call_inside_does() {
    let runtime = start("modules: {hello: {}}").await;
    let arguments = json!({"name": "hello.status", "params": {}});
    let call = ToolCall::new("context_builder.execute_tool", arguments.as_object().unwrap().clone());
    let result = runtime.executor().call(call, &CallContext::new("s")).await;
    assert_eq!(result.error.map(|error| error.kind), Some(ErrorKind::ApprovalRequired));
    assert_eq!(result.name, "hello::status");
}

#[test]
fn the_example_of_the_policy_guide_is_an_app() {
    let guide = include_str!("../../../../docs/reference/policy.md");
    let (_, rest) = guide.split_once("```yaml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let app = Blueprint::from_text("policy.md", example).unwrap();
    let capabilities = &app.app.config.tools.capabilities;
    let rules = [&capabilities.deny, &capabilities.approve, &capabilities.grant].map(Vec::len);
    assert_eq!(rules, [2, 1, 4]);
    assert!(capabilities.access.as_ref().is_some_and(|access| access.system.is_some()));
}
