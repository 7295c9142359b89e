//! The module `scheduler`: the schedules of an app, allowed and denied as the tools of any other module.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::{App, Blueprint, LaunchOptions};
use toolcrib_exec::DenyAll;
use toolcrib_model::{ErrorKind, ToolCall, ToolResult};
use toolcrib_port::CallContext;

use crate::Runtime;

async fn start(text: &str) -> Runtime {
    Runtime::start(Blueprint::from_text("app.yaml", text).unwrap(), Arc::new(DenyAll)).await.unwrap()
}

async fn call(runtime: &Runtime, name: &str, arguments: Value) -> ToolResult {
    let call = ToolCall::new(name, arguments.as_object().unwrap().clone());
    runtime.executor().call(call, &CallContext::new("s")).await
}

#[tokio::test]
async fn a_schedule_is_made_listed_and_cancelled_by_the_module() {
    let runtime = start(
        "
modules: {scheduler: {}}
tools: {capabilities: {default_policy: grant, deny: [{module: scheduler, actions: [schedule_cron]}]}}
",
    )
    .await;
    let action = json!({"type": "notification", "message": "Tea."});
    let made = call(&runtime, "scheduler.schedule_once", json!({"when": "in 1h", "action": action})).await;
    assert_eq!(made.error, None);
    let listed = call(&runtime, "scheduler.schedule_list", json!({})).await.result;
    let id = made.result["schedule_id"].clone();
    assert_eq!(listed["schedules"][0]["schedule_id"], id);
    let ended = call(&runtime, "scheduler.schedule_cancel", json!({"schedule_id": id})).await;
    assert_eq!(ended.result["status"], "cancelled");
    // A rule about the module holds, and the same tools are not there by another name.
    let denied =
        call(&runtime, "scheduler.schedule_cron", json!({"cron": "0 9 * * *", "action": action})).await;
    assert_eq!(denied.error.unwrap().kind, ErrorKind::Denied);
    let unknown = call(&runtime, "context_builder.schedule_list", json!({})).await;
    assert_eq!(unknown.error.unwrap().kind, ErrorKind::UnknownTool);
    runtime.close().await;
}

#[test]
fn an_app_that_wants_the_same_tools_twice_is_told_to_choose() {
    let text = "execution: {scheduler: true}\nmodules: {scheduler: {}}\n";
    insta::assert_snapshot!(Blueprint::from_text("app.yaml", text).unwrap_err(), @"app.yaml:2:11: the module `scheduler` and `execution.scheduler` are the same tools; name one of the two");
}

#[tokio::test]
async fn a_schedule_that_setup_wants_leaves_out_the_module_and_says_why() {
    let runtime = start("modules: {scheduler: {setup: [{action: schedule_list, params: {}}]}}\n").await;
    let snapshot = runtime.snapshot();
    let rejects: Vec<String> = snapshot.rejected().iter().map(|reject| reject.reason.clone()).collect();
    insta::assert_snapshot!(rejects.join("\n"), @"app.yaml:1:31: the setup action `schedule_list` failed, so the module is left out: there are no schedules before the app has started");
    runtime.close().await;
}

#[tokio::test]
async fn an_app_that_is_started_again_has_schedules_of_its_own() {
    let text = "modules: {scheduler: {}}\ntools: {capabilities: {default_policy: grant}}\n";
    let app = App::from_text("app.yaml", text).unwrap();
    for _ in 0..2 {
        let blueprint = Blueprint::new(app.clone(), LaunchOptions::default()).unwrap();
        let runtime = Runtime::start(blueprint, Arc::new(DenyAll)).await.unwrap();
        let reminder = json!({"what": "Tea.", "when": "in 1h"});
        assert_eq!(call(&runtime, "scheduler.remind", reminder).await.error, None);
        let listed = call(&runtime, "scheduler.schedule_list", json!({})).await.result;
        assert_eq!(listed["schedules"].as_array().map(Vec::len), Some(1), "{listed:#}");
        runtime.close().await;
    }
}
