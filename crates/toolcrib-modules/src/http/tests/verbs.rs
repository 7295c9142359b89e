//! The tools that are named after methods, and `json_api`.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_testkit::{Canary, Hit};

use super::Place;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

fn answer(hit: &Hit) -> Response {
    let typed =
        |kind: &'static str, body: &'static [u8]| ([(header::CONTENT_TYPE, kind)], body).into_response();
    match hit.uri.split('?').next().unwrap() {
        "/json" => ([("x-total-count", "7"), ("set-cookie", "a=1")], axum::Json(json!({"a": [1, null]})))
            .into_response(),
        "/text" => typed("text/plain", "héllo".as_bytes()),
        "/latin" => typed("text/plain; charset=ISO-8859-1", b"h\xe9llo"),
        "/broken" => typed("application/json", b"{"),
        "/png" => typed("image/png", PNG),
        "/data" => typed("application/x-thing", b"\x00\x01"),
        "/large" => ([(header::CONTENT_TYPE, "text/plain")], "é".repeat(2000)).into_response(),
        "/large-data" => ([(header::CONTENT_TYPE, "application/zip")], vec![0_u8; 3000]).into_response(),
        "/missing" => (StatusCode::NOT_FOUND, "no such note").into_response(),
        "/busy" => (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "7")], "").into_response(),
        "/none" => StatusCode::NO_CONTENT.into_response(),
        _ => "ok".into_response(),
    }
}

async fn place() -> (Canary, Place) {
    let server = Canary::start(answer).await.unwrap();
    let place = Place::of(json!({"private_origins": [server.origin()], "max_body_bytes": 1001}));
    (server, place)
}

#[tokio::test]
async fn a_body_is_what_its_bytes_are() {
    let (server, place) = place().await;
    let get = async |path: &str| place.ok("get", json!({"url": server.url(path)})).await;
    let found = get("/json").await;
    assert_eq!(found["body"], json!({"a": [1, null]}));
    assert_eq!((&found["status"], &found["ok"]), (&json!(200), &json!(true)));
    assert_eq!(found["headers"], json!({"x-total-count": "7"}), "a cookie is a credential");
    assert_eq!(get("/text").await["body"], "héllo");
    let latin = get("/latin").await;
    assert_eq!((&latin["body"], &latin["notes"]), (&json!("héllo"), &json!(["decoded from windows-1252"])));
    let broken = get("/broken").await;
    assert_eq!(broken["body"], "{");
    assert!(broken["notes"][0].as_str().unwrap().contains("it is not"), "{broken}");
    let png = get("/png").await["body"].clone();
    assert_eq!(png, json!({"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgpyZXN0"}));
    assert_eq!(
        get("/data").await["body"],
        json!({"mimeType": "application/x-thing", "bytes": 2, "blob": "AAE="})
    );
    assert_eq!(get("/none").await["body"], Value::Null);
}

#[tokio::test]
async fn a_large_body_is_cut_where_a_character_ends_and_the_result_says_so() {
    let (server, place) = place().await;
    let large = place.ok("get", json!({"url": server.url("/large")})).await;
    assert_eq!(large["body"].as_str().unwrap(), "é".repeat(500));
    assert!(large["notes"][0].as_str().unwrap().contains("longer than 1001 bytes"), "{large}");
    let data = place.ok("get", json!({"url": server.url("/large-data")})).await;
    assert_eq!(data["body"], Value::Null);
    assert!(data["notes"][0].as_str().unwrap().contains("`http.download`"), "{data}");
    let error = place.error("json_api", json!({"url": server.url("/large")})).await;
    assert!(error.message.contains("longer than 1001 bytes"), "{error}");
}

#[tokio::test]
async fn a_status_of_failure_is_a_result_of_a_method_and_an_error_of_an_interface() {
    let (server, place) = place().await;
    for name in ["get", "post", "put", "patch", "delete"] {
        let missing = place.ok(name, json!({"url": server.url("/missing")})).await;
        assert_eq!(
            (&missing["status"], &missing["ok"], &missing["body"]),
            (&json!(404), &json!(false), &json!("no such note"))
        );
    }
    let head = place.ok("head", json!({"url": server.url("/missing")})).await;
    assert_eq!((&head["status"], &head["body"]), (&json!(404), &Value::Null));
    assert_eq!(head["headers"]["content-length"], "12");
    for name in ["json_api", "fetch_page"] {
        let error = place.error(name, json!({"url": server.url("/missing?key=1")})).await;
        let expected =
            format!("GET {}/missing was answered with 404 Not Found: no such note", server.origin());
        assert_eq!((error.kind, error.message, error.retryable), (ErrorKind::ToolFailed, expected, false));
        let busy = place.error(name, json!({"url": server.url("/busy")})).await;
        assert!(busy.retryable && busy.hint.unwrap().contains("after 7 s"));
    }
}

