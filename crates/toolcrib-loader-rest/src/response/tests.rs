//! What the reading of answers promises.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};
use toolcrib_io::http::{Response, header_text};

use super::{body, error_response};
use crate::auth::SentCredentials;

fn response(status: u16, pairs: &[(&'static str, &'static str)], body: impl Into<Bytes>) -> Response {
    let headers: HeaderMap = pairs
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
    Response {
        status: StatusCode::from_u16(status).unwrap(),
        headers,
        body: body.into(),
        truncated: false,
        elapsed: Duration::ZERO,
    }
}

#[test]
fn the_bytes_decide_what_a_body_is() {
    for (content_type, body, expected, is_warned) in [
        (Some("application/json"), &b"{\"a\": 1}"[..], json!({"a": 1}), false),
        (Some("application/hal+json; x=y"), b"[1]", json!([1]), false),
        (Some("application/json"), b"\xef\xbb\xbf1", json!(1), false),
        (Some("application/json"), b"{", json!("{"), true),
        (
            Some("application/json"),
            b"\xff\0",
            json!({"mimeType": "application/json", "bytes": 2, "blob": "/wA="}),
            true,
        ),
        (None, b"[1]", json!([1]), false),
        (None, b"plain", json!("plain"), false),
        (None, b"\0\x01", json!({"mimeType": "application/octet-stream", "bytes": 2, "blob": "AAE="}), false),
        (Some("application/octet-stream"), b"words", json!("words"), false),
        (Some("image/gif"), b"GIF", json!({"mimeType": "image/gif", "bytes": 3, "blob": "R0lG"}), false),
        (
            Some("not a media type"),
            b"x",
            json!({"mimeType": "not a media type", "bytes": 1, "blob": "eA=="}),
            false,
        ),
        (Some("text/plain"), b"\xe9", json!({"mimeType": "text/plain", "bytes": 1, "blob": "6Q=="}), true),
        (Some("text/plain; charset=\"latin1\""), b"\xe9", json!("é"), false),
        (Some("text/plain; charset=windows-1252"), b"\x80 5", json!("€ 5"), false),
        (Some("text/plain; charset=Shift_JIS"), b"\x93\xfa\x96\x7b", json!("日本"), false),
        (Some("text/csv; charset=GBK"), b"\xd6\xd0", json!("中"), false),
        (
            Some("text/plain; charset=martian"),
            b"\xe9",
            json!({"mimeType": "text/plain; charset=martian", "bytes": 1, "blob": "6Q=="}),
            true,
        ),
        (Some("application/json"), b"", Value::Null, false),
    ] {
        let (value, warning) = body::read(&response(200, &[], body), content_type);
        assert_eq!((value, warning.is_some()), (expected, is_warned), "{content_type:?} {body:?}");
    }
}

#[test]
fn a_json_text_that_is_deeper_than_any_reader_takes_is_a_text() {
    let deep = "[".repeat(100_000);
    let (value, warning) = body::read(&response(200, &[], deep.clone()), Some("application/json"));
    assert_eq!(value, json!(deep));
    assert!(warning.unwrap().contains("recursion limit"));
}

#[test]
fn a_text_that_was_cut_in_a_character_ends_before_it() {
    let mut cut = response(200, &[], &"aé".as_bytes()[..2]);
    cut.truncated = true;
    let (value, warning) = body::read(&cut, Some("text/plain"));
    assert_eq!((value, warning.unwrap().contains("truncated")), (json!("a"), true));
}

#[test]
fn a_failure_is_told_in_sentences() {
    let problem = json!({
        "type": "https://example.com/out-of-credit", "title": "No credit", "detail": "You have 30, and it costs 50.",
        "status": 403, "balance": 30,
    });
    let told = |response: &Response| {
        let content_type = header_text(&response.headers, http::header::CONTENT_TYPE);
        let error = error_response::error("GET /a", response, content_type, &SentCredentials::default());
        format!("{} [{}] {}", error.message, error.retryable, error.hint.unwrap_or_default())
    };
    let typed = |status, content_type, body: &str| {
        response(status, &[("content-type", content_type)], body.to_owned())
    };
    let all: Vec<String> = [
        typed(403, "application/problem+json", &problem.to_string()),
        typed(500, "application/problem+json", "{\"status\": 500}"),
        typed(422, "text/html", " <b>no</b> \n"),
        typed(502, "image/png", "\0\0"),
        response(401, &[], ""),
        response(429, &[("retry-after", "7")], ""),
        response(302, &[("location", "https://elsewhere.example/")], ""),
        response(418, &[], ""),
    ]
    .iter()
    .map(told)
    .collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn no_more_than_two_kilobytes_of_a_failure_are_told() {
    for body in ["x".repeat(2048), "x".repeat(2049), "é".repeat(5000), "x".repeat(2047) + "é"] {
        let error = error_response::error(
            "GET /a",
            &response(500, &[], body.clone()),
            None,
            &SentCredentials::default(),
        );
        let said =
            error.message.strip_prefix("GET /a was answered with 500 Internal Server Error: ").unwrap();
        assert_eq!(said.ends_with('…'), body.len() > 2048, "{}", body.len());
        let said = said.trim_end_matches('…');
        assert!(said.len() <= 2048 && said.len() >= 2047 && body.starts_with(said));
    }
}
