//! Whatever runs later passes the gate when it runs: each way to run later, crossed with each decision.

use serde_json::{Value, json};

use super::{Served, begun, dir, until};
use crate::support::TestDir;

/// Ways by which a tool is run later.
const WAYS: [&str; 4] = ["background_run", "watch_start", "schedule_once", "schedule_action_of_watch"];

/// The records of calls of the tool.
fn recorded(dir: &TestDir) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.path("audit.jsonl")).unwrap_or_default();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["tool"] == "shop::make").collect()
}

async fn go(served: &mut Served, way: &str) -> Value {
    let make = json!({"type": "tool_call", "tool": "shop.make"});
    match way {
        "background_run" => served.call(way, json!({"tool": "shop.make"})).await,
        "watch_start" => served.call(way, json!({"name": "shop.make", "interval": 5, "max_checks": 1})).await,
        "schedule_once" => served.call(way, json!({"when": "in 1s", "action": make})).await,
        _ => {
            let watch = json!({"name": "shop.polish", "interval": 5, "max_checks": 1, "notify_when": "always", "actions": [make]});
            served.call("watch_start", watch).await
        }
    }
}

#[tokio::test]
async fn a_tool_that_may_be_used_runs_by_every_way() {
    for way in WAYS {
        let dir = dir("{default_policy: grant}", "");
        let mut served = Served::start(&dir).await;
        let told = go(&mut served, way).await;
        until(&format!("{way}: {told:#}"), || begun(&dir).keys().any(|run| run.starts_with("make "))).await;
        until("its record", || recorded(&dir).iter().any(|record| record["outcome"] == "ok")).await;
        served.end().await;
    }
}

#[tokio::test]
async fn a_tool_that_is_denied_runs_by_no_way_and_each_attempt_is_recorded() {
    for way in WAYS {
        let rules = "{default_policy: grant, deny: [{module: shop, actions: [make]}]}";
        let dir = dir(rules, "");
        let mut served = Served::start(&dir).await;
        let told = go(&mut served, way).await;
        // Where it is not refused at once, it is when it runs, and there is a record of that.
        if told.get("kind").is_none() {
            until(&format!("{way}: {told:#}"), || {
                recorded(&dir).iter().any(|record| record["decision"] == "deny")
            })
            .await;
        }
        served.end().await;
        assert!(!begun(&dir).keys().any(|run| run.starts_with("make ")), "{way}");
        assert!(recorded(&dir).iter().all(|record| record["outcome"] != "ok"), "{way}");
    }
}

#[tokio::test]
async fn a_tool_that_needs_approval_and_has_nobody_to_ask_runs_by_no_way() {
    for way in WAYS {
        let rules = "{default_policy: grant, approve: [{module: shop, actions: [make]}]}";
        let dir = dir(rules, "");
        let mut served = Served::start(&dir).await;
        let told = go(&mut served, way).await;
        if told.get("kind").is_none() {
            until(&format!("{way}: {told:#}"), || !recorded(&dir).is_empty()).await;
        }
        served.end().await;
        assert!(!begun(&dir).keys().any(|run| run.starts_with("make ")), "{way}");
    }
}

#[tokio::test]
async fn a_grant_that_is_taken_back_stops_the_next_run() {
    let dir = dir("{default_policy: grant}", "");
    let mut served = Served::start(&dir).await;
    let scheduled = served.schedule("shop.make", "in 2s").await;
    served.end().await;
    let app = dir.read("app.yaml").replace(
        "{default_policy: grant}",
        "{default_policy: grant, deny: [{module: shop, actions: [make]}]}",
    );
    std::fs::write(dir.path("app.yaml"), app).unwrap();
    let served = Served::start(&dir).await;
    until("the run that is denied", || recorded(&dir).iter().any(|record| record["decision"] == "deny"))
        .await;
    assert_eq!(begun(&dir).len(), 0);
    let standing = super::tasks(&dir).await;
    assert_eq!(standing[&scheduled]["last_run"]["outcome"], "failed", "{standing:#?}");
    served.end().await;
}

