//! Servers that a client has the app connect to while it is served.

use serde_json::{Value, json};
use toolcrib_testkit::{descendants, wait_until};

use super::client::{SOON, Served};
use crate::support::{TestDir, mcp_script};

const APP: &str = "
modules: {mcp: {}, hello: {}}
tools: {capabilities: {default_policy: grant, grant: [{module: mcp, actions: [connect, call_tool]}]}}
";

/// A server that says on each call what it was started with.
const SAYS: &str = r#"mark=$1; echo $$ >> "$HOME/started"; on_call() { text "$mark: $1"; }"#;

async fn call(served: &Served, session: &str, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
    served.post(&[("mcp-session-id", session)], &call).await.message()["result"].take()
}

async fn text(served: &Served, session: &str, name: &str, arguments: Value) -> String {
    call(served, session, name, arguments).await["content"][0]["text"].as_str().unwrap().to_owned()
}

/// What the server answered.
async fn said(served: &Served, session: &str, name: &str, arguments: Value) -> Value {
    let result = text(served, session, name, arguments).await;
    serde_json::from_str::<Value>(&result).unwrap_or_else(|_| panic!("{result}"))["result"].take()
}

async fn connect(served: &Served, dir: &TestDir, session: &str, server: &str, mark: &str) {
    let command = json!(["sh", dir.path("server.sh"), mark]);
    let connected = call(served, session, "mcp.connect", json!({"server": server, "command": command})).await;
    assert_ne!(connected["isError"], true, "{connected}");
}

#[tokio::test]
async fn a_server_that_one_client_has_joined_is_none_of_the_others_tools() {
    let dir = TestDir::with_app(APP).with_file("server.sh", mcp_script(SAYS));
    let served = Served::start(&dir, &[]).await;
    let (one, other) = (served.session(&[], json!({})).await, served.session(&[], json!({})).await);
    connect(&served, &dir, &one, "notes", "one's").await;
    connect(&served, &dir, &one, "secret", "one's").await;
    connect(&served, &dir, &other, "notes", "other's").await;
    for name in ["mcp_notes.ask", "mcp_notes__ask"] {
        assert_eq!(said(&served, &one, name, json!({})).await, "one's: ask");
        assert_eq!(said(&served, &other, name, json!({})).await, "other's: ask");
    }
    let ask = json!({"name": "mcp_secret.ask", "params": {}});
    assert_eq!(said(&served, &one, "execute_tool", ask.clone()).await, "one's: ask");
    for (name, arguments) in [
        ("mcp_secret.ask", json!({})),
        ("mcp_secret__ask", json!({})),
        ("execute_tool", ask.clone()),
        ("get_tool", json!({"name": "mcp_secret.ask"})),
        ("mcp.call_tool", json!({"server": "secret", "tool": "ask", "arguments": {}})),
        ("browse_category", json!({"category": "mcp_secret"})),
    ] {
        let refused = call(&served, &other, name, arguments).await;
        assert_eq!(refused["isError"], true, "{name}: {refused}");
        assert!(!refused.to_string().contains("one's"), "{name}: {refused}");
    }
    let found = text(&served, &other, "search_tools", json!({"query": "ask the team secret"})).await;
    assert!(found.contains("mcp_notes.ask") && !found.contains("mcp_secret"), "{found}");
    // Those without a session have that of their client, which is neither.
    let params = json!({"name": "mcp_notes.ask", "arguments": {}});
    let modern = served.modern(&[], "tools/call", params).await;
    assert_eq!(modern["result"]["isError"], true, "{modern}");

    let headers = [("mcp-session-id", one.as_str()), ("content-length", "0")];
    let ended = served.raw(&served.request("DELETE", "/mcp", &headers, "")).await;
    assert!(ended.status < 300, "{ended:#?}");
    let started: Vec<u32> = dir.read("home/started").lines().map(|line| line.parse().unwrap()).collect();
    let serving = served.child.id().unwrap();
    let runs = |id: u32| descendants(serving).unwrap().iter().any(|process| process.id == id);
    let gone = || Ok((!runs(started[0]) && !runs(started[1])).then_some(()));
    wait_until("the end of the session's servers", SOON, gone).await.unwrap();
    assert_eq!(said(&served, &other, "mcp_notes.ask", json!({})).await, "other's: ask");
}
