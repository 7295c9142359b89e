//! Documents and servers that mean no good: what they are refused, and that it ends.

use std::time::Duration;

use axum::response::IntoResponse;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, ToolResult};
use toolcrib_testkit::{Canary, LOOPBACK_HOSTS, RawServer, lying_answers};

use super::Fixture;
use crate::RestSource;

pub(super) const MEGABYTE: usize = 1 << 20;

/// Calls the only operation of a document with these servers.
async fn call_with(
    servers: Value,
    method: &str,
    configure: impl FnOnce(RestSource) -> RestSource,
) -> ToolResult {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.json");
    let document = json!({
        "openapi": "3.0.3", "servers": servers, "paths": {"/secret": {method: {"operationId": "call"}}},
    });
    std::fs::write(&path, document.to_string()).unwrap();
    let fixture = Fixture::open(configure(RestSource::new(path.to_str().unwrap(), "api"))).await;
    fixture.call("call", json!({})).await
}

async fn call(server: &str) -> ToolResult {
    call_with(json!([{"url": server}]), "get", |source| source).await
}

#[tokio::test]
async fn no_spelling_of_an_inner_address_is_asked() {
    let canary = Canary::start(|_| "reached".into_response()).await.unwrap();
    let port = canary.port();
    for host in LOOPBACK_HOSTS {
        for url in [format!("http://{host}:{port}/api"), format!("HTTP://{host}:{port}\\api")] {
            let error = call(&url).await.error.unwrap();
            let is_refused = error.kind == ErrorKind::Denied;
            // A name that nobody knows is not reached either.
            let is_unknown = error.kind == ErrorKind::Unavailable && error.message.contains("cannot connect");
            assert!(is_refused || is_unknown && host.contains("localhost"), "{url}: {error}");
        }
    }
    assert_eq!(canary.hits().len(), 0);
}

#[tokio::test]
async fn no_address_that_is_special_is_asked() {
    for host in [
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
        "0251.0376.0251.0376",
        "[::ffff:a9fe:a9fe]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "[fc00::1]",
        "[fe80::1]",
        "224.0.0.1",
        "255.255.255.255",
        "[ff02::1]",
    ] {
        let error = call(&format!("http://{host}/latest/meta-data")).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Denied, "{host}: {error}");
        assert!(error.hint.unwrap().contains("`allow_private: true`"));
    }
}

#[tokio::test]
async fn no_trick_of_a_server_url_leads_inside() {
    let canary = Canary::start(|_| "reached".into_response()).await.unwrap();
    let port = canary.port();
    for server in [
        json!({"url": format!("http://api.example@127.0.0.1:{port}/")}),
        json!({"url": format!("http://api.example:80@127.0.0.1:{port}/")}),
        json!({"url": format!("http:127.0.0.1:{port}")}),
        json!({"url": format!("http:\\\\127.0.0.1:{port}")}),
        json!({"url": format!(" \thttp://127.0.0.1:{port}/#api.example")}),
        json!({"url": "http://{host}/", "variables": {"host": {"default": format!("127.0.0.1:{port}")}}}),
        json!({"url": format!("http://1{{rest}}:{port}"), "variables": {"rest": {"default": "27.0.0.1"}}}),
        json!({"url": format!("file://127.0.0.1:{port}/etc/passwd")}),
        json!({"url": "gopher://127.0.0.1/"}),
        json!({"url": format!("//127.0.0.1:{port}")}),
        json!({"url": format!("ws://127.0.0.1:{port}")}),
    ] {
        let error = call_with(json!([server]), "get", |source| source).await.error.unwrap();
        assert!(matches!(error.kind, ErrorKind::Denied | ErrorKind::Unavailable), "{server}: {error}");
        assert!(!error.retryable, "{server}: {error}");
    }
    assert_eq!(canary.hits().len(), 0);
}

#[tokio::test]
async fn a_document_from_a_private_server_leads_to_no_other_private_server() {
    let canary = Canary::start(|_| "reached".into_response()).await.unwrap();
    let document = json!({
        "openapi": "3.0.3", "servers": [{"url": canary.origin()}], "paths": {"/": {"get": {"operationId": "call"}}},
    });
    let host = Canary::start(move |_| axum::Json(document.clone()).into_response()).await.unwrap();
    // The operator wrote this address, and so it is asked; the one that the document names is not.
    let fixture = Fixture::open(RestSource::new(&format!("{}/api.json", host.origin()), "api")).await;
    let error = fixture.call("call", json!({})).await.error.unwrap();
    assert_eq!((error.kind, canary.hits().len()), (ErrorKind::Denied, 0), "{error}");
}

/// What comes of an answer of these bytes, after which the connection is closed.
async fn answered(answer: impl Into<Vec<u8>>, method: &str) -> ToolResult {
    let server = RawServer::answering(answer).await.unwrap();
    call_with(json!([]), method, |source| {
        let source = source.with_base_url(server.origin()).with_timeout(Duration::from_secs(5));
        source.with_max_response_bytes(MEGABYTE)
    })
    .await
}

#[tokio::test]
async fn an_answer_that_lies_about_itself_ends_in_a_clean_error() {
    for answer in lying_answers() {
        let begins = answer.chars().take(70).collect::<String>();
        let read = answered(answer.clone(), "get").await.error.unwrap();
        assert_eq!(read.kind, ErrorKind::Unavailable, "{begins}: {read}");
        assert!(read.message.len() < 500, "{begins}: {read}");
        // Whether a call that changes something took effect, nobody knows.
        let changed = answered(answer, "post").await.error.unwrap();
        assert_eq!(changed.kind, ErrorKind::OutcomeUnknown, "{begins}: {changed}");
    }
}

#[tokio::test]
async fn what_is_behind_the_announced_end_is_not_read() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(answered(answer, "get").await.result, json!({}));
}

#[tokio::test]
async fn of_an_answer_of_100_megabytes_no_more_is_received_than_is_read() {
    let server = RawServer::flooding("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n").await.unwrap();
    let result = call_with(json!([]), "get", |source| {
        source.with_base_url(server.origin()).with_max_response_bytes(MEGABYTE)
    })
    .await;
    assert_eq!(result.metadata["truncated"], true);
    assert_eq!(result.result.as_str().map(str::len), Some(MEGABYTE));
    // The rest stood in the buffers of the system.
    assert!(server.sent() < 50 * MEGABYTE);
}

#[tokio::test]
async fn an_answer_that_drips_ends_with_the_timeout() {
    for head in ["", "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"] {
        let server = RawServer::dripping(head).await.unwrap();
        let timeout = Duration::from_millis(100);
        let result =
            call_with(json!([]), "get", |source| source.with_base_url(server.origin()).with_timeout(timeout))
                .await;
        let error = result.error.unwrap();
        let expected = if head.is_empty() {
            [ErrorKind::Timeout, ErrorKind::Unavailable]
        } else {
            [ErrorKind::Timeout; 2]
        };
        assert!(expected.contains(&error.kind), "{error}");
    }
}
