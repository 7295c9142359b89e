//! Where requests are led.

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use toolcrib_model::ErrorKind;
use toolcrib_testkit::Canary;

use super::Place;

fn redirect(to: &str) -> Response {
    (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, to.to_owned())]).into_response()
}

#[tokio::test]
async fn a_request_that_changes_nothing_is_led_within_its_origin() {
    let server = Canary::start(|hit| match hit.uri.as_str() {
        "/a" => redirect("/b"),
        "/b" => redirect("c?d=1"),
        _ => "there".into_response(),
    })
    .await
    .unwrap();
    let place = Place::with(&[server.origin()]);
    let found = place.ok("get", json!({"url": server.url("/a")})).await;
    assert_eq!((&found["body"], &found["redirected_to"]), (&json!("there"), &json!(server.url("/c?d=1"))));
    assert_eq!(place.ok("get", json!({"url": server.url("/c")})).await.get("redirected_to"), None);
}

#[tokio::test]
async fn a_request_that_changes_something_is_not_led_anywhere() {
    let server = Canary::start(|_| redirect("/b")).await.unwrap();
    let place = Place::with(&[server.origin()]);
    for name in ["post", "put", "patch", "delete"] {
        let answer = place.ok(name, json!({"url": server.url("/a")})).await;
        assert_eq!((&answer["status"], &answer["headers"]["location"]), (&json!(307), &json!("/b")));
        assert!(answer["notes"][0].as_str().unwrap().contains("follows no redirect"), "{answer}");
    }
    let error = place.error("json_api", json!({"url": server.url("/a"), "method": "POST"})).await;
    assert!(error.hint.unwrap().contains("follows no redirect"));
    assert_eq!(server.hits().len(), 5);
}

#[tokio::test]
async fn a_cycle_of_redirects_ends() {
    let server = Canary::start(|hit| redirect(if hit.uri == "/a" { "/b" } else { "/a" })).await.unwrap();
    let place = Place::with(&[server.origin()]);
    let answer = place.ok("get", json!({"url": server.url("/a")})).await;
    assert_eq!(answer["status"], 307);
    assert!(answer["notes"][0].as_str().unwrap().contains("more than 5 times"), "{answer}");
    assert_eq!(server.hits().len(), super::super::MAX_REDIRECTS + 1);
    let error = place.error("download", json!({"url": server.url("/a"), "path": "x"})).await;
    assert_eq!(error.kind, ErrorKind::ToolFailed, "{error}");
}

#[tokio::test]
async fn no_redirect_leads_inside() {
    let canary = Canary::start(|_| "reached".into_response()).await.unwrap();
    for target in [
        canary.origin(),
        format!("http://localhost:{}/", canary.port()),
        format!("//127.0.0.1:{}/", canary.port()),
        format!("http://127.1:{}/", canary.port()),
        format!("http://0x7f.1:{}/", canary.port()),
        format!("http://[::ffff:127.0.0.1]:{}/", canary.port()),
        format!("http://user:password@127.0.0.1:{}/", canary.port()),
        format!("\\\\127.0.0.1:{}\\", canary.port()),
        "http://169.254.169.254/latest/meta-data".into(),
        "file:///etc/passwd".into(),
        "gopher://127.0.0.1/".into(),
        "http://".into(),
    ] {
        let last = target.clone();
        let server =
            Canary::start(move |hit| redirect(if hit.uri == "/a" { "/b" } else { &last })).await.unwrap();
        // The canary is one that may be asked; but not by way of another.
        let place = Place::with(&[server.origin(), canary.origin()]);
        for name in ["get", "head", "fetch_page", "json_api", "download"] {
            let mut arguments = json!({"url": server.url("/a")});
            if name == "download" {
                arguments["path"] = json!("file");
            }
            let result = place.call(name, arguments).await;
            let is_refused = result
                .error
                .as_ref()
                .is_some_and(|error| matches!(error.kind, ErrorKind::Denied | ErrorKind::ToolFailed));
            let is_told = result.result["status"] == 307 && result.result["notes"].is_array();
            assert!(is_refused || is_told, "{target} {name}: {result:?}");
        }
        assert_eq!(server.hits().len(), 10, "{target}");
    }
    assert_eq!(canary.hits().len(), 0);
}
