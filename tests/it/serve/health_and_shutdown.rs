//! Health, figures and the end.

use std::time::Instant;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::client::{SOON, Served, WAITS, app, call_ask, let_go, read, read_until, until_called};
use crate::support::{PATIENCE, mcp_script};

const GRANTED: &str = "{default_policy: grant}";

#[tokio::test]
async fn it_says_how_it_is_and_what_it_has_done() {
    let dir = app("", GRANTED);
    let served = Served::start(&dir, &[]).await;
    assert_eq!(served.get("/healthz", &[]).await.body, "ok\n");
    assert_eq!(served.get("/readyz", &[]).await.body, "ready\n");
    served.modern(&[], "tools/call", call_ask()).await;
    served.modern(&[], "tools/call", json!({"name": "nothing"})).await;
    let text = served.get("/metrics", &[]).await.body;
    for line in [
        "toolcrib_calls_total{outcome=\"ok\"} 1",
        "toolcrib_calls_total{outcome=\"unknown_tool\"} 1",
        "toolcrib_call_seconds_count 2",
        "toolcrib_http_requests_total{status=\"200\"} 4",
        "toolcrib_calls_running 0",
        "toolcrib_sources_down 0",
        "# TYPE toolcrib_call_seconds histogram",
    ] {
        assert!(text.lines().any(|own| own == line), "{line:?} is not in:\n{text}");
    }
}

#[tokio::test]
async fn the_log_has_a_line_for_each_request_and_call_that_a_program_can_read() {
    let dir = app("serve: {tokens: [{name: ci, token: '${CI}'}]}", GRANTED)
        .with_variable("CI", "a-token-for-the-builds")
        .with_variable("TOOLCRIB_LOG", "toolcrib_server=info")
        .with_variable("TOOLCRIB_LOG_FORMAT", "json");
    let served = Served::start(&dir, &[]).await;
    let ci = [("authorization", "Bearer a-token-for-the-builds")];
    let call = json!({"name": "team__ask", "arguments": {"what": "a value of a call"}});
    served.modern(&ci, "tools/call", call).await;
    let session = served.session(&ci, json!({})).await;
    let params = json!({"name": "x".repeat(1000), "arguments": {}});
    let long = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    served.post(&[ci[0], ("mcp-session-id", &session)], &long).await;
    served.get(&format!("/{}?key=a-key", "x".repeat(1000)), &ci).await;
    let said = served.until_says("404").await;
    let lines: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let logged = |message: &str, field: &str, value: &str| {
        let is_it = |line: &&Value| line["fields"]["message"] == message && line["fields"][field] == value;
        lines.iter().find(is_it).unwrap_or_else(|| panic!("{message}: {said}"))["fields"].clone()
    };
    let call = logged("answered a call", "tool", "team::ask");
    assert_eq!((&call["client"], &call["outcome"]), (&json!("ci"), &json!("ok")));
    assert!(call["ms"].is_u64(), "{call}");
    let request = logged("answered a request", "path", "/mcp");
    assert_eq!((&request["method"], &request["status"]), (&json!("POST"), &json!(200)));
    for kept in ["a value of a call", "a-token-for-the-builds", "a-key", &"x".repeat(300)] {
        assert!(!said.contains(kept), "{said}");
    }
    // Without a terminal there are no colours.
    assert!(!said.contains('\u{1b}'), "{said}");
}

#[tokio::test]
async fn a_call_that_runs_is_finished_before_the_end_and_none_is_begun() {
    let dir = app("", GRANTED).with_file("server.sh", mcp_script(WAITS));
    let mut served = Served::start(&dir, &[]).await;
    let session = served.session(&[], json!({})).await;
    let named = [("mcp-session-id", session.as_str())];
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call_ask()}).to_string();
    let mut running = served.begun(&dir, &named, &call).await;
    served.terminate();
    timeout(SOON, async {
        while served.get("/readyz", &[]).await.status != 503 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("it says that it is leaving");
    assert_eq!(served.post(&named, &call.replace("\"id\":1", "\"id\":2")).await.status, 503);
    let_go(&dir);
    let text = read_until(&mut running, "ask done").await;
    assert!(text.contains("200 OK"), "{text}");
    let status = timeout(PATIENCE, served.child.wait()).await.unwrap().unwrap();
    assert!(status.success(), "{status}");
    dir.assert_nothing_is_left(&[]).await;
}

#[tokio::test]
async fn streams_that_only_wait_do_not_delay_the_end_and_a_second_signal_ends_it_at_once() {
    let dir = app("", GRANTED);
    let mut served = Served::start(&dir, &[]).await;
    let session = served.session(&[], json!({})).await;
    let headers = [("mcp-session-id", session.as_str()), ("content-length", "0")];
    let mut waiting = served.connect().await;
    waiting.write_all(&served.request("GET", "/mcp", &headers, "")).await.unwrap();
    read_until(&mut waiting, "\r\n\r\n").await;
    let since = Instant::now();
    served.terminate();
    let status = timeout(PATIENCE, served.child.wait()).await.unwrap().unwrap();
    assert!(
        status.success() && since.elapsed() < well_before_the_drain_is_over(),
        "{status} {:?}",
        since.elapsed()
    );
    drop(read(&mut waiting).await);

    let hangs = r#"on_call() { echo x >> "$HOME/called"; sleep 100; }"#;
    let dir = app("", GRANTED).with_file("server.sh", mcp_script(hangs));
    let mut served = Served::start(&dir, &[]).await;
    let mut running = served.connect().await;
    let session = served.session(&[], json!({})).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call_ask()}).to_string();
    running.write_all(&served.request("POST", "/mcp", &[("mcp-session-id", &session)], &call)).await.unwrap();
    until_called(&dir).await;
    let since = Instant::now();
    served.terminate();
    timeout(SOON, async {
        while served.get("/readyz", &[]).await.status != 503 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    served.terminate();
    timeout(PATIENCE, served.child.wait()).await.unwrap().unwrap();
    assert!(since.elapsed() < well_before_the_drain_is_over(), "{:?}", since.elapsed());
    dir.assert_nothing_is_left(&[]).await;
}

/// Less than calls are waited for.
fn well_before_the_drain_is_over() -> std::time::Duration {
    std::time::Duration::from_secs(8)
}
