//! Clients that nobody invited, and clients that want too much: each is turned away with the right status, and no server
//! behind us hears of them.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use toolcrib_testkit::wait_until;

use super::client::{SOON, Served, WAITS, app, app_with_tokens, call_ask, let_go, read, was_called};
use crate::support::{PATIENCE, mcp_script};

const GRANTED: &str = "{default_policy: grant}";

fn call() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call_ask()}).to_string()
}

#[tokio::test]
async fn a_request_that_calls_another_name_or_comes_from_another_page_is_forbidden() {
    let dir = app("", GRANTED);
    let served = Served::start(&dir, &[]).await;
    for headers in [
        &[("host", "evil.example")][..],
        &[("host", "localhost.evil.example:80")],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", "http://localhost:1")],
    ] {
        let reply = served.post(headers, &call()).await;
        assert_eq!(reply.status, 403, "{headers:?} {reply:#?}");
        assert_eq!(served.get("/metrics", headers).await.status, 403, "{headers:?}");
    }
    assert!(!was_called(&dir));
    let page = format!("http://{}", served.address);
    let session = served.session(&[("origin", &page)], json!({})).await;
    let reply = served.post(&[("mcp-session-id", &session)], &call()).await;
    assert_eq!(reply.message()["result"]["content"][0]["text"], "done");
    assert!(was_called(&dir));
}

#[tokio::test]
async fn without_its_token_nobody_comes_in_and_with_it_only_as_far_as_it_reaches() {
    let dir = app_with_tokens(GRANTED);
    let served = Served::start(&dir, &[]).await;
    let wrong = [
        (vec![], "Bearer realm=\"toolcrib\""),
        (vec![("authorization", "Basic YTpi")], "Bearer realm=\"toolcrib\""),
        (
            vec![("authorization", "Bearer a-token-for-the-build")],
            "Bearer realm=\"toolcrib\", error=\"invalid_token\"",
        ),
        (vec![("authorization", "Bearer ")], "Bearer realm=\"toolcrib\", error=\"invalid_token\""),
    ];
    for (headers, challenge) in wrong {
        let reply = served.post(&headers, &call()).await;
        assert_eq!(reply.status, 401, "{headers:?} {reply:#?}");
        assert_eq!(reply.header("www-authenticate"), Some(challenge), "{headers:?}");
        assert_eq!(served.get("/metrics", &headers).await.status, 401);
    }
    let ci = [("authorization", "Bearer a-token-for-the-builds")];
    let listed = served.modern(&ci, "tools/list", json!({})).await.to_string();
    assert!(listed.contains("hello__status") && !listed.contains("team__ask"), "{listed}");
    let denied = served.modern(&ci, "tools/call", call_ask()).await;
    assert!(denied["result"]["content"][0]["text"].as_str().unwrap().contains("denied"), "{denied}");
    assert!(!was_called(&dir));
    let all = [("authorization", "bearer a-token-for-all-of-it")];
    let done = served.modern(&all, "tools/call", call_ask()).await;
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
}

#[tokio::test]
async fn a_session_and_what_it_keeps_is_its_clients_alone() {
    let serve = "serve: {tokens: [{name: one, token: '${ONE}'}, {name: two, token: '${TWO}'}]}";
    let dir = app(serve, GRANTED)
        .with_variable("ONE", "the-token-of-the-first")
        .with_variable("TWO", "the-token-of-the-second");
    let served = Served::start(&dir, &[]).await;
    let (one, two) = (
        ("authorization", "Bearer the-token-of-the-first"),
        ("authorization", "Bearer the-token-of-the-second"),
    );
    let session = served.session(&[one], json!({})).await;
    let named = ("mcp-session-id", session.as_str());
    assert_eq!(served.post(&[two, named], &call()).await.status, 404);
    let delete = served.request("DELETE", "/mcp", &[two, named], "");
    assert_eq!(served.raw(&delete).await.status, 404);
    assert!(!was_called(&dir));
    assert_eq!(served.post(&[one, named], &call()).await.status, 200);
}

#[tokio::test]
async fn an_address_that_others_reach_is_refused_without_tokens() {
    let dir = app("", GRANTED);
    let output = dir.run(["serve", "app.yaml", "--http", "0.0.0.0:0"]).await.expect(2);
    assert!(output.stderr.contains("0.0.0.0:0 can be reached from other machines"), "{}", output.stderr);
    let weak = app("serve: {tokens: [{name: ci, token: short}]}", GRANTED);
    let output = weak.run(["serve", "app.yaml", "--http", "0"]).await.expect(2);
    assert!(output.stderr.contains("a token has at least 16 characters"), "{}", output.stderr);
}

