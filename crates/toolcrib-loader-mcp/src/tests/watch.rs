//! Subscriptions to single resources.

use serde_json::json;
use tokio::sync::watch;
use toolcrib_port::{ToolEngine as _, ToolLoader as _};

use super::server::ScriptServer;
use super::{PATIENCE, authorized, authorized_tool, context, eventually, invoke};

/// A server with a resource `file:///a`, whose tool announces that it has changed. Of the first revision that it knows,
/// it expects `resources/subscribe`, and of the second `subscriptions/listen`.
const WITH_RESOURCE: &str = r#"
CAPABILITIES='{"tools":{},"resources":{"subscribe":true}}'
on_other() {
  case $line in
    *'"method":"resources/list"'*) reply '{"resources":[{"uri":"file:///a","name":"a"}]}' ;;
    *'"method":"resources/templates/list"'*) reply '{"resourceTemplates":[]}' ;;
    *'"method":"subscriptions/listen"'*)
      META="\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":$id},"
      printf '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{%s"notifications":{"resourceSubscriptions":["file:///a"]}}}\n' "$META" ;;
    *) reply '{}' ;;
  esac
}
updated() { printf '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{%s"uri":"%s"}}\n' "$META" "$1"; }
on_call() { updated file:///b; updated file:///a; text told; }
"#;

const MODERN: &str = r#"
on_discover() {
  reply "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":$CAPABILITIES,\"serverInfo\":{\"name\":\"sh\",\"version\":\"1\"}}"
}
"#;

/// Watches the resource of a server.
async fn watched(server: &ScriptServer, uri: &str) -> Option<watch::Receiver<u64>> {
    let loaded = server.loader.load().await;
    let tool = loaded.tools.into_iter().find(|tool| tool.name.name() == "read_resource").unwrap();
    let call = authorized_tool(tool, json!({"uri": uri}));
    server.engine.watch(&call, &context()).await.unwrap()
}

async fn change(changes: &mut watch::Receiver<u64>) {
    tokio::time::timeout(PATIENCE, changes.changed()).await.expect("a change").unwrap();
}

#[tokio::test]
async fn changes_of_a_resource_are_announced_until_nobody_waits_for_them() {
    for (era, begins, ends) in [
        ("", "resources/subscribe", "resources/unsubscribe"),
        (MODERN, "subscriptions/listen", "notifications/cancelled"),
    ] {
        let server = ScriptServer::new(&format!("{WITH_RESOURCE}{era}"));
        let mut changes = watched(&server, "file:///a").await.unwrap();
        let second = watched(&server, "toolcrib://test/file:///a").await.unwrap();
        assert_eq!(server.logged(begins).len(), 1, "both share one subscription");
        let told = invoke(&server.engine, authorized("one", json!({})), &context()).await;
        assert_eq!(told.result, "told", "{:?}", told.error);
        change(&mut changes).await;
        assert_eq!(*changes.borrow_and_update(), 1);
        drop(changes);
        drop(second);
        eventually(async || (server.logged(ends).len() == 1).then_some(())).await;
        server.engine.close().await;
    }
}

#[tokio::test]
async fn a_server_that_was_restarted_is_subscribed_to_again() {
    let server = ScriptServer::new(&format!("{WITH_RESOURCE}on_call() {{ exit 1; }}"));
    let mut changes = watched(&server, "file:///a").await.unwrap();
    let lost = invoke(&server.engine, authorized("one", json!({})), &context()).await;
    assert!(lost.error.is_some());
    server.loader.load().await;
    // It may have changed meanwhile.
    change(&mut changes).await;
    eventually(async || (server.logged("resources/subscribe").len() == 2).then_some(())).await;
    server.engine.close().await;
    let ended = tokio::time::timeout(PATIENCE, async { while changes.changed().await.is_ok() {} }).await;
    ended.expect("nothing follows once the connection is closed");
}

#[tokio::test]
async fn a_server_that_announces_nothing_is_not_subscribed_to() {
    let without = WITH_RESOURCE.replace(r#""resources":{"subscribe":true}"#, r#""resources":{}"#);
    let server = ScriptServer::new(&without);
    assert!(watched(&server, "file:///a").await.is_none());
    assert!(server.logged("resources/subscribe").is_empty());
    server.engine.close().await;
}
