//! Servers that are a session's own.

use std::sync::Arc;

use serde_json::json;
use toolcrib_model::{ErrorKind, ToolResult};
use toolcrib_port::{CallContext, ToolEngine as _, ToolLoader as _};

use super::server::{ScriptServer, runs};
use super::{authorized, authorized_tool, eventually, invoke};
use crate::{MAX_SESSION_SERVERS, SESSION_IDLE_TIME, SessionEngines};

/// A server that counts its calls.
const COUNTS: &str = r#"count=0; on_call() { count=$((count + 1)); text "call $count"; }"#;

async fn call(engines: &SessionEngines, session: &str) -> ToolResult {
    invoke(engines, authorized("one", json!({})), &CallContext::new(session)).await
}

async fn said(engines: &SessionEngines, session: &str) -> String {
    let result = call(engines, session).await;
    result.result.as_str().map_or_else(|| format!("{result:?}"), str::to_owned)
}

#[tokio::test]
async fn a_session_has_a_server_of_its_own_until_it_ends() {
    let server = ScriptServer::new(COUNTS);
    let engines = SessionEngines::new(server.connection.clone());
    assert_eq!(said(&engines, "a").await, "call 1");
    assert_eq!(said(&engines, "a").await, "call 2");
    assert_eq!(said(&engines, "b").await, "call 1");
    let [first, second] = server.process_ids()[..] else { panic!("{:?}", server.process_ids()) };
    engines.end_session("a").await;
    assert!(!runs(first) && runs(second));
    assert_eq!(said(&engines, "b").await, "call 2");
    // It comes back with nothing of what it was.
    assert_eq!(said(&engines, "a").await, "call 1");
    engines.close().await;
    assert!(!server.process_ids().into_iter().any(runs));
    let closed = call(&engines, "b").await.error.unwrap();
    assert_eq!(closed.kind, ErrorKind::Unavailable);
    assert_eq!(server.process_ids().len(), 3);
}

#[tokio::test]
async fn a_tool_that_the_sessions_server_has_changed_is_not_called_and_loaded_again() {
    let server = ScriptServer::new(
        r#"on_list() {
             if [ -e "${LOG%log}changed" ]; then reply "{\"tools\":[{\"name\":\"one\",\"title\":\"Another\",\"inputSchema\":{\"type\":\"object\"}}]}"
             else reply "{\"tools\":[$(tool one)]}"; fi
           }"#,
    );
    let tool = server.loader.load().await.tools.remove(0);
    std::fs::write(server.path().join("changed"), "").unwrap();
    let engines = SessionEngines::new(server.connection.clone());
    let result = invoke(&engines, authorized_tool(tool, json!({})), &CallContext::new("a")).await;
    assert_eq!(result.error.unwrap().kind, ErrorKind::ToolChanged);
    assert!(server.logged("tools/call").is_empty());
    tokio::time::timeout(super::PATIENCE, server.loader.changed()).await.expect("it is to be loaded");
}

#[tokio::test]
async fn sessions_beyond_the_most_wait_until_one_ends_or_is_idle() {
    let server = ScriptServer::new(COUNTS);
    let engines = Arc::new(SessionEngines::new(server.connection.clone()));
    let all: Vec<String> = (0..MAX_SESSION_SERVERS).map(|number| format!("s{number}")).collect();
    for session in &all {
        assert_eq!(said(&engines, session).await, "call 1");
    }
    let refused = call(&engines, "one more").await.error.unwrap();
    assert_eq!(refused.kind, ErrorKind::Unavailable);
    assert!(
        refused.message.starts_with("16 sessions have an MCP server `sh ") && refused.hint.is_some(),
        "{refused:?}"
    );
    assert_eq!(server.process_ids().len(), MAX_SESSION_SERVERS);
    engines.end_session("s0").await;
    assert_eq!(said(&engines, "one more").await, "call 1");
    tokio::time::pause();
    tokio::time::advance(SESSION_IDLE_TIME).await;
    tokio::time::resume();
    // Whoever calls is not idle.
    assert_eq!(said(&engines, "s1").await, "call 2");
    assert_eq!(said(&engines, "and another").await, "call 1");
    eventually(async || (server.process_ids().into_iter().filter(|id| runs(*id)).count() == 2).then_some(()))
        .await;
    engines.close().await;
}
