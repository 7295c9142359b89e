//! An app as an MCP server, asked by the binary itself as the client.

mod approval_links;
mod approvals;
mod approve;
mod background;
pub(crate) mod client;
mod connected_servers;
pub(crate) mod console;
mod health_and_shutdown;
mod hostile;
mod keys;
mod oauth;
mod overrides;
mod passthrough;
mod per_client_servers;
mod prompts;
mod reader;
mod reload;
pub(crate) mod replicas;
mod results;
mod visible_tools;

use serde_json::{Value, json};

use crate::support::{TestDir, binary};

const SERVED: &str = "
app: {id: greeter}
modules: {hello: {constraints: {blocked_actions: [greet_many]}}}
tools: {capabilities: {default_policy: grant, approve: [{module: hello, actions: [status]}]}}
";

/// An app whose only source is another app, served by the binary.
fn dir() -> TestDir {
    let app = format!(
        "
tools:
  registry: [{{type: mcp, namespace: remote, command: ['{}', serve, served.yaml, --stdio]}}]
  capabilities: {{default_policy: grant}}
",
        binary().display()
    );
    TestDir::with_app(&app).with_file("served.yaml", SERVED)
}

#[tokio::test]
async fn the_tools_of_a_served_app_load_over_mcp() {
    let dir = dir();
    let line = format!("{} serve served.yaml --stdio", binary().display());
    let loaded = dir.run(["load", "--mcp", &line, "--json"]).await.expect(0).json();
    let names: Vec<_> = loaded["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    for expected in ["run_parallel", "read_result", "hello__say_hello", "hello__status", "read_resource"] {
        assert!(names.contains(&&json!(expected)), "{names:?}");
    }
    assert!(
        !names.contains(&&json!("hello__greet_many")) && !names.contains(&&json!("get_prompt")),
        "{names:?}"
    );
    assert_eq!(loaded["rejected"], json!([]));
}

#[tokio::test]
async fn a_call_through_two_apps_passes_both_gates() {
    let dir = dir();
    let greeted =
        dir.run(["call", "app.yaml", "remote.hello__say_hello", r#"{"name": "Ada"}"#]).await.expect(0);
    assert_eq!(greeted.stdout, "Hello, Ada!\n");
    // Where it is served there is nobody to ask, whatever this side grants.
    let status = dir.run(["call", "app.yaml", "remote.hello__status", "--yes", "--json"]).await.expect(1);
    assert!(status.json()["error"]["message"].as_str().unwrap().contains("approval_required"), "{status:#?}");
    let wrong = dir.run(["call", "app.yaml", "remote.hello__say_hello", "{}"]).await;
    assert_eq!(wrong.expect(2).stdout, "");
}

#[tokio::test]
async fn serving_ends_when_the_client_hangs_up() {
    let dir = dir();
    let hello = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    });
    let output =
        dir.run_with_input(&["serve", "served.yaml", "--stdio"], &format!("{hello}\n")).await.expect(0);
    let answer: Value = serde_json::from_str(output.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(answer["result"]["serverInfo"]["name"], "toolcrib");
    dir.run(["serve", "served.yaml", "--stdio"]).await.expect(0);
}

#[tokio::test]
async fn a_message_that_can_be_read_in_two_ways_is_refused_and_the_next_one_is_answered() {
    let dir = dir();
    let lines = [
        r#"{"jsonrpc": "2.0", "id": 1, "method": "ping", "method": "tools/list"}"#,
        "this is no JSON",
        r#"[{"jsonrpc": "2.0", "id": 2, "method": "ping"}]"#,
        r#"{"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}"#,
    ];
    let output =
        dir.run_with_input(&["serve", "served.yaml", "--stdio"], &format!("{}\n", lines.join("\n"))).await;
    let output = output.expect(0);
    let answers: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<_> = answers.iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [Some(-32700), Some(-32700), Some(-32600), None], "{answers:#?}");
    assert_eq!(answers[3]["id"], 3);
}
