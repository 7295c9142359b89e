//! What an app promises whose tools are partly real and partly simulated, with real programs and a recorded model.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::Blueprint;
use toolcrib_exec::DenyAll;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolResult};
use toolcrib_port::CallContext;

use crate::Runtime;

const MANIFEST: &str = "
name: kit
description: Facts about the disk.
tools:
  - {name: get_size, description: Returns a size., argv: [sh, -c, 'echo 42']}
  - {name: set_size, description: Changes a size., argv: [sh, -c, 'touch changed; echo done']}
  - {name: forbidden, description: Does harm., argv: [touch, changed]}
";

const APP: &str = "
agents: [{id: teacher, brain: {provider: recorded, recording: turns.yaml}}]
audit: {path: audit.jsonl}
app: {workspace: work}
tools:
  registry: [{type: exec, path: kit, namespace: disk, engine: mixed}]
  engines:
    fake: {type: simulated, model: teacher, stateful: true}
    mixed: {type: multi, routes: [{tools: 'disk::get_*', engine: own}], default: fake}
  capabilities: {default_policy: grant, deny: [{module: disk, actions: [forbidden]}]}
";

#[tokio::test]
async fn reads_are_real_and_writes_are_simulated_and_all_are_gated_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["kit", "work"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("kit/toolcrib.yaml"), MANIFEST).unwrap();
    fs::write(folder.path().join("app.yaml"), APP).unwrap();
    let reply = json!({"result": "the size is 7", "state": {"size": 7}}).to_string();
    fs::write(folder.path().join("turns.yaml"), json!({"turns": [{"text": reply}]}).to_string()).unwrap();

    let app = Blueprint::open(folder.path().join("app.yaml")).unwrap();
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    let context = CallContext::new("item");
    let mut results: Vec<ToolResult> = Vec::new();
    for name in ["get_size", "set_size", "forbidden"] {
        let call = ToolCall::new(format!("disk::{name}"), JsonObject::new());
        results.push(runtime.executor().call(call, &context).await);
    }
    let [size, set, forbidden] = &results[..] else { panic!("three results") };
    assert_eq!(size.result.as_str().map(str::trim).or(size.result.as_i64().map(|_| "42")), Some("42"));
    assert!(!size.metadata.contains_key("simulation"));
    let simulation = json!({"samples": 1, "model": "recorded"});
    assert_eq!((&set.result, &set.metadata["simulation"]), (&json!("the size is 7"), &simulation));
    assert_eq!(forbidden.error.as_ref().unwrap().kind, ErrorKind::Denied);
    runtime.end_session("item").await;
    runtime.close().await;

    let changed = |name: &str| folder.path().join(name).join("changed").exists();
    assert!(!changed("kit") && !changed("work"), "no program of a simulated tool runs");
    let audit = fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    let outcomes: Vec<_> = audit
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|record| format!("{} {}", record["tool"].as_str().unwrap(), record["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(outcomes, ["disk::get_size ok", "disk::set_size ok", "disk::forbidden denied"]);
}
