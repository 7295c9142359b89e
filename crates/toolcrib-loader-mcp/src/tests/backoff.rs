//! Servers that start, and end again and again.

use std::time::Duration;

use serde_json::json;
use toolcrib_model::ErrorKind;
use toolcrib_port::ToolLoader as _;

use super::server::{ScriptServer, runs};
use super::{authorized, context, eventually, invoke};
use crate::connection::backoff::{FIRST_BACKOFF, SETTLED_AFTER};
use crate::{McpConnection, McpSource};

/// Ends over each call but `good`.
const FATAL: &str = r#"on_call() { [ "$1" = good ] || { echo 'out of luck' >&2; exit 9; }; text alive; }"#;

/// Lets this time pass.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// What comes of a call, and how often the server was started by then.
async fn call(server: &ScriptServer, tool: &str) -> (Result<(), ErrorKind>, usize) {
    let error = invoke(&server.engine, authorized(tool, json!({})), &context()).await.error;
    (error.map_or(Ok(()), |error| Err(error.kind)), server.process_ids().len())
}

#[tokio::test]
async fn a_server_that_ends_over_every_call_is_left_alone_for_longer_each_time() {
    let server = ScriptServer::new(FATAL);
    let (lost, away) = (Err(ErrorKind::OutcomeUnknown), Err(ErrorKind::Unavailable));
    // The first end may be chance.
    assert_eq!(call(&server, "bad").await, (lost, 1));
    assert_eq!(call(&server, "bad").await, (lost, 2));
    for (wait, starts) in [(FIRST_BACKOFF, 3), (FIRST_BACKOFF * 2, 4), (FIRST_BACKOFF * 4, 5)] {
        pass(wait / 2).await;
        assert_eq!(call(&server, "good").await, (away, starts - 1), "{wait:?}");
        pass(wait / 2).await;
        assert_eq!(call(&server, "bad").await, (lost, starts), "{wait:?}");
    }
    let error = invoke(&server.engine, authorized("good", json!({})), &context()).await.error.unwrap();
    for words in ["exited with status 9 soon after it was started", "out of luck", "it is tried again in"] {
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_has_answered_a_call_or_lived_for_a_while_is_started_again_at_once() {
    let server = ScriptServer::new(FATAL);
    let lost = Err(ErrorKind::OutcomeUnknown);
    for starts in 1..=4 {
        assert_eq!(call(&server, "good").await, (Ok(()), starts));
        assert_eq!(call(&server, "bad").await, (lost, starts));
    }
    for starts in 5..=8 {
        assert_eq!(server.loader.load().await.rejected, []);
        pass(SETTLED_AFTER).await;
        assert_eq!(call(&server, "bad").await, (lost, starts));
    }
}

#[tokio::test]
async fn a_server_that_ends_over_its_list_is_not_started_for_every_load() {
    let server = ScriptServer::new("on_list() { exit 1; }");
    for starts in [1, 2, 2, 2] {
        assert_eq!(server.loader.load().await.rejected.len(), 1);
        assert_eq!(server.process_ids().len(), starts);
    }
}

#[tokio::test]
async fn a_server_that_ends_while_nobody_calls_is_left_alone_too() {
    let server = ScriptServer::new("");
    for starts in [1, 2] {
        assert_eq!(server.loader.load().await.rejected, []);
        let process = server.process_ids()[starts - 1];
        std::process::Command::new("kill").args(["-KILL", &process.to_string()]).status().unwrap();
        eventually(async || (!runs(process) && !server.connection.is_open()).then_some(())).await;
    }
    assert_eq!(call(&server, "one").await, (Err(ErrorKind::Unavailable), 2));
    pass(FIRST_BACKOFF).await;
    assert_eq!(call(&server, "one").await, (Ok(()), 3));
}

#[test]
fn an_attempt_that_panics_is_a_failure_after_which_the_server_is_tried_again() {
    let server = ScriptServer::new("");
    let runtime = || tokio::runtime::Builder::new_current_thread();
    // Without a clock, waiting for the handshake panics.
    let clockless = runtime().enable_io().build().unwrap();
    let error = clockless.block_on(server.connection.session()).err().unwrap();
    assert!(error.to_string().contains("panicked"), "{error}");
    drop(clockless);
    runtime().enable_all().build().unwrap().block_on(async {
        pass(FIRST_BACKOFF).await;
        assert_eq!(server.loader.load().await.rejected, []);
        server.connection.close().await;
    });
}

#[test]
fn an_attempt_that_ends_with_its_runtime_is_no_attempt_for_ever() {
    let connection = McpConnection::new(McpSource::stdio("test", ["sleep", "600"]));
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let gone = runtime();
    gone.block_on(async {
        let mut begun = std::pin::pin!(connection.session());
        assert!(futures::poll!(begun.as_mut()).is_pending());
    });
    drop(gone);
    runtime().block_on(async {
        assert!(connection.session().await.is_err());
        assert!(connection.retry_at().is_some(), "it may be tried again");
        connection.close().await;
    });
}
