//! Servers over stdio, well behaved and not.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, Risk};
use toolcrib_port::{RejectKind, ToolEngine as _, ToolLoader as _};

use super::server::{ScriptServer, runs};
use super::{PATIENCE, authorized, context, eventually, invoke};
use crate::{McpConnection, McpLoader, McpSource};

/// Within which an error must follow the exit of a server.
const PROMPTLY: Duration = Duration::from_secs(1);

/// How often the other tasks get their turn before a write that cannot end has surely begun.
const TURNS_UNTIL_WRITTEN: usize = 100;

#[tokio::test]
async fn the_tools_of_all_pages_load() {
    let server = ScriptServer::new(
        r#"on_list() {
             case $line in
               *'"cursor":"next"'*) reply "{\"tools\":[$(tool two)]}" ;;
               *) reply "{\"tools\":[$(tool one)],\"nextCursor\":\"next\"}" ;;
             esac
           }"#,
    );
    let loaded = server.loader.load().await;
    assert_eq!(loaded.rejected, []);
    let names: Vec<_> = loaded.tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["test::one", "test::two"]);
    assert_eq!(server.loader.source(), "mcp test");
}

#[tokio::test]
async fn pages_without_end_are_cut_off_and_what_came_before_loads() {
    let server =
        ScriptServer::new(r#"on_list() { reply "{\"tools\":[$(tool one)],\"nextCursor\":\"again\"}"; }"#);
    let loaded = server.loader.load().await;
    assert_eq!(loaded.tools.len(), 1);
    assert_eq!(loaded.rejected[0].kind, RejectKind::Duplicate);
    assert!(loaded.rejected[1].reason.contains("the same next page twice"), "{:?}", loaded.rejected);
}

#[tokio::test]
async fn a_broken_tool_hides_no_other() {
    let server = ScriptServer::new(
        r#"on_list() { reply "{\"tools\":[{\"name\":\"no_schema\"},$(tool good),$(tool 'a::b'),{}]}"; }"#,
    );
    let loaded = server.loader.load().await;
    assert_eq!(loaded.tools.len(), 1);
    assert_eq!(loaded.tools[0].name.name(), "good");
    let rejected: Vec<_> =
        loaded.rejected.iter().map(|reject| (reject.name.as_deref(), reject.kind)).collect();
    assert_eq!(
        rejected,
        [
            (Some("no_schema"), RejectKind::InvalidTool),
            (None, RejectKind::InvalidTool),
            (Some("a::b"), RejectKind::InvalidTool)
        ]
    );
    assert!(loaded.rejected[0].reason.contains("inputSchema"), "{}", loaded.rejected[0].reason);
}

#[tokio::test]
async fn lines_that_are_not_json_are_passed_over() {
    let server = ScriptServer::new("on_start() { echo 'listening on stdio …'; echo; echo '{'; }");
    assert_eq!(server.loader.load().await.tools.len(), 1);
}

#[tokio::test]
async fn a_missing_program_is_one_reject_that_names_it() {
    let connection = McpConnection::new(McpSource::stdio("test", ["no-such-program-anywhere", "--flag"]));
    let loaded = McpLoader::new(connection).load().await;
    assert_eq!(loaded.rejected.len(), 1);
    assert_eq!(loaded.rejected[0].kind, RejectKind::Unavailable);
    assert!(
        loaded.rejected[0].reason.contains("no-such-program-anywhere --flag"),
        "{}",
        loaded.rejected[0].reason
    );
    assert!(loaded.rejected[0].reason.contains("not found"), "{}", loaded.rejected[0].reason);
}

#[tokio::test]
async fn a_server_that_exits_before_the_handshake_is_reported_with_its_status_and_last_words() {
    let server = ScriptServer::new("on_start() { echo 'no database' >&2; exit 3; }");
    let before = Instant::now();
    let loaded = server.loader.load().await;
    assert!(before.elapsed() < PROMPTLY, "{:?}", before.elapsed());
    assert_eq!(loaded.rejected.len(), 1);
    let reason = &loaded.rejected[0].reason;
    assert!(reason.contains("exited with status 3 before the handshake"), "{reason}");
    assert!(reason.contains("server.sh"), "{reason}");
    assert!(reason.contains("no database"), "{reason}");
}

#[tokio::test]
async fn a_silent_server_is_given_up_at_its_startup_timeout_and_killed() {
    let server = ScriptServer::with("on_start() { echo hm >&2; exec sleep 600; }", |source| {
        source.with_startup_timeout(Duration::from_millis(500))
    });
    let before = Instant::now();
    let loaded = server.loader.load().await;
    assert!(before.elapsed() < Duration::from_secs(2), "{:?}", before.elapsed());
    let reason = &loaded.rejected[0].reason;
    assert!(reason.contains("did not answer the handshake within 0.5 s"), "{reason}");
    assert!(reason.contains("hm"), "{reason}");
    let process = server.process_ids()[0];
    eventually(async || (!runs(process)).then_some(())).await;
}

#[tokio::test]
async fn a_server_that_failed_is_left_alone_for_a_while_and_then_tried_again() {
    let server = ScriptServer::new(r#"on_start() { [ -e "${LOG%log}ready" ] || exit 1; }"#);
    assert_eq!(server.loader.load().await.tools.len(), 0);
    fs::write(server.path().join("ready"), "").unwrap();

    let reason = server.loader.load().await.rejected.remove(0).reason;
    assert!(reason.contains("exited with status 1"), "{reason}");
    assert!(reason.contains("tried again in 1 s"), "{reason}");
    // It was greeted in the way of either era.
    assert_eq!(server.process_ids().len(), 2);

    tokio::time::pause();
    tokio::time::advance(crate::connection::backoff::FIRST_BACKOFF).await;
    tokio::time::resume();
    assert_eq!(server.loader.load().await.tools.len(), 1);
    assert_eq!(server.process_ids().len(), 3);
}

#[tokio::test]
async fn loads_and_calls_at_the_same_time_share_one_server() {
    let server = ScriptServer::new("");
    let context = context();
    let (first, second, call) = tokio::join!(
        server.loader.load(),
        server.loader.load(),
        invoke(&server.engine, authorized("one", json!({})), &context)
    );
    assert_eq!((first.tools.len(), second.tools.len()), (1, 1));
    assert_eq!(call.result, "called one");
    assert_eq!(server.process_ids().len(), 1);
}

#[tokio::test]
async fn a_start_goes_on_when_the_caller_that_began_it_gives_up() {
    let server = ScriptServer::new("");
    {
        let mut begun = std::pin::pin!(server.connection.session());
        assert!(futures::poll!(begun.as_mut()).is_pending());
    }
    eventually(async || (!server.logged("notifications/initialized").is_empty()).then_some(())).await;
    assert_eq!(server.loader.load().await.tools.len(), 1);
    assert_eq!(server.process_ids().len(), 1);
}

#[tokio::test]
async fn arguments_reach_the_server_as_they_are() {
    let server = ScriptServer::new("");
    let arguments = json!({"path": "a/b", "deep": {"list": [1, 2.5, null]}});
    assert!(invoke(&server.engine, authorized("one", arguments.clone()), &context()).await.is_ok());
    let sent: Value = serde_json::from_str(&server.logged("tools/call")[0]).unwrap();
    assert_eq!(sent["params"]["arguments"], arguments);
}

#[tokio::test]
async fn errors_of_the_protocol_have_kinds_that_say_what_to_do() {
    let server = ScriptServer::new(
        r"on_call() {
             case $1 in
               wrong) fail -32602 'location must be a city' ;;
               gone) fail -32602 'Tool gone not found' ;;
               *) fail -32000 'disk full' ;;
             esac
           }",
    );
    for (tool, kind, message) in [
        ("wrong", ErrorKind::InvalidArgs, "location must be a city"),
        ("gone", ErrorKind::ToolChanged, "Tool gone not found"),
        ("other", ErrorKind::ToolFailed, "disk full"),
    ] {
        let error = invoke(&server.engine, authorized(tool, json!({})), &context()).await.error.unwrap();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(message), "{error}");
    }
    assert_eq!(server.process_ids().len(), 1);
}

