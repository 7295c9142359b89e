//! An app file that is saved while the app is served.

use std::fs;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use toolcrib_testkit::{descendants, wait_until};

use super::client::{SOON, Served, WAITS, app, call_ask, let_go, read, read_until, was_called};
use crate::support::{TestDir, mcp_script};

const READ_AGAIN: &str = "app.yaml was read again";
const AS_BEFORE: &str = "app.yaml is served as it was before";

/// An app with one server, and rules.
fn text(capabilities: &str, more: &str) -> String {
    format!(
        "
modules: {{hello: {{}}, scheduler: {{}}}}
tools:
  registry: [{{type: mcp, namespace: team, command: [sh, server.sh], cwd: .}}]
  capabilities: {capabilities}
{more}
"
    )
}

fn save(dir: &TestDir, text: &str) {
    fs::write(dir.path("app.yaml"), text).unwrap();
}

async fn names(served: &Served) -> Vec<String> {
    let listed = served.modern(&[], "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed:#}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn what_is_saved_is_served_at_once_and_clients_that_listen_are_told() {
    let dir = app("", "{default_policy: grant}");
    let served = Served::start(&dir, &[]).await;
    assert!(names(&served).await.contains(&"hello__greet_many".to_owned()));
    let session = served.session(&[], json!({})).await;
    let mut listening = served.connect().await;
    let headers = [("mcp-session-id", session.as_str()), ("content-length", "0")];
    listening.write_all(&served.request("GET", "/mcp", &headers, "")).await.unwrap();
    read_until(&mut listening, "\r\n\r\n").await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    served.post(&[("mcp-session-id", &session)], &initialized).await;
    let mut subscribed = served.connect().await;
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    subscribed.write_all(&served.modern_request(&[], "subscriptions/listen", wanted)).await.unwrap();
    read_until(&mut subscribed, "acknowledged").await;
    let children = descendants(served.child.id().unwrap()).unwrap();
    let earlier = children.into_iter().find(|process| process.command == "sh server.sh").unwrap();

    save(&dir, &text("{default_policy: grant, deny: [{module: hello, actions: [greet_many]}]}", ""));
    read_until(&mut listening, "notifications/tools/list_changed").await;
    read_until(&mut subscribed, "notifications/tools/list_changed").await;
    served.until_says(READ_AGAIN).await;
    let now = names(&served).await;
    assert!(!now.contains(&"hello__greet_many".to_owned()), "{now:?}");
    assert!(now.contains(&"scheduler__schedule_once".to_owned()), "{now:?}");
    // The session goes on with what is there now.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call_ask()}).to_string();
    let called = served.post(&[("mcp-session-id", &session)], &call).await.message();
    assert_eq!(called["result"]["content"][0]["text"], "done", "{called:#}");
    // Who listens only does not keep the earlier version.
    let ended = || Ok((!earlier.is_alive()).then_some(()));
    wait_until("the end of the earlier server", SOON, ended).await.unwrap();
}

#[tokio::test]
async fn a_file_that_cannot_be_served_is_said_and_changes_nothing() {
    let dir = app("", "{default_policy: grant}");
    let served = Served::start(&dir, &[]).await;
    let before = names(&served).await;
    save(&dir, &text("{default_policy: gramt}", ""));
    let said = served.until_says(AS_BEFORE).await;
    assert!(said.contains("app.yaml:5:18: unknown value `gramt`, did you mean `grant`?"), "{said}");
    assert_eq!(names(&served).await, before);
    // A token whose variable is not set is found before anything ends, too.
    save(&dir, &text("{default_policy: grant}", "serve: {tokens: [{name: ci, token: '${NOT_SET}'}]}"));
    let said = served.until_says("NOT_SET").await;
    assert!(!said.contains(READ_AGAIN), "{said}");
    assert_eq!(names(&served).await, before);
    save(&dir, &text("{default_policy: grant}", ""));
    served.until_says(READ_AGAIN).await;
    assert!(names(&served).await.contains(&"scheduler__remind".to_owned()));
}

#[tokio::test]
async fn a_call_that_runs_ends_with_the_app_that_it_began_with() {
    let dir = app("", "{default_policy: grant}").with_file("server.sh", mcp_script(WAITS));
    let mut served = Served::start(&dir, &[]).await;
    let session = served.session(&[], json!({})).await;
    let named = [("mcp-session-id", session.as_str())];
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call_ask()}).to_string();
    let mut running = served.begun(&dir, &named, &call).await;
    save(&dir, &text("{default_policy: grant, deny: [{module: team}]}", ""));
    served.until_says(READ_AGAIN).await;
    let refused = served.post(&named, &call.replace("\"id\":1", "\"id\":2")).await.message();
    assert_eq!(refused["result"]["isError"], true, "{refused:#}");
    let_go(&dir);
    read_until(&mut running, "ask done").await;
    served.terminate();
    served.child.wait().await.unwrap();
    dir.assert_nothing_is_left(&[]).await;
}

