//! Servers of revision 2024-11-05, over HTTP with server-sent events.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use toolcrib_model::{ErrorKind, QualifiedName, Secret, Tool};
use toolcrib_port::{ToolEngine as _, ToolLoader as _};

use super::{authorized, authorized_tool, context, invoke};
use crate::{HttpProtocol, McpConnection, McpEngine, McpLoader, McpSource, McpTransport};

type Event = Result<String, std::convert::Infallible>;

/// A server with one tool.
#[derive(Clone)]
struct Server {
    /// What it names as the address to post to.
    address: Arc<str>,
    /// The last stream that was opened.
    stream: Arc<Mutex<Option<mpsc::UnboundedSender<Event>>>>,
    posted: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
    /// What a POST is answered with.
    status: Arc<Mutex<StatusCode>>,
}

impl Server {
    async fn start(address: &str) -> (Self, String) {
        let server = Self {
            address: address.into(),
            stream: Arc::default(),
            posted: Arc::default(),
            status: Arc::new(Mutex::new(StatusCode::ACCEPTED)),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/sse", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/sse", get(Self::open))
            .route("/messages", axum::routing::post(Self::post))
            .with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (server, url)
    }

    #[expect(clippy::unused_async, reason = "handlers are async")]
    async fn open(State(server): State<Self>) -> Response {
        let (sender, receiver) = mpsc::unbounded_channel();
        sender.send(Ok(format!(": hello\n\nevent: endpoint\ndata: {}\n\n", server.address))).unwrap();
        *server.stream.lock() = Some(sender);
        let stream = futures::stream::unfold(receiver, |mut receiver| async {
            Some((receiver.recv().await?, receiver))
        });
        ([("content-type", "text/event-stream")], Body::from_stream(stream)).into_response()
    }

    #[expect(clippy::unused_async, reason = "handlers are async")]
    async fn post(State(server): State<Self>, headers: HeaderMap, body: String) -> StatusCode {
        let message: Value = serde_json::from_str(&body).unwrap();
        server.posted.lock().push((headers, message.clone()));
        let status = *server.status.lock();
        if !status.is_success() {
            return status;
        }
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "1"}}),
            "tools/list" => json!({"tools": [{"name": "one", "inputSchema": {"type": "object"}}]}),
            "tools/call" => json!({"content": [{"type": "text", "text": "called"}]}),
            _ => return status,
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let stream = server.stream.lock();
        stream.as_ref().unwrap().send(Ok(format!("event: message\ndata: {answer}\n\n"))).unwrap();
        status
    }

    fn calls(&self) -> usize {
        self.posted.lock().iter().filter(|(_, message)| message["method"] == "tools/call").count()
    }
}

fn connect(url: &str, protocol: HttpProtocol) -> (McpLoader, McpEngine) {
    let mut transport = McpTransport::http(url);
    if let McpTransport::Http { headers, allow_private, protocol: spoken, .. } = &mut transport {
        headers.push(("x-key".to_owned(), Secret::new("open sesame")));
        (*allow_private, *spoken) = (true, protocol);
    }
    let connection = McpConnection::new(McpSource::new("test", transport));
    (McpLoader::new(connection.clone()), McpEngine::new(connection))
}

#[tokio::test]
async fn a_url_that_answers_in_the_oldest_way_is_spoken_to_in_it_whether_that_is_said_or_not() {
    for protocol in [HttpProtocol::Sse, HttpProtocol::Any] {
        let (server, url) = Server::start("/messages?session=7").await;
        let (loader, engine) = connect(&url, protocol);
        let loaded = loader.load().await;
        assert_eq!(loaded.tools.len(), 1, "{protocol:?}: {:?}", loaded.rejected);
        let result = invoke(&engine, authorized("one", json!({})), &context()).await;
        assert_eq!(result.result, "called", "{:?}", result.error);
        assert!(server.posted.lock().iter().all(|(headers, _)| headers["x-key"] == "open sesame"));
        engine.close().await;
    }
    let (_, url) = Server::start("/messages").await;
    let (loader, engine) = connect(&url, HttpProtocol::Streamable);
    assert_eq!(loader.load().await.tools.len(), 0);
    engine.close().await;
}