#[tokio::test]
async fn what_a_call_says_is_what_the_server_is_asked() {
    let (server, place) = place().await;
    let url = server.url("/a?x=1#part");
    place
        .ok(
            "get",
            json!({"url": url, "query": {"q": "a b&c", "n": 3, "f": true}, "headers": {"X-Trace": "t"}}),
        )
        .await;
    place.ok("post", json!({"url": url, "json": {"b": 1, "a": null}})).await;
    place.ok("post", json!({"url": url, "form": {"b": "é&", "a": 1}})).await;
    place.ok("put", json!({"url": url, "body": "a,b", "headers": {"content-type": "text/csv"}})).await;
    place.ok("delete", json!({"url": url})).await;
    let hits = server.hits();
    let asked: Vec<_> = hits
        .iter()
        .map(|hit| (hit.method.as_str(), hit.uri.as_str(), hit.header("content-type"), hit.body.as_str()))
        .collect();
    assert_eq!(
        asked,
        [
            ("GET", "/a?x=1&q=a+b%26c&n=3&f=true", "", ""),
            ("POST", "/a?x=1", "application/json", r#"{"b":1,"a":null}"#),
            ("POST", "/a?x=1", "application/x-www-form-urlencoded", "b=%C3%A9%26&a=1"),
            ("PUT", "/a?x=1", "text/csv", "a,b"),
            ("DELETE", "/a?x=1", "", ""),
        ]
    );
    assert_eq!(hits[0].header("x-trace"), "t");
    assert!(hits[0].header("user-agent").starts_with("toolcrib/"));
}

#[tokio::test]
async fn an_interface_gives_its_data() {
    let (server, place) = place().await;
    let found =
        place.ok("json_api", json!({"url": server.url("/json"), "method": "POST", "json": [1]})).await;
    assert_eq!(found, json!({"status": 200, "headers": {"x-total-count": "7"}, "data": {"a": [1, null]}}));
    let hit = server.hits().remove(0);
    assert_eq!(
        (hit.method.as_str(), hit.header("accept"), hit.body.as_str()),
        ("POST", "application/json", "[1]")
    );
    assert_eq!(place.ok("json_api", json!({"url": server.url("/none")})).await["data"], Value::Null);
    let error = place.error("json_api", json!({"url": server.url("/text")})).await;
    assert!(error.message.contains("of text/plain, is not JSON"), "{error}");
    assert!(error.hint.unwrap().contains("`http.fetch_page`"));
}

#[tokio::test]
async fn arguments_that_cannot_be_meant_are_told_with_what_to_do() {
    let (server, place) = place().await;
    let url = server.url("/");
    let many: serde_json::Map<_, _> = (0..40).map(|n| (format!("x-{n}"), json!("v"))).collect();
    for (name, arguments) in [
        ("get", json!({"url": "example.com"})),
        ("get", json!({"url": "file:///etc/passwd"})),
        ("get", json!({"url": "data:text/plain,x"})),
        ("get", json!({"url": format!("http://user:hunter2@127.0.0.1:{}/", server.port())})),
        ("get", json!({"url": format!("{url}{}", "x".repeat(9000))})),
        ("get", json!({"url": url, "query": {"q": "x".repeat(9000)}})),
        ("get", json!({"url": url, "headers": {"X-A": "a\r\nX-B: b"}})),
        ("get", json!({"url": url, "headers": {"X A": "a"}})),
        ("get", json!({"url": url, "headers": {"X-A": "a".repeat(5000)}})),
        ("get", json!({"url": url, "headers": many})),
        ("get", json!({"url": url, "headers": {"Authorization": "Bearer x"}})),
        ("get", json!({"url": url, "headers": {"cookie": "a=1"}})),
        ("get", json!({"url": url, "headers": {"Host": "other.example"}})),
        ("get", json!({"url": url, "headers": {"Transfer-Encoding": "chunked"}})),
        ("get", json!({"url": url, "headers": {"Content-Length": "0"}})),
        ("get", json!({"url": url, "headers": {"Proxy-Anything": "0"}})),
        ("get", json!({"url": url, "query": {"q": {"deep": 1}}})),
        ("post", json!({"url": url, "json": 1, "body": "x"})),
        ("post", json!({"url": url, "body": "x".repeat(5 << 20)})),
        ("json_api", json!({"url": url, "json": 1})),
    ] {
        let error = place.error(name, arguments.clone()).await;
        assert_eq!(error.kind, ErrorKind::InvalidArgs, "{error}");
        assert!(error.hint.is_some() && error.message.len() < 300, "{error}");
        assert!(!error.message.contains("hunter2"), "{error}");
    }
    assert_eq!(server.hits().len(), 0);
}
