//! Pages that are made to be hard to read. Whoever makes a tree of them runs out of stack, memory or time.

use std::time::{Duration, Instant};

use axum::http::header;
use axum::response::IntoResponse;
use serde_json::json;
use toolcrib_testkit::Canary;

use super::Place;

/// Much more than any of them takes, and much less than one would that is not bounded.
const PATIENCE: Duration = Duration::from_secs(30);

/// These, each with a number in it.
fn numbered(count: usize, piece: &str) -> String {
    (0..count).flat_map(|n| [piece.replace('#', &n.to_string())]).collect()
}

/// How large each is: where a tree is as large as the square of that, there is no room for it.
const SIZE: usize = 192 * 1024;

fn filled(piece: &str) -> String {
    piece.repeat(SIZE / piece.len())
}

#[tokio::test]
async fn no_page_takes_long_or_deep_to_read() {
    let pages = [
        filled("<div>"),
        filled("<ul><li>"),
        filled("<blockquote>"),
        filled("<table><tr><td>"),
        filled("<b><p>"),
        filled("<a href=x>y"),
        filled("<svg><math>"),
        filled("<code>x<p>"),
        filled("</p>"),
        filled("<h1>x</h2>"),
        filled("<dl><dt>x<dd>"),
        filled("<pre>\n"),
        filled("&amp;&lt;&bogus;&#x110000;"),
        filled("<!--"),
        filled("<![CDATA["),
        filled("<script><style>"),
        filled("<title>"),
        numbered(SIZE / 20, "<font size=#>") + &"<p>x".repeat(10_000),
        format!("<p {}>text", numbered(SIZE / 10, "a# ")),
        format!("<p title='{}'>text", filled("x")),
        format!("<p>{}", filled("x ")),
        filled("x"),
        filled("\n"),
        filled("<br>"),
        filled("\u{0}\u{202e}"),
        filled("<td>"),
        filled("<main><article>"),
        filled("<img alt='[x](y)'>"),
    ];
    for page in pages {
        let begins: String = page.chars().take(40).collect();
        let body = page.clone();
        let server = Canary::start(move |_| {
            ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], body.clone()).into_response()
        })
        .await
        .unwrap();
        let place = Place::with(&[server.origin()]);
        let began = Instant::now();
        let result = place.call("fetch_page", json!({"url": server.url("/")})).await;
        let (took, size) = (began.elapsed(), result.result.to_string().len());
        assert!(took < PATIENCE, "{begins}: {took:?}");
        assert!(size < 4 * super::super::MAX_TEXT_BYTES, "{begins}: {size}");
    }
}