#[tokio::test]
async fn a_token_that_is_taken_out_lets_nobody_in_any_more() {
    let tokens = |more: &str| {
        let ci = "{name: ci, token: '${CI}', namespaces: [hello]}";
        text("{default_policy: grant}", &format!("serve: {{tokens: [{ci}{more}]}}"))
    };
    let dir = app("", "{default_policy: grant}")
        .with_file("app.yaml", tokens(", {name: old, token: '${OLD}', namespaces: [hello]}"))
        .with_variable("CI", "a-token-for-the-builds")
        .with_variable("OLD", "a-token-of-last-year");
    let served = Served::start(&dir, &[]).await;
    let (ci, old) = (
        [("authorization", "Bearer a-token-for-the-builds")],
        [("authorization", "Bearer a-token-of-last-year")],
    );
    let session = served.session(&old, json!({})).await;
    // What was let in is held to the rules that it was let in by.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call_ask()}).to_string();
    let named = [old[0], ("mcp-session-id", session.as_str()), ("expect", "100-continue")];
    let request = served.request("POST", "/mcp", &named, &call);
    let (head, body) = request.split_at(request.len() - call.len());
    let mut slow = served.connect().await;
    slow.write_all(head).await.unwrap();
    read_until(&mut slow, "100 Continue").await;
    save(&dir, &tokens(""));
    served.until_says(READ_AGAIN).await;
    slow.write_all(body).await.unwrap();
    let refused = read(&mut slow).await.message();
    assert_eq!(refused["result"]["isError"], true, "{refused:#}");
    assert!(!was_called(&dir), "{refused:#}");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let reply = served.post(&[old[0], ("mcp-session-id", &session)], &ping).await;
    assert_eq!(reply.status, 401, "{reply:#?}");
    assert_eq!(served.modern_reply(&ci, "tools/list", json!({})).await.status, 200);
}

#[tokio::test]
async fn what_is_scheduled_and_what_is_kept_is_there_afterwards() {
    let script = r#"on_call() { text "$(yes line | head -n 12000 | tr '\n' ' ')"; }"#;
    let before =
        text("{default_policy: grant}", "store: tasks.db\nserve: {tokens: [{name: me, token: '${ME}'}]}");
    let dir = app("", "")
        .with_file("app.yaml", &before)
        .with_file("server.sh", mcp_script(script))
        .with_variable("ME", "a-token-of-my-own");
    let me = [("authorization", "Bearer a-token-of-my-own")];
    let served = Served::start(&dir, &[]).await;
    let reminder = json!({"name": "scheduler__remind", "arguments": {"what": "Tea.", "when": "in 1h"}});
    let made = served.modern(&me, "tools/call", reminder).await;
    assert_eq!(made["result"]["isError"], false, "{made:#}");
    let large = served.modern(&me, "tools/call", call_ask()).await;
    let uri = large.to_string();
    let uri = &uri[uri.find("toolcrib://result/").unwrap_or_else(|| panic!("{uri}"))..];
    let uri = &uri[..uri.find('"').unwrap()];
    save(&dir, &before.replace("hello: {}, ", ""));
    let said = served.until_says(READ_AGAIN).await;
    let list = json!({"name": "scheduler__schedule_list", "arguments": {}});
    let listed = served.modern(&me, "tools/call", list).await.to_string();
    assert!(listed.contains("Tea."), "{listed} {said}");
    let read = served.modern(&me, "resources/read", json!({"uri": uri})).await;
    assert!(
        read["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.contains("line")),
        "{read:#}"
    );
}
