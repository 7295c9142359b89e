//! Documents and servers that mean no good: what they are refused, and that it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::response::IntoResponse;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use toolcrib_model::{ErrorKind, ToolResult};

use super::Fixture;
use super::canary::Canary;
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
    let canary = Canary::start(|_, _| "reached".into_response()).await;
    let port = canary.port;
    let hosts = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "127.000.000.001",
        "0x7f.1",
    ];
    for host in hosts {
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
    let canary = Canary::start(|_, _| "reached".into_response()).await;
    let port = canary.port;
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
    let canary = Canary::start(|_, _| "reached".into_response()).await;
    let document = json!({
        "openapi": "3.0.3", "servers": [{"url": canary.origin()}], "paths": {"/": {"get": {"operationId": "call"}}},
    });
    let host = Canary::start(move |_, _| axum::Json(document.clone()).into_response()).await;
    // The operator wrote this address, and so it is asked; the one that the document names is not.
    let fixture = Fixture::open(RestSource::new(&format!("{}/api.json", host.origin()), "api")).await;
    let error = fixture.call("call", json!({})).await.error.unwrap();
    assert_eq!((error.kind, canary.hits().len()), (ErrorKind::Denied, 0), "{error}");
}

/// A server that answers one connection after the other with what `play` writes.
pub(super) async fn raw<F>(play: impl Fn(TcpStream) -> F + Send + 'static) -> (String, JoinHandle<()>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // The head of the request, which fits into this.
            if stream.read(&mut [0; 4096]).await.is_ok() {
                tokio::spawn(play(stream));
            }
        }
    });
    (origin, task)
}

/// What comes of an answer of these bytes, after which the connection is closed.
async fn answered(answer: Vec<u8>, method: &str) -> ToolResult {
    let (origin, server) = raw(move |mut stream| {
        let answer = answer.clone();
        async move {
            // The client may have had enough before the end.
            let _ = stream.write_all(&answer).await;
        }
    })
    .await;
    let result = call_with(json!([]), method, |source| {
        source.with_base_url(origin).with_timeout(Duration::from_secs(5)).with_max_response_bytes(MEGABYTE)
    })
    .await;
    server.abort();
    result
}

#[tokio::test]
async fn an_answer_that_lies_about_itself_ends_in_a_clean_error() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\n{}".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n{}".into(),
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}".into(),
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 50\r\n\r\n{}".into(),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}".into(),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{}".into(),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}".into(),
        format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(10_000)),
        format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(MEGABYTE)),
        "HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n".into(),
        "HTTP/9.9 200 OK\r\n\r\n".into(),
        "HTTP/1.1 99999 OK\r\n\r\n".into(),
        "\0\x01\x02 no HTTP at all".into(),
        String::new(),
        "HTTP/1.1 100 Continue\r\n\r\n".into(),
    ] {
        let begins = answer.chars().take(70).collect::<String>();
        let read = answered(answer.clone().into_bytes(), "get").await.error.unwrap();
        assert_eq!(read.kind, ErrorKind::Unavailable, "{begins}: {read}");
        assert!(read.message.len() < 500, "{begins}: {read}");
        // Whether a call that changes something took effect, nobody knows.
        let changed = answered(answer.into_bytes(), "post").await.error.unwrap();
        assert_eq!(changed.kind, ErrorKind::OutcomeUnknown, "{begins}: {changed}");
    }
}

#[tokio::test]
async fn what_is_behind_the_announced_end_is_not_read() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(answered(answer.to_vec(), "get").await.result, json!({}));
}

#[tokio::test]
async fn of_an_answer_of_100_megabytes_no_more_is_received_than_is_read() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let (origin, server) = raw(move |mut stream| {
        let counted = Arc::clone(&counted);
        async move {
            let chunk = vec![b'x'; 64 * 1024];
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
            if stream.write_all(head).await.is_err() {
                return;
            }
            for _ in 0..100 * MEGABYTE / chunk.len() {
                if stream.write_all(&chunk).await.is_err() {
                    return;
                }
                counted.fetch_add(chunk.len(), Ordering::SeqCst);
            }
        }
    })
    .await;
    let result =
        call_with(json!([]), "get", |source| source.with_base_url(origin).with_max_response_bytes(MEGABYTE))
            .await;
    assert_eq!(result.metadata["truncated"], true);
    assert_eq!(result.result.as_str().map(str::len), Some(MEGABYTE));
    // The rest stood in the buffers of the system.
    assert!(sent.load(Ordering::SeqCst) < 50 * MEGABYTE);
    server.abort();
}

#[tokio::test]
async fn an_answer_that_drips_ends_with_the_timeout() {
    for head in ["", "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"] {
        let (origin, server) = raw(move |mut stream| async move {
            if stream.write_all(head.as_bytes()).await.is_err() {
                return;
            }
            let mut drip = tokio::time::interval(Duration::from_millis(5));
            // First the head of an answer, letter by letter, where there was none.
            while stream.write_all(b"H").await.is_ok() {
                drip.tick().await;
            }
        })
        .await;
        let timeout = Duration::from_millis(100);
        let result =
            call_with(json!([]), "get", |source| source.with_base_url(origin).with_timeout(timeout)).await;
        let error = result.error.unwrap();
        let expected = if head.is_empty() {
            [ErrorKind::Timeout, ErrorKind::Unavailable]
        } else {
            [ErrorKind::Timeout; 2]
        };
        assert!(expected.contains(&error.kind), "{error}");
        server.abort();
    }
}
