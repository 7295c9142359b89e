//! Servers that mean no good, and names that lead inside.

use std::time::{Duration, Instant};

use axum::response::IntoResponse;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use toolcrib_model::ErrorKind;
use toolcrib_policy::Access;
use toolcrib_port::CallContext;
use toolcrib_testkit::{Canary, LOOPBACK_HOSTS, RawServer, lying_answers};

use super::Place;
use crate::tests::call_with;

const MEGABYTE: usize = 1 << 20;

/// Arguments that each tool takes that reads.
const READING: [&str; 5] = ["get", "head", "json_api", "fetch_page", "download"];

fn arguments(name: &str, url: &str) -> serde_json::Value {
    if name == "download" { json!({"url": url, "path": "file"}) } else { json!({"url": url}) }
}

#[tokio::test]
async fn no_spelling_of_an_inner_address_is_asked() {
    let canary = Canary::start(|_| "reached".into_response()).await.unwrap();
    let port = canary.port();
    let place = Place::of(json!({}));
    let private =
        ["169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "10.0.0.1", "[fe80::1]", "224.0.0.1"];
    for host in LOOPBACK_HOSTS.iter().chain(&private) {
        for (name, url) in [
            ("get", format!("http://{host}:{port}/")),
            ("post", format!("HTTP://{host}:{port}\\api")),
            ("fetch_page", format!(" \thttp:{host}:{port}/#api.example")),
            ("download", format!("http:\\\\{host}:{port}/file")),
        ] {
            let error = place.error(name, arguments(name, &url)).await;
            // A name that nobody knows is not reached either.
            let is_unknown =
                error.kind == ErrorKind::Unavailable && host.to_lowercase().contains("localhost");
            assert!(error.kind == ErrorKind::Denied || is_unknown, "{url}: {error}");
        }
    }
    assert_eq!(canary.hits().len(), 0);
}

#[tokio::test]
async fn only_hosts_that_access_names_are_asked() {
    let canary = Canary::start(|_| "reached".into_response()).await.unwrap();
    let rules = json!({"network": ["api.example.com"]});
    let place = Place::make(json!({"private_origins": [canary.origin()]}), Some(rules)).unwrap();
    for name in READING {
        let error = place.error(name, arguments(name, &canary.url("/a"))).await;
        assert_eq!(error.kind, ErrorKind::Denied, "{error}");
        assert!(error.message.contains("access.network"), "{error}");
    }
    // The rules of the tool of the call narrow those of the module.
    let place = Place::with(&[canary.origin()]);
    let rules = serde_json::from_value(json!({"network": ["api.example.com"]})).unwrap();
    let mut context = CallContext::new("test");
    context.access = Access::new(&rules).unwrap();
    for name in READING {
        let arguments = arguments(name, &canary.url("/a"));
        let error = call_with(&place.module, &context, name, arguments).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Denied, "{error}");
    }
    assert_eq!(canary.hits().len(), 0);
}

#[tokio::test]
async fn an_answer_that_lies_about_itself_ends_in_a_clean_error() {
    for answer in lying_answers() {
        let begins = answer.chars().take(70).collect::<String>();
        let server = RawServer::answering(answer).await.unwrap();
        let place = Place::with(&[server.origin()]);
        for name in ["get", "json_api", "fetch_page", "download"] {
            let error = place.error(name, arguments(name, &server.origin())).await;
            let is_clean = matches!(error.kind, ErrorKind::Unavailable | ErrorKind::LimitReached);
            assert!(is_clean && error.message.len() < 500, "{begins} {name}: {error}");
        }
        // Whether a call that changes something took effect, nobody knows.
        let changed = place.error("post", json!({"url": server.origin()})).await;
        assert_eq!(changed.kind, ErrorKind::OutcomeUnknown, "{begins}: {changed}");
        assert!(!place.folder.path().join("file").exists(), "{begins}");
    }
}

#[tokio::test]
async fn of_a_flood_no_more_is_received_than_is_read() {
    for name in READING {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n";
        let server = RawServer::flooding(head).await.unwrap();
        let place = Place::of(
            json!({"private_origins": [server.origin()], "max_body_bytes": MEGABYTE, "max_download_bytes": MEGABYTE}),
        );
        let result = place.call(name, arguments(name, &server.origin())).await;
        assert!(result.result.to_string().len() < 2 * MEGABYTE, "{name}");
        // The rest stood in the buffers of the system.
        assert!(server.sent() < 50 * MEGABYTE, "{name}");
        assert_eq!(std::fs::read_dir(place.folder.path()).unwrap().count(), 0, "{name}");
    }
}

#[tokio::test]
async fn an_answer_that_drips_ends_with_the_timeout() {
    for head in ["", "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"] {
        let server = RawServer::dripping(head).await.unwrap();
        let place = Place::of(json!({"private_origins": [server.origin()], "timeout_seconds": 1}));
        let began = Instant::now();
        let error = place.error("get", json!({"url": server.origin()})).await;
        assert!(matches!(error.kind, ErrorKind::Timeout | ErrorKind::Unavailable), "{error}");
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn redirects_have_no_more_time_than_one_request() {
    let server = Canary::start(|_| {
        (axum::http::StatusCode::FOUND, [(axum::http::header::LOCATION, "/again")]).into_response()
    })
    .await
    .unwrap();
    let slow = RawServer::start(|mut stream| async move {
        let mut slow = tokio::time::interval(Duration::from_millis(400));
        slow.tick().await;
        slow.tick().await;
        let _ = stream.write_all(b"HTTP/1.1 302 Found\r\nlocation: /more\r\ncontent-length: 0\r\n\r\n").await;
    })
    .await
    .unwrap();
    let place = Place::of(json!({"private_origins": [server.origin(), slow.origin()], "timeout_seconds": 1}));
    let error = place.error("get", json!({"url": slow.origin()})).await;
    assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
}

#[tokio::test]
async fn what_is_compressed_unasked_is_not_blown_up() {
    // 1 MB of zeros, as gzip has them: about a thousandth of that.
    let body = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3].into_iter().chain([0; 2000]).collect::<Vec<u8>>();
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend(body);
    let server = RawServer::answering(answer).await.unwrap();
    let place = Place::with(&[server.origin()]);
    let got = place.ok("get", json!({"url": server.origin()})).await;
    assert_eq!(got["body"]["bytes"], 2010);
    assert!(got["notes"][0].as_str().unwrap().contains("compressed by gzip"), "{got}");
    for name in ["fetch_page", "json_api"] {
        let error = place.error(name, json!({"url": server.origin()})).await;
        assert_eq!(error.kind, ErrorKind::ToolFailed, "{error}");
    }
}
