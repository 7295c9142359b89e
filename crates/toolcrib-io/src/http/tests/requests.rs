//! Requests, answers and their limits.

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;

use super::super::Request;
use super::{Server, client};
use crate::Error;

#[tokio::test]
async fn method_headers_and_body_arrive_and_the_answer_comes_back() {
    let server =
        Server::start("HTTP/1.1 404 Not Found\r\nx-kind: test\r\ncontent-length: 4\r\n\r\ngone").await;
    let mut headers = HeaderMap::new();
    headers.insert("x-key", "secret".parse().unwrap());
    let request = Request::new(Method::PUT, server.url("/a?b=c")).with_headers(headers).with_body("content");
    let response = client(|_| {}).send(request).await.unwrap();
    assert_eq!(response.status, StatusCode::NOT_FOUND);
    assert_eq!(response.headers["x-kind"], "test");
    assert_eq!((&response.body[..], response.truncated), (&b"gone"[..], false));

    let request = server.requests().remove(0);
    assert!(request.starts_with("PUT /a?b=c HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("x-key: secret\r\n") && request.ends_with("\r\n\r\ncontent"), "{request}");
    assert!(request.contains("user-agent: toolcrib/"), "{request}");
}

#[tokio::test]
async fn a_body_is_read_up_to_the_limit() {
    for (size, truncated) in [(99, false), (100, false), (101, true), (3_000_000, true)] {
        // Without a length: the end of the connection ends it.
        let mut answer = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        answer.resize(answer.len() + size, b'x');
        let server = Server::start(answer).await;
        let response = client(|policy| policy.max_response_bytes = 100).send(server.get("/")).await.unwrap();
        assert_eq!((response.body.len(), response.truncated), (size.min(100), truncated));
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_is_given_up() {
    // The system accepts for it; it never reads.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/x?key=1", listener.local_addr().unwrap())).unwrap();
    let client = client(|policy| policy.timeout = Duration::from_millis(50));
    let error = client.send(Request::new(Method::GET, url)).await.unwrap_err();
    assert!(matches!(error, Error::RequestTimedOut { .. }), "{error:?}");
    assert!(error.to_string().contains("/x within 50ms"), "{error}");
}

#[tokio::test]
async fn an_error_of_the_network_says_its_cause_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/x", listener.local_addr().unwrap())).unwrap();
    drop(listener);
    let error = client(|_| {}).send(Request::new(Method::GET, url.clone())).await.unwrap_err().to_string();
    let expected = format!("cannot connect to {url}: ");
    let cause = error.strip_prefix(&expected).unwrap_or_else(|| panic!("{error}"));
    assert!(cause.starts_with("Connection refused") && !cause.contains(": "), "{error}");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_an_error() {
    let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc").await;
    let response = client(|_| {}).send(server.get("/")).await;
    assert!(matches!(response, Err(Error::RequestFailed { .. })), "{response:?}");
}

#[tokio::test]
async fn a_body_that_never_ends_falls_under_the_same_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let held = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        assert_ne!(connection.read(&mut [0; 4096]).await.unwrap(), 0);
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc").await.unwrap();
        std::future::pending::<()>().await;
    });
    let client = client(|policy| policy.timeout = Duration::from_millis(100));
    let error = client.send(Request::new(Method::GET, url)).await.unwrap_err();
    assert!(matches!(error, Error::RequestTimedOut { .. }), "{error:?}");
    held.abort();
}

#[tokio::test]
async fn a_host_that_is_down_is_named_without_the_secrets_of_the_url() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = Url::parse(&format!("http://user:pass@{address}/path?key=hush#part")).unwrap();
    let error = client(|_| {}).send(Request::new(Method::GET, url)).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::ConnectFailed { .. }), "{error:?}");
    assert!(text.starts_with(&format!("cannot connect to http://{address}/path: ")), "{text}");
    assert!(text.contains("refused") && !text.contains("pass@") && !text.contains("hush"), "{text}");
}