#[tokio::test]
async fn a_server_that_dies_during_a_call_leaves_the_outcome_unknown_and_no_process_and_is_restarted() {
    let server = ScriptServer::new(
        r#"on_call() {
             [ "$1" = one ] && { text alive; return; }
             sleep 600 & echo "start $!" >> "$LOG"
             echo 'out of cheese' >&2
             exit 7
           }"#,
    );
    let before = Instant::now();
    let error = invoke(&server.engine, authorized("fatal", json!({})), &context()).await.error.unwrap();
    assert!(before.elapsed() < PROMPTLY, "{:?}", before.elapsed());
    assert_eq!(error.kind, ErrorKind::OutcomeUnknown);
    assert!(!error.retryable);
    assert!(error.message.contains("exited with status 7 during the call"), "{error}");
    assert!(error.message.contains("out of cheese"), "{error}");
    assert_eq!(server.logged("tools/call").len(), 1, "sent once");
    let processes = server.process_ids();
    assert_eq!(processes.len(), 2, "the server and its descendant");
    eventually(async || processes.iter().all(|process| !runs(*process)).then_some(())).await;

    let again = invoke(&server.engine, authorized("one", json!({})), &context()).await;
    assert_eq!(again.result, "alive");
}

#[tokio::test]
async fn an_answer_written_just_before_the_exit_still_counts() {
    let server = ScriptServer::new("on_call() { text 'the last one'; exit 0; }");
    for _ in 0..2 {
        let result = invoke(&server.engine, authorized("one", json!({})), &context()).await;
        assert_eq!(result.result, "the last one", "{:?}", result.error);
        let processes = server.process_ids();
        let is_over = || processes.iter().all(|process| !runs(*process)) && !server.connection.is_open();
        eventually(async || is_over().then_some(())).await;
    }
}

