//! Servers that are a session's own.

use std::num::NonZeroUsize;

use serde_json::json;
use toolcrib_model::{ErrorKind, ToolResult};
use toolcrib_port::{CallContext, ToolEngine as _, ToolLoader as _};

use super::server::{ScriptServer, runs};
use super::{authorized, authorized_tool, invoke};
use crate::SessionEngines;
use crate::calls::session_engines::SESSION_IDLE_TIME;

/// How many sessions have a server here.
const MOST: NonZeroUsize = NonZeroUsize::new(3).unwrap();

/// A server that counts its calls.
const COUNTS: &str = r#"count=0; on_call() { count=$((count + 1)); text "call $count"; }"#;

async fn call(engines: &SessionEngines, session: &str) -> ToolResult {
    invoke(engines, authorized("one", json!({})), &CallContext::new(session)).await
}

async fn stderr(engines: &SessionEngines, session: &str) -> String {
    let result = call(engines, session).await;
    result.result.as_str().map_or_else(|| format!("{result:?}"), str::to_owned)
}

#[tokio::test]
async fn a_session_has_a_server_of_its_own_until_it_ends() {
    let server = ScriptServer::new(COUNTS);
    let engines = SessionEngines::new(server.connection.clone(), MOST);
    assert_eq!(stderr(&engines, "a").await, "call 1");
    assert_eq!(stderr(&engines, "a").await, "call 2");
    assert_eq!(stderr(&engines, "b").await, "call 1");
    let [first, second] = server.process_ids()[..] else { panic!("{:?}", server.process_ids()) };
    engines.end_session("a").await;
    assert!(!runs(first) && runs(second));
    assert_eq!(stderr(&engines, "b").await, "call 2");
    // It comes back with nothing of what it was.
    assert_eq!(stderr(&engines, "a").await, "call 1");
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
    let engines = SessionEngines::new(server.connection.clone(), MOST);
    let result = invoke(&engines, authorized_tool(tool, json!({})), &CallContext::new("a")).await;
    assert_eq!(result.error.unwrap().kind, ErrorKind::ToolChanged);
    assert!(server.logged("tools/call").is_empty());
    tokio::time::timeout(super::PATIENCE, server.loader.changed()).await.expect("it is to be loaded");
}

#[tokio::test]
async fn sessions_beyond_the_most_are_refused_until_one_ends_or_is_idle() {
    let server = ScriptServer::new(COUNTS);
    let engines = SessionEngines::new(server.connection.clone(), MOST);
    for session in ["a", "b", "c"] {
        assert_eq!(stderr(&engines, session).await, "call 1");
    }
    let refused = call(&engines, "d").await.error.unwrap();
    assert_eq!(refused.kind, ErrorKind::Unavailable);
    assert!(
        refused.message.starts_with("3 sessions have a separate MCP server `sh ") && refused.hint.is_some(),
        "{refused:?}"
    );
    assert_eq!(server.process_ids().len(), 3);
    engines.end_session("a").await;
    assert_eq!(stderr(&engines, "d").await, "call 1");
    // Of those that are idle one goes: the one that has been so for longest.
    assert_eq!(stderr(&engines, "b").await, "call 2");
    tokio::time::pause();
    tokio::time::advance(SESSION_IDLE_TIME).await;
    tokio::time::resume();
    assert_eq!(stderr(&engines, "e").await, "call 1");
    let alive: Vec<bool> = server.process_ids().into_iter().map(runs).collect();
    assert_eq!(alive, [false, true, false, true, true]);
    assert_eq!(stderr(&engines, "b").await, "call 3");
    engines.close().await;
}

#[tokio::test]
async fn a_server_that_does_not_run_takes_no_place() {
    let server = ScriptServer::new(&format!(
        r#"{COUNTS}
           on_start() {{ [ ! -e "${{LOG%log}}down" ] || exit 1; }}"#
    ));
    let engines = SessionEngines::new(server.connection.clone(), MOST);
    std::fs::write(server.path().join("down"), "").unwrap();
    for session in ["a", "b", "c", "d", "e"] {
        let error = call(&engines, session).await.error.unwrap();
        assert!(!error.message.contains("sessions have"), "{error:?}");
    }
    std::fs::remove_file(server.path().join("down")).unwrap();
    assert_eq!(stderr(&engines, "f").await, "call 1");
    engines.close().await;
}