#[tokio::test]
async fn headers_are_not_sent_to_an_address_of_another_origin() {
    let (stranger, elsewhere) = Server::start("/messages").await;
    let (_, url) = Server::start(&elsewhere.replace("/sse", "/messages")).await;
    let (loader, engine) = connect(&url, HttpProtocol::Sse);
    let loaded = loader.load().await;
    assert!(loaded.rejected[0].reason.contains("is of another origin"), "{}", loaded.rejected[0].reason);
    assert_eq!(stranger.posted.lock().len(), 0);
    engine.close().await;
}

#[tokio::test]
async fn a_call_that_the_server_has_no_session_for_is_sent_again_only_where_it_is_idempotent() {
    let (server, url) = Server::start("/messages").await;
    let (loader, engine) = connect(&url, HttpProtocol::Sse);
    loader.load().await;
    for (is_idempotent, calls) in [(true, 2), (false, 3)] {
        *server.status.lock() = StatusCode::NOT_FOUND;
        let posts = server.posted.lock().len();
        let name = QualifiedName::new("test", "one").unwrap();
        let tool = Tool::new(name).with_metadata("idempotent", is_idempotent);
        let (call, waits) = (authorized_tool(tool, json!({})), context());
        let (result, ()) = tokio::join!(invoke(&engine, call, &waits), async {
            super::eventually(async || (server.posted.lock().len() > posts).then_some(())).await;
            *server.status.lock() = StatusCode::ACCEPTED;
        });
        match result.error {
            None => assert!(is_idempotent && result.result == "called", "{result:?}"),
            Some(error) => {
                assert!(!is_idempotent && error.message.contains("was not sent again"), "{error}");
                assert_eq!(error.kind, ErrorKind::Unavailable);
            }
        }
        assert_eq!(server.calls(), calls);
    }
    let result = invoke(&engine, authorized("one", json!({})), &context()).await;
    assert_eq!(result.result, "called", "a new session is open: {:?}", result.error);
    engine.close().await;
}

#[tokio::test]
async fn a_stream_that_breaks_during_a_call_leaves_the_outcome_unknown() {
    let (server, url) = Server::start("/messages").await;
    let (loader, engine) = connect(&url, HttpProtocol::Sse);
    loader.load().await;
    let silent = server.stream.lock().take().unwrap();
    *server.stream.lock() = Some(mpsc::unbounded_channel().0);
    // The answer goes to a stream that nobody reads.
    let (sender, _receiver) = mpsc::unbounded_channel();
    *server.stream.lock() = Some(sender);
    let (call, waits) = (authorized("one", json!({})), context());
    let (result, ()) = tokio::join!(invoke(&engine, call, &waits), async {
        super::eventually(async || (server.calls() == 1).then_some(())).await;
        drop(silent);
    });
    let error = result.error.unwrap();
    assert_eq!((error.kind, server.calls()), (ErrorKind::OutcomeUnknown, 1), "{error}");
    engine.close().await;
}

#[tokio::test]
async fn a_url_without_a_path_is_tried_at_the_usual_ones() {
    for protocol in [HttpProtocol::Sse, HttpProtocol::Any] {
        let (_server, url) = Server::start("/messages").await;
        let (loader, engine) = connect(url.trim_end_matches("/sse"), protocol);
        let loaded = loader.load().await;
        assert_eq!(loaded.tools.len(), 1, "{protocol:?}: {:?}", loaded.rejected);
        let result = invoke(&engine, authorized("one", json!({})), &context()).await;
        assert_eq!(result.result, "called", "{:?}", result.error);
        engine.close().await;
    }
    let (_server, url) = Server::start("/messages").await;
    let (loader, engine) = connect(&url.replace("/sse", "/elsewhere"), HttpProtocol::Any);
    let reason = loader.load().await.rejected.remove(0).reason;
    assert!(!reason.contains("tried"), "a path that is written is the one that is meant: {reason}");
    engine.close().await;
}

#[tokio::test]
async fn a_url_without_any_endpoint_is_reported_with_what_was_tried() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new()).await.unwrap() });
    let (loader, engine) = connect(&url, HttpProtocol::Any);
    let reason = loader.load().await.rejected.remove(0).reason;
    assert!(reason.contains("404"), "{reason}");
    assert!(reason.contains("(tried the URL itself, `/mcp` and `/sse`; write the path"), "{reason}");
    engine.close().await;
}