#[tokio::test]
async fn bodies_that_are_too_large_too_slow_or_no_message_are_turned_away() {
    let dir = app("serve: {limits: {body_bytes: 2000, body_seconds: 1, head_seconds: 1}}", GRANTED);
    let served = Served::start(&dir, &[]).await;

    let large = call().replace('x', &"x".repeat(3000));
    assert_eq!(served.post(&[], &large).await.status, 413);
    let chunked = [("transfer-encoding", "chunked"), ("content-length", "")];
    let mut request = String::from_utf8(served.request("POST", "/mcp", &chunked, "")).unwrap();
    request = request.replace("content-length: \r\n", "");
    request.extend([format!("{:x}\r\n", 3000), "y".repeat(3000)]);
    assert_eq!(served.raw(request.as_bytes()).await.status, 413);

    // It says that more will come, which does not.
    let slow = served.request("POST", "/mcp", &[("content-length", "1000")], "{");
    assert_eq!(served.raw(&slow).await.status, 408);
    assert_eq!(served.raw(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-").await.status, 408);

    let many = (0..200).map(|number| format!("x-{number}: y\r\n")).collect::<Vec<_>>().concat();
    let many = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{many}\r\n");
    assert_eq!(served.raw(many.as_bytes()).await.status, 431);

    for (body, code) in [
        ("{", -32700),
        ("", -32700),
        ("[]", -32600),
        ("7", -32600),
        (
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "name": "b"}}"#,
            -32700,
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"arguments": {"a": 1, "a": 2}}}"#,
            -32700,
        ),
    ] {
        let reply = served.post(&[], body).await;
        assert_eq!((reply.status, reply.message()["error"]["code"].as_i64()), (400, Some(code)), "{body}");
    }
    let deep = format!("{}{}", "[".repeat(900), "]".repeat(900));
    let deep = format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {deep}}}"#);
    assert_eq!(served.post(&[], &deep).await.status, 400);
    assert_eq!(served.post(&[("content-type", "text/plain")], &call()).await.status, 415);
    assert_eq!(served.post(&[("accept", "application/json")], &call()).await.status, 406);
    assert_eq!(served.post(&[("mcp-session-id", "guessed")], &call()).await.status, 404);
    assert!(!was_called(&dir));
    assert_eq!(served.get("/healthz", &[("host", "anybody")]).await.status, 200);
}

#[tokio::test]
async fn two_requests_with_one_id_are_not_mixed_up() {
    let dir = app("", GRANTED).with_file("server.sh", mcp_script(WAITS));
    let served = Served::start(&dir, &[]).await;
    let session = served.session(&[], json!({})).await;
    let named = [("mcp-session-id", session.as_str())];
    let mut first = served.begun(&dir, &named, &call()).await;
    let second = served.post(&named, &call()).await;
    assert_eq!((second.status, second.message()["id"].as_i64()), (400, Some(1)), "{second:#?}");
    let_go(&dir);
    assert_eq!(read(&mut first).await.message()["result"]["content"][0]["text"], "ask done");
    assert_eq!(dir.read("home/called"), "x\n");
    // Once it is answered, the id is free again.
    assert_eq!(served.post(&named, &call()).await.status, 200);
}

#[tokio::test]
async fn connections_sessions_and_requests_beyond_the_most_are_turned_away_and_others_go_on() {
    let limits =
        "serve: {limits: {connections: 20, sessions: 3, requests_at_once: 4, requests_per_second: 1000}}";
    let dir = app(limits, GRANTED);
    let served = Served::start(&dir, &[]).await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(served.session(&[], json!({})).await);
    }
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    assert_eq!(served.post(&[], &hello.to_string()).await.status, 503);

    let mut streams = Vec::new();
    for number in 0..4 {
        let session = sessions[number % 3].as_str();
        let headers =
            [("mcp-session-id", session), ("content-length", "0"), ("mcp-protocol-version", "2025-11-25")];
        let mut stream = served.connect().await;
        stream.write_all(&served.request("GET", "/mcp", &headers, "")).await.unwrap();
        let head = super::client::read_until(&mut stream, "\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        streams.push(stream);
    }
    let reply = served.post(&[("mcp-session-id", &sessions[0])], &call()).await;
    assert_eq!(reply.status, 429, "{reply:#?}");
    assert!(reply.header("retry-after").is_some());
    assert!(!was_called(&dir));

    let mut idle = Vec::new();
    for _ in 0..16 {
        idle.push(served.connect().await);
    }
    let turned_away = timeout(SOON, async {
        loop {
            if served.get("/healthz", &[]).await.status == 503 {
                return;
            }
        }
    });
    turned_away.await.expect("a connection too many is turned away");
    drop((streams, idle));
    let answered = timeout(SOON, async {
        while served.get("/healthz", &[]).await.status != 200 {
            tokio::task::yield_now().await;
        }
    });
    answered.await.expect("there is room again");
}

