//! `toolcrib tasks`: whoever operates an app sees what is to be done in it, and ends it.

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::time::timeout;

use super::{Served, dir, run, tasks};
use crate::support::{PATIENCE, TestDir};

#[tokio::test]
async fn an_operator_lists_shows_and_cancels_beside_the_process_that_runs_them() {
    let dir = dir("{default_policy: grant}", "");
    let mut served = Served::start(&dir).await;
    let id = served.schedule("shop.make", "in 1h").await;
    let listed = run(&dir, ["tasks", "app.yaml"]).await.expect(0);
    assert!(listed.stdout.contains(&id) && listed.stdout.contains("shop.make"), "{listed:#?}");
    assert!(!listed.stderr.contains("no process runs"), "{listed:#?}");
    let shown = run(&dir, ["tasks", "app.yaml", "show", &id, "--json"]).await.expect(0).json();
    assert_eq!((&shown["kind"], &shown["status"]), (&json!("schedule"), &json!("active")));
    run(&dir, ["tasks", "app.yaml", "cancel", &id]).await.expect(0);
    let status = served.call("schedule_status", json!({"schedule_id": id})).await;
    assert_eq!(status["status"], "cancelled", "{status:#}");
    let unknown = run(&dir, ["tasks", "app.yaml", "cancel", "schedule_0"]).await.expect(1);
    assert!(unknown.stderr.contains("there is no task `schedule_0`"), "{unknown:#?}");
    served.end().await;
}

#[tokio::test]
async fn an_operator_ends_what_no_process_runs_now() {
    let dir = dir("{default_policy: grant}", "");
    let mut served = Served::start(&dir).await;
    let id = served.schedule("shop.make", "in 1h").await;
    served.end().await;
    let listed = run(&dir, ["tasks", "app.yaml"]).await.expect(0);
    assert!(listed.stderr.contains("no process runs the app now"), "{listed:#?}");
    run(&dir, ["tasks", "app.yaml", "cancel", &id]).await.expect(0);
    assert_eq!(tasks(&dir).await[&id]["status"], "cancelled");
}

#[tokio::test]
async fn an_operator_follows_what_changes() {
    let dir = dir("{default_policy: grant}", "");
    let mut served = Served::start(&dir).await;
    served.schedule("shop.make", "in 1h").await;
    let mut tail = dir.start(&["tasks", "app.yaml", "tail"]);
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let mut next = async || timeout(PATIENCE, lines.next_line()).await.expect("a line").unwrap().unwrap();
    assert!(next().await.contains("shop.make"));
    let second = served.schedule("shop.polish", "in 1h").await;
    let line = next().await;
    assert!(line.contains(&second) && line.contains("active"), "{line}");
    tail.kill().await.unwrap();
    served.end().await;
}

#[tokio::test]
async fn a_schedule_that_was_made_from_the_command_line_is_kept_for_whoever_runs_the_app() {
    let dir = dir("{default_policy: grant}", "");
    let action = json!({"when": "in 1h", "action": {"type": "tool_call", "tool": "shop.make"}}).to_string();
    let made = run(&dir, ["call", "app.yaml", "schedule_once", &action, "--json"]).await.expect(0).json();
    let id = made["result"]["schedule_id"].as_str().unwrap();
    assert_eq!(tasks(&dir).await[id]["session"], "cli");
}

#[tokio::test]
async fn a_schedule_that_was_made_by_the_module_is_kept_too() {
    let dir = TestDir::with_app(
        "
modules: {scheduler: {}}
store: tasks.db
tools: {capabilities: {default_policy: grant}}
",
    );
    let reminder = json!({"what": "Look at the oven.", "when": "in 1h"}).to_string();
    let made =
        run(&dir, ["call", "app.yaml", "scheduler.remind", &reminder, "--json"]).await.expect(0).json();
    let id = made["result"]["schedule_id"].as_str().unwrap();
    assert_eq!(tasks(&dir).await[id]["session"], "cli");
}
