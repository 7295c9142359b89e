//! A browser that comes back to this machine.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use super::super::LoopbackRedirect;
use crate::client::Authorize as _;

/// Sends bytes and reads what comes.
async fn send(to: &Url, bytes: &str) -> String {
    let mut stream = TcpStream::connect((to.host_str().unwrap(), to.port().unwrap())).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // A connection that is cut off is an answer as well.
    let _ = stream.read_to_string(&mut answer).await;
    answer
}

async fn get(to: &Url, target: &str) -> String {
    send(to, &format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await
}

#[tokio::test]
async fn only_the_answer_to_this_login_counts() {
    let loopback = Arc::new(LoopbackRedirect::bind(None, |_| {}).await.unwrap());
    let to: Url = loopback.redirect_uri().parse().unwrap();
    let login: Url = "https://a.example/authorize?state=right".parse().unwrap();
    let waiting = tokio::spawn({
        let loopback = Arc::clone(&loopback);
        async move { loopback.authorize(&login).await }
    });
    // One that says nothing holds up nobody.
    let silent = TcpStream::connect((to.host_str().unwrap(), to.port().unwrap())).await.unwrap();
    for target in [
        "/callback?code=evil&state=wrong",
        "/callback?code=evil",
        "/callback?code=evil&state=right&state=wrong",
        "/other?code=evil&state=right",
        "/favicon.ico",
        "http://evil.example/callback?code=evil&state=right",
        "//evil.example/callback?code=evil&state=right",
    ] {
        assert!(get(&to, target).await.starts_with("HTTP/1.1 404"), "{target}");
    }
    assert_eq!(send(&to, "POST /callback?state=right HTTP/1.1\r\n\r\n").await.split(' ').nth(1), Some("404"));
    assert_eq!(send(&to, &format!("GET /{} HTTP/1.1", "x".repeat(64 * 1024))).await, "");
    let answer = get(&to, "/callback?code=c%20d&state=right&iss=https%3A%2F%2Fa.example").await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("cache-control: no-store"),
        "{answer}"
    );
    let redirect = waiting.await.unwrap().unwrap();
    assert_eq!(redirect.code.unwrap().expose(), "c d");
    assert_eq!(redirect.issuer.as_deref(), Some("https://a.example"));
    drop(silent);
}

#[tokio::test(start_paused = true)]
async fn a_login_that_nobody_makes_ends() {
    let loopback = LoopbackRedirect::bind(None, |_| {}).await.unwrap().with_timeout(Duration::from_mins(1));
    let error = loopback.authorize(&"https://a.example/?state=x".parse().unwrap()).await.unwrap_err();
    assert_eq!(error, "no user logged in within 60 s; start again");
}

#[tokio::test]
async fn a_port_that_is_taken_is_not_needed() {
    let first = LoopbackRedirect::bind(None, |_| {}).await.unwrap();
    let taken = first.redirect_uri().parse::<Url>().unwrap().port();
    let second = LoopbackRedirect::bind(taken, |_| {}).await.unwrap();
    assert_ne!(first.redirect_uri(), second.redirect_uri());
}