#[tokio::test]
async fn a_redirect_is_the_answer_unless_it_stays_and_may_be_followed() {
    let elsewhere = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let away = format!("HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", elsewhere.url("/"));
    let away = Server::start(away).await;
    let around = Server::start("HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n").await;
    for (server, allowed, sent) in [(&away, 5, 1), (&around, 0, 1), (&around, 5, 2)] {
        let before = server.requests().len();
        let response = client(|policy| policy.max_redirects = allowed).send(server.get("/")).await.unwrap();
        assert_eq!(response.status, StatusCode::FOUND);
        assert!(response.headers.contains_key("location"));
        assert_eq!(server.requests().len() - before, sent);
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_request_follows_as_many_redirects_as_it_says_and_none_that_leads_away() {
    let elsewhere = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let redirect = |to: &str| format!("HTTP/1.1 307 Moved\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
    for (location, allowed, sent) in [
        ("/again".to_owned(), 0, 1),
        ("/again".to_owned(), 2, 3),
        (elsewhere.url("/").to_string(), 5, 1),
        // The same machine in another spelling is another origin: the credentials are not for it.
        (format!("//localhost:{}/", elsewhere.port), 5, 1),
        ("file:///etc/passwd".to_owned(), 5, 1),
        ("http://[::1".to_owned(), 5, 1),
    ] {
        let server = Server::start(redirect(&location)).await;
        let response = client(|_| {}).send(server.get("/").with_redirects(allowed)).await.unwrap();
        assert_eq!(
            (response.status, server.requests().len()),
            (StatusCode::TEMPORARY_REDIRECT, sent),
            "{location}"
        );
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_redirect_does_not_change_who_a_request_is_from() {
    let location = "location: http://evil:pass@127.0.0.1:{port}/";
    let server = Server::start_with_port(|port| {
        let location = location.replace("{port}", &port.to_string());
        format!("HTTP/1.1 307 Moved\r\n{location}\r\ncontent-length: 0\r\n\r\n")
    })
    .await;
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer ours".parse().unwrap());
    client(|_| {}).send(server.get("/").with_headers(headers).with_redirects(1)).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(
        requests.iter().all(|request| request.contains("authorization: Bearer ours\r\n")),
        "{requests:?}"
    );
    assert!(!requests[1].contains("Basic"), "{requests:?}");
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_an_error_that_names_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    let server = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        // Until the client gives up.
        connection.read_to_end(&mut Vec::new()).await
    });
    let error = client(|_| {}).send(Request::new(Method::GET, url.clone())).await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot connect to {url}: ")), "{error}");
    let _ = server.await.unwrap();
}

#[tokio::test]
async fn a_body_can_be_read_piece_by_piece_beyond_the_limit_of_the_policy() {
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3000000\r\n\r\n".to_vec();
    answer.resize(answer.len() + 3_000_000, b'x');
    let server = Server::start(answer).await;
    let client = client(|policy| policy.max_response_bytes = 100);
    let mut incoming = client.open(server.get("/")).await.unwrap();
    assert_eq!(
        (incoming.status, &incoming.headers["content-length"]),
        (StatusCode::OK, &"3000000".parse().unwrap())
    );
    let mut bytes = 0;
    while let Some(chunk) = incoming.chunk().await.unwrap() {
        bytes += chunk.len();
    }
    assert_eq!(bytes, 3_000_000);
}

#[tokio::test]
async fn a_piece_that_does_not_come_in_time_and_a_body_that_breaks_off_are_errors() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/x?key=1", listener.local_addr().unwrap())).unwrap();
    let server = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        assert!(connection.read(&mut [0; 4096]).await.unwrap() > 0);
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc").await.unwrap();
        // Until the client gives up.
        connection.read_to_end(&mut Vec::new()).await
    });
    let slow = client(|policy| policy.timeout = Duration::from_millis(100));
    let mut incoming = slow.open(Request::new(Method::GET, url)).await.unwrap();
    assert_eq!(incoming.chunk().await.unwrap().unwrap(), "abc");
    let error = incoming.chunk().await.unwrap_err();
    assert!(matches!(error, Error::RequestTimedOut { .. }), "{error:?}");
    drop(incoming);
    let _ = server.await.unwrap();

    let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc").await;
    let mut incoming = client(|_| {}).open(server.get("/")).await.unwrap();
    let error = loop {
        match incoming.chunk().await {
            Ok(chunk) => assert_eq!(chunk.unwrap(), "abc"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::RequestFailed { .. }), "{error:?}");
}
