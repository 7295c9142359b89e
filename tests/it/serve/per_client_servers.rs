//! Servers behind us that hold what belongs to one client.

use serde_json::{Value, json};
use toolcrib_testkit::{descendants, wait_until};

use super::client::{SOON, Served, call_ask};
use crate::support::{TestDir, mcp_script};

/// A server that counts its calls.
const COUNTS: &str =
    r#"count=0; echo $$ >> "$HOME/started"; on_call() { count=$((count + 1)); text "call $count"; }"#;

fn dir(more: &str) -> TestDir {
    let app = format!(
        "
tools:
  registry: [{{type: mcp, namespace: team, command: [sh, server.sh], cwd: .{more}}}]
  capabilities: {{default_policy: grant}}
"
    );
    TestDir::with_app(&app).with_file("server.sh", mcp_script(COUNTS))
}

async fn said(served: &Served, session: &str, id: u64) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call_ask()}).to_string();
    let reply = served.post(&[("mcp-session-id", session)], &call).await;
    reply.message()["result"]["content"][0]["text"].clone()
}

#[tokio::test]
async fn clients_share_a_server_unless_it_is_one_for_each_session() {
    let shared = dir("");
    let served = Served::start(&shared, &[]).await;
    let (one, other) = (served.session(&[], json!({})).await, served.session(&[], json!({})).await);
    assert_eq!(said(&served, &one, 1).await, "call 1");
    assert_eq!(said(&served, &other, 1).await, "call 2");

    let separate = dir(", per_session: true");
    let served = Served::start(&separate, &[]).await;
    let (one, other) = (served.session(&[], json!({})).await, served.session(&[], json!({})).await);
    assert_eq!(said(&served, &one, 1).await, "call 1");
    assert_eq!(said(&served, &one, 2).await, "call 2");
    assert_eq!(said(&served, &other, 1).await, "call 1");
    // Those without a session have that of their client.
    for count in ["call 1", "call 2"] {
        let done = served.modern(&[], "tools/call", call_ask()).await;
        assert_eq!(done["result"]["content"][0]["text"], count, "{done}");
    }
    // The first was started for the list.
    let started = separate.read("home/started");
    let started: Vec<u32> = started.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(started.len(), 4);
    let headers = [("mcp-session-id", one.as_str()), ("content-length", "0")];
    let ended = served.raw(&served.request("DELETE", "/mcp", &headers, "")).await;
    assert!(ended.status < 300, "{ended:#?}");
    let serving = served.child.id().unwrap();
    let runs = |id: u32| descendants(serving).unwrap().iter().any(|process| process.id == id);
    let gone = || Ok((!runs(started[1])).then_some(()));
    wait_until("the end of the session's server", SOON, gone).await.unwrap();
    assert!(runs(started[0]) && runs(started[2]) && runs(started[3]));
    assert_eq!(said(&served, &other, 2).await, "call 2");
}
