//! What rules, access and limits of the app do to calls.

use serde_json::json;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall};
use toolcrib_port::CallContext;

use super::start;
use crate::App;

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
    assert_eq!(runtime.warnings(), ["`tools.capabilities.deny[0]` speaks of no tool that is there"]);
    let text =
        "modules: {hello: {}}\ntools: {limits: {tools: {hello.statsu: {retries: 1}, hello.status: {}}}}";
    let warned = ["`tools.limits.tools` has limits for `hello.statsu`, and there is no such tool"];
    assert_eq!(start(text).await.warnings(), warned);
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
    let guide = include_str!("../../../../docs/policy.md");
    let (_, rest) = guide.split_once("```yaml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let app = App::from_text("policy.md", example).unwrap();
    let capabilities = &app.config.tools.capabilities;
    let rules = [&capabilities.deny, &capabilities.approve, &capabilities.grant].map(Vec::len);
    assert_eq!(rules, [2, 1, 4]);
    assert!(capabilities.access.as_ref().is_some_and(|access| access.system.is_some()));
}