#[tokio::test]
async fn a_client_that_comes_too_often_is_told_when_to_come_again() {
    let dir = app("serve: {limits: {requests_per_second: 1}}", GRANTED);
    let served = Served::start(&dir, &[]).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
    let mut statuses = Vec::new();
    for _ in 0..8 {
        statuses.push(served.post(&[], &ping).await.status);
    }
    assert!(statuses.contains(&429), "{statuses:?}");
}

/// How many streams somebody opens who means no good, and how many at once.
const STREAMS: usize = 10_000;
const AT_ONCE: usize = 200;

#[tokio::test]
async fn of_ten_thousand_streams_as_many_stay_open_as_may_and_the_rest_is_told() {
    let dir = app("serve: {limits: {requests_per_second: 100000}}", GRANTED);
    let served = Served::start(&dir, &[]).await;
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let request = served.modern_request(&[], "subscriptions/listen", wanted);
    let open = async |_| {
        let mut stream = served.connect().await;
        // It may be turned away before it was sent.
        let _ = stream.write_all(&request).await;
        let mut head = vec![0; 1024];
        let length = timeout(SOON, stream.read(&mut head)).await.expect("an answer").unwrap_or(0);
        let text = String::from_utf8_lossy(&head[..length]).into_owned();
        let status = text.split(' ').nth(1).map(str::to_owned).unwrap_or_default();
        (status == "200").then_some(stream).ok_or(status)
    };
    let mut opened = stream::iter(0..STREAMS).map(open).buffer_unordered(AT_ONCE);
    let (mut streams, mut refused) = (Vec::new(), BTreeMap::<String, usize>::new());
    while let Some(one) = opened.next().await {
        match one {
            Ok(stream) => streams.push(stream),
            Err(status) => *refused.entry(status).or_default() += 1,
        }
    }
    drop(opened);
    assert_eq!(streams.len(), 512, "{refused:?}");
    let told = refused.get("429").copied().unwrap_or(0) + refused.get("503").copied().unwrap_or(0);
    let unanswered = refused.get("").copied().unwrap_or(0);
    assert_eq!(streams.len() + told + unanswered, STREAMS, "{refused:?}");
    assert!(told > unanswered * 10, "{refused:?}");
    assert!(!was_called(&dir));
    drop(streams);
    let answered = timeout(SOON, async {
        while served.modern_reply(&[], "tools/call", call_ask()).await.status != 200 {
            tokio::task::yield_now().await;
        }
    });
    answered.await.expect("there is room again");
    assert!(was_called(&dir));
}

/// How many clients read nothing, and the bytes of the answer that each waits for.
#[cfg(target_os = "linux")]
const SILENT: usize = 24;
#[cfg(target_os = "linux")]
const LARGE: usize = 6 * 1024 * 1024;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn clients_that_read_nothing_are_given_up_when_their_answers_take_too_much_memory() {
    let large = format!(
        r#"on_call() {{
             echo x >> "$HOME/called"
             printf '{{"jsonrpc":"2.0","id":%s,"result":{{"content":[{{"type":"image","mimeType":"image/png","data":"' "$id"
             head -c {LARGE} /dev/zero | tr '\0' A
             printf '"}}]}}}}\n'
           }}"#
    );
    let dir = app("serve: {limits: {requests_at_once: 64}}", GRANTED)
        .with_file("server.sh", mcp_script(&large))
        .with_variable("TOOLCRIB_LOG", "toolcrib_server=warn");
    let served = Served::start(&dir, &[]).await;
    let request = served.modern_request(&[], "tools/call", call_ask());
    let mut silent = Vec::new();
    for _ in 0..SILENT {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        // What the kernel holds for a client does not count.
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(served.address).await.unwrap();
        stream.write_all(&request).await.unwrap();
        silent.push(stream);
    }
    // Each has had its answer by then, and those that waited longest were given up.
    let unread = 64 * 1024 * 1024 / LARGE;
    let look = || {
        let called = std::fs::read_to_string(dir.path("home/called")).unwrap_or_default().lines().count();
        let given_up = served.said.borrow().matches("its client does not read").count();
        Ok((called == SILENT && SILENT - given_up <= unread + 2).then_some(()))
    };
    wait_until("all answers", PATIENCE, look).await.unwrap();
    drop(silent);
    assert_eq!(served.get("/healthz", &[]).await.status, 200);
}