/// By itself, in the background and by a schedule.
async fn go_by_each_way(served: &mut Served, tool: &str, params: &Value) {
    let told = served.call(&tool.replace('.', "__").replace("context_builder__", ""), params.clone()).await;
    let launched = served.call("background_run", json!({"tool": tool, "params": params})).await;
    if let Some(id) = launched["task_id"].as_str() {
        served.call("background_run", json!({"task_id": id, "wait": true, "timeout": 30})).await;
    }
    let action = json!({"type": "tool_call", "tool": tool, "params": params});
    let scheduled = served.call("schedule_once", json!({"when": "in 1s", "action": action})).await;
    if let Some(id) = scheduled["schedule_id"].as_str() {
        for _ in 0..PATIENT_LOOKS {
            let status = served.call("schedule_status", json!({"schedule_id": id})).await;
            if status["status"] != "active" && status["last_run"]["outcome"] != "running" {
                return;
            }
        }
        panic!("{tool}: the run has not ended: {told:#}");
    }
}

/// How often a status is asked for before a run counts as one that never ends.
const PATIENT_LOOKS: usize = 100_000;

#[tokio::test]
async fn a_program_of_a_skill_runs_by_each_way_only_as_policy_lets_it() {
    let denied = "{default_policy: grant, deny: [{module: handwork}]}";
    for (rules, runs) in [("{default_policy: grant}", 3), (denied, 0)] {
        let manifest = "name: handwork\ndescription: Work by hand.\ntools:\n  - name: carve\n    description: Carves.\n    argv: [sh, carve.sh]\n    risk: medium\n";
        let dir = dir(rules, "")
            .with_file("skills/handwork/SKILL.md", "---\ndescription: Work by hand.\n---\nCarve.\n")
            .with_file("skills/handwork/toolcrib.yaml", manifest)
            .with_file("skills/handwork/carve.sh", "echo \"begin carve $$\" >> ../../effects.txt\n");
        let mut served = Served::start(&dir).await;
        go_by_each_way(&mut served, "handwork.carve", &json!({})).await;
        served.end().await;
        assert_eq!(begun(&dir).len(), runs, "{rules}");
    }
}

#[tokio::test]
async fn an_app_that_is_called_does_by_each_way_only_what_both_policies_let_it() {
    let grant = "{default_policy: grant, grant: [{module: context_builder, actions: [call_app]}]}";
    let inner_denies = "{default_policy: grant, deny: [{module: shop, actions: [make]}]}";
    let outer_denies = "{default_policy: grant, deny: [{module: context_builder, actions: [call_app]}]}";
    let cases = [
        (grant, "{default_policy: grant}", 3),
        (grant, inner_denies, 0),
        (outer_denies, "{default_policy: grant}", 0),
    ];
    for (outer, inner, runs) in cases {
        let app = format!(
            "agents: [{{id: maker, brain: {{provider: recorded, recording: turns.yaml}}}}]\n\
             tools:\n  registry: [{{type: exec, path: ../shop}}]\n  capabilities: {inner}\n"
        );
        let turns = "turns:\n  - calls: [{name: shop__make, arguments: {}}]\n  - text: Done.\n";
        let note = "echo \"begin $1 $$\" >> ../effects.txt\n";
        let dir = dir(outer, "")
            .with_file("shop/note.sh", note)
            .with_file("inner/app.yaml", &app)
            .with_file("inner/turns.yaml", turns);
        let config = dir.read("app.yaml").replace(
            "tools:\n",
            "tools:\n  apps: {inner: {path: inner/app.yaml, description: Makes things.}}\n",
        );
        std::fs::write(dir.path("app.yaml"), config).unwrap();
        let mut served = Served::start(&dir).await;
        go_by_each_way(
            &mut served,
            "context_builder.call_app",
            &json!({"app": "inner", "prompt": "Make one."}),
        )
        .await;
        served.end().await;
        assert_eq!(begun(&dir).len(), runs, "{outer} {inner}");
    }
}
