//! Hooks that are webhooks.

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_testkit::{Canary, Hit, RawServer};

use super::{configured, hooked};
use crate::cycle::CHAIN_HEADER;

fn webhook(url: &str) -> Value {
    json!({"name": "check", "when": "before", "url": url, "timeout_seconds": 1})
}

#[tokio::test]
async fn a_webhook_gets_a_signed_request_and_its_verdict_decides() {
    let answer = json!({"verdict": "deny", "reason": "the office is closed"});
    let server = Canary::start(move |_: &Hit| Json(answer.clone()).into_response()).await.unwrap();
    let mut settings = webhook(&server.url("/check"));
    settings["headers"] = json!({"Authorization": "Bearer 5f2c"});
    settings["secret"] = json!("a secret that both sides have");
    let fixture = hooked(settings);
    let error = fixture.error().await;
    assert_eq!((error.kind, fixture.runs()), (ErrorKind::Denied, 0));
    assert_eq!(error.message, "the hook `check` denied the call: the office is closed");
    let [hit] = server.hits().try_into().unwrap();
    assert_eq!((hit.method.as_str(), hit.uri.as_str()), ("POST", "/check"));
    assert_eq!(hit.header("authorization"), "Bearer 5f2c");
    assert_eq!(hit.header("content-type"), "application/json");
    assert!(hit.header("webhook-id").starts_with("hook_"));
    assert!(hit.header("webhook-signature").starts_with("v1,"));
    assert_eq!(hit.header(CHAIN_HEADER).len(), 16);
    let message: Value = serde_json::from_str(&hit.body).unwrap();
    assert_eq!([&message["tool"], &message["arguments"]], [&json!("shop.list"), &json!({"value": 1})]);
}

#[tokio::test]
async fn a_webhook_without_a_verdict_ends_the_call() {
    let mut errors = Vec::new();
    let mut failed = async |what: &str, url: String| {
        let mut settings = webhook(&url);
        // Only the silent one is waited for to the end of its time: the others have theirs even on a slow machine.
        settings["timeout_seconds"] = json!(if what == "drip" { 1 } else { 30 });
        let fixture = hooked(settings);
        let error = fixture.error().await;
        assert_eq!((error.kind, fixture.runs()), (ErrorKind::Internal, 0), "{what}: {error}");
        assert!(!error.to_string().contains("key-5f2c"), "the path of a URL may be a key: {error}");
        errors.push(format!("{what}: {}", error.message));
    };
    for status in [204, 302, 401, 500] {
        let server = Canary::start(move |_: &Hit| {
            (StatusCode::from_u16(status).unwrap(), [("location", "/elsewhere")], "no such luck")
                .into_response()
        })
        .await
        .unwrap();
        failed(&status.to_string(), server.url("/key-5f2c")).await;
        assert_eq!(server.hits().len(), 1, "a redirect is not followed");
    }
    let server = Canary::start(|_: &Hit| "yes".into_response()).await.unwrap();
    failed("rubbish", server.url("/key-5f2c")).await;
    let flood =
        RawServer::flooding("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n").await.unwrap();
    failed("flood", format!("{}/key-5f2c", flood.origin())).await;
    let drip = RawServer::dripping("").await.unwrap();
    failed("drip", format!("{}/key-5f2c", drip.origin())).await;
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    failed("dead", format!("http://127.0.0.1:{port}/key-5f2c")).await;
    insta::assert_snapshot!(errors.join("\n"));
}

#[tokio::test]
async fn a_private_address_is_reached_only_if_the_url_or_the_entry_says_so() {
    let server = Canary::start(|_: &Hit| Json(json!({"verdict": "allow"})).into_response()).await.unwrap();
    assert!(hooked(webhook(&server.url("/"))).result(json!(1)).await.is_ok());
    let mut settings = webhook(&server.url("/"));
    settings["allow_private"] = json!(false);
    let error = configured(settings).unwrap_err();
    assert_eq!(error.pointer, "/url");
    assert!(error.message.contains("private"), "{error}");
}