#[tokio::test]
async fn a_server_that_dies_while_nobody_calls_is_restarted_without_an_error() {
    let server = ScriptServer::new("");
    assert_eq!(server.loader.load().await.tools.len(), 1);
    let session = server.connection.session().await.unwrap();
    let killed = server.process_ids()[0].to_string();
    std::process::Command::new("kill").args(["-KILL", &killed]).status().unwrap();
    tokio::time::timeout(PATIENCE, session.ended()).await.unwrap();

    let result = invoke(&server.engine, authorized("one", json!({})), &context()).await;
    assert_eq!(result.result, "called one", "{:?}", result.error);
}

#[tokio::test]
async fn the_server_is_told_when_a_call_is_cancelled_and_when_it_is_dropped() {
    let server = ScriptServer::new(r#"on_call() { [ "$1" = hang ] || text "called $1"; }"#);
    let cancel = CancellationToken::new();
    let context = context().with_cancel(cancel.clone());
    let call = invoke(&server.engine, authorized("hang", json!({})), &context);
    let cancel_once_sent = async {
        eventually(async || (server.logged("tools/call").len() == 1).then_some(())).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(call, cancel_once_sent);
    assert_eq!(result.error.unwrap().kind, ErrorKind::Cancelled);
    let told = eventually(async || server.logged("notifications/cancelled").pop()).await;
    assert_eq!(request_id(&told, "/params/requestId"), request_id(&server.logged("tools/call")[0], "/id"));

    let context = super::context();
    {
        let mut dropped = std::pin::pin!(invoke(&server.engine, authorized("hang", json!({})), &context));
        let sent = eventually(async || (server.logged("tools/call").len() == 2).then_some(()));
        tokio::select! {
            _ = dropped.as_mut() => panic!("the server does not answer"),
            () = sent => {}
        }
    }
    eventually(async || (server.logged("notifications/cancelled").len() == 2).then_some(())).await;
    let after = invoke(&server.engine, authorized("one", json!({})), &context).await;
    assert_eq!(after.result, "called one");
    assert_eq!(server.process_ids().len(), 1);
}

#[tokio::test]
async fn a_server_that_no_longer_reads_is_given_up_when_it_cannot_be_told() {
    let server = ScriptServer::new("on_call() { exec sleep 600; }");
    let context = context();
    tokio::select! {
        result = invoke(&server.engine, authorized("hang", json!({})), &context) => panic!("{result:?}"),
        () = eventually(async || (!server.logged("tools/call").is_empty()).then_some(())) => {}
    }
    let more_than_a_pipe_holds = json!({"text": "x".repeat(1 << 20)});
    {
        let mut call =
            std::pin::pin!(invoke(&server.engine, authorized("hang", more_than_a_pipe_holds), &context));
        for _ in 0..TURNS_UNTIL_WRITTEN {
            assert!(futures::poll!(call.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
    }
    let session = server.connection.session().await.unwrap();
    tokio::time::pause();
    let given_up = tokio::time::timeout(PATIENCE, session.ended()).await;
    tokio::time::resume();
    given_up.expect("it is given up before that");
    drop(session);
    let process = server.process_ids()[0];
    eventually(async || (!runs(process)).then_some(())).await;
}

fn request_id(line: &str, pointer: &str) -> Value {
    serde_json::from_str::<Value>(line).unwrap().pointer(pointer).unwrap().clone()
}

#[tokio::test]
async fn requests_of_the_server_are_refused() {
    let server = ScriptServer::new(
        r#"on_call() {
             call=$id
             echo '{"jsonrpc":"2.0","id":"r","method":"roots/list"}'
             IFS= read -r answer
             id=$call
             case $answer in *-32601*) text refused ;; *) text granted ;; esac
           }"#,
    );
    let result = invoke(&server.engine, authorized("one", json!({})), &context()).await;
    assert_eq!(result.result, "refused");
}

#[tokio::test]
async fn an_answer_that_is_no_result_is_an_error_and_the_server_stays() {
    let server = ScriptServer::new(r#"on_call() { reply '{"content":[{"type":"hologram"}]}'; }"#);
    for _ in 0..2 {
        let error = invoke(&server.engine, authorized("one", json!({})), &context()).await.error.unwrap();
        assert!(error.message.contains("not a tool result"), "{error}");
    }
    assert_eq!(server.process_ids().len(), 1);
}

#[tokio::test]
async fn closing_ends_the_server_for_good() {
    let server = ScriptServer::new("");
    assert_eq!(server.loader.load().await.tools.len(), 1);
    server.engine.close().await;
    assert!(!runs(server.process_ids()[0]));
    let reason = server.loader.load().await.rejected.remove(0).reason;
    assert!(reason.contains("is closed"), "{reason}");
    assert_eq!(server.process_ids().len(), 1);
}

#[tokio::test]
async fn closing_does_not_wait_for_a_start_that_is_under_way() {
    let server = ScriptServer::new("on_start() { exec sleep 600; }");
    let before = Instant::now();
    let started = async {
        eventually(async || server.process_ids().first().copied()).await;
        server.engine.close().await;
    };
    let (loaded, ()) = tokio::join!(server.loader.load(), started);
    assert!(before.elapsed() < crate::DEFAULT_STARTUP_TIMEOUT / 2);
    assert!(loaded.rejected[0].reason.contains("is closed"), "{}", loaded.rejected[0].reason);
    let process = server.process_ids()[0];
    eventually(async || (!runs(process)).then_some(())).await;
}

#[tokio::test]
async fn dropping_everything_kills_the_server() {
    let server = ScriptServer::new("");
    assert_eq!(server.loader.load().await.tools[0].traits().risk, Risk::Medium);
    let process = server.process_ids()[0];
    assert!(runs(process));
    drop(server);
    eventually(async || (!runs(process)).then_some(())).await;
}

#[tokio::test]
async fn a_server_is_told_the_trace_and_the_run_of_a_call_and_nothing_where_there_is_none() {
    let server = ScriptServer::new("");
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for context in [context().with_trace(trace).with_run_key("schedule_7/1"), context()] {
        invoke(&server.engine, authorized("one", json!({})), &context).await;
    }
    let [first, second] = server.logged("tools/call").try_into().unwrap();
    let meta = |line: &str| {
        let meta = serde_json::from_str::<Value>(line).unwrap()["params"]["_meta"].clone();
        (meta["traceparent"].clone(), meta["toolcrib/run-key"].clone())
    };
    assert_eq!(meta(&first), (trace.into(), "schedule_7/1".into()));
    assert_eq!(meta(&second), (Value::Null, Value::Null));
}
