//! A server over Streamable HTTP, in this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as WireTool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use toolcrib_model::{ErrorKind, Secret};
use toolcrib_port::{RejectKind, ToolEngine as _, ToolLoader as _};

use super::{PATIENCE, authorized, authorized_tool, context, invoke};
use crate::{McpConnection, McpEngine, McpLoader, McpSource, McpTransport};

/// How often a call is polled before it is dropped, at most. It is sent long before that.
const MOST_POLLS: usize = 100;

#[derive(Clone, Default)]
struct Server {
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    calls: AtomicUsize,
    /// Whether the tools are no longer what they were.
    has_changed: AtomicBool,
    waiting: Notify,
    cancelled: Notify,
    /// How many calls were cancelled.
    ended: AtomicUsize,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let does = if self.seen.has_changed.load(Ordering::SeqCst) { "Another tool." } else { "A tool." };
        let tools = ["get_header", "hang"].map(|name| WireTool::new(name, does, serde_json::Map::new()));
        Ok(ListToolsResult::with_all_items(tools.into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.seen.calls.fetch_add(1, Ordering::SeqCst);
        if request.name == "hang" {
            self.seen.waiting.notify_one();
            context.ct.cancelled().await;
            self.seen.ended.fetch_add(1, Ordering::SeqCst);
            self.seen.cancelled.notify_one();
        }
        let parts = context.extensions.get::<http::request::Parts>().unwrap();
        let value = parts.headers.get("x-key").map(|value| value.to_str().unwrap().to_owned());
        let mut result = CallToolResult::success(vec![ContentBlock::text("see the structure")]);
        result.structured_content = Some(json!({"header": value}));
        Ok(result.into())
    }
}

struct Running {
    url: String,
    seen: Arc<Seen>,
    sessions: Arc<LocalSessionManager>,
    task: JoinHandle<()>,
}

/// A server that knows the revisions with sessions only.
async fn start_with_sessions() -> Running {
    start_behind(|router| router.layer(axum::middleware::from_fn(refuse_new_revisions))).await
}

async fn refuse_new_revisions(
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> axum::response::Response {
    let revision = request.headers().get("mcp-protocol-version");
    if revision.is_some_and(|revision| revision.as_bytes() >= b"2026".as_slice()) {
        let refusal = (http::StatusCode::BAD_REQUEST, "Bad Request: Unsupported protocol version");
        return axum::response::IntoResponse::into_response(refusal);
    }
    next.run(request).await
}

async fn start() -> Running {
    start_behind(|router| router).await
}

/// Returns the URL of a server that runs to the end of the test.
pub(super) async fn url_of_server() -> String {
    start().await.url
}

async fn start_behind(front: impl FnOnce(axum::Router) -> axum::Router) -> Running {
    let server = Server::default();
    let seen = Arc::clone(&server.seen);
    let mut sessions = LocalSessionManager::default();
    // How soon the client takes up a broken stream again.
    sessions.session_config.sse_retry = Some(Duration::from_millis(20));
    let sessions = Arc::new(sessions);
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(move || Ok(server.clone()), Arc::clone(&sessions), config);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp?key=hidden", listener.local_addr().unwrap());
    let router = front(axum::Router::new().nest_service("/mcp", service));
    let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Running { url, seen, sessions, task }
}

impl Running {
    async fn forget_sessions(&self) {
        let mut sessions = self.sessions.sessions.write().await;
        assert!(!sessions.is_empty(), "there is no session to forget");
        sessions.clear();
    }
}

fn connect(url: &str) -> (McpLoader, McpEngine) {
    let headers = vec![("x-key".to_owned(), Secret::new("open sesame"))];
    let transport = McpTransport::Http {
        url: url.into(),
        headers,
        allow_private: true,
        protocol: crate::HttpProtocol::Any,
        auth: None,
    };
    let connection = McpConnection::new(McpSource::new("test", transport));
    (McpLoader::new(connection.clone()), McpEngine::new(connection))
}

#[tokio::test]
async fn tools_load_and_answer_and_every_request_has_the_headers() {
    let server = start_with_sessions().await;
    let (loader, engine) = connect(&server.url);
    let found = loader.load().await;
    assert_eq!(found.rejected, []);
    assert!(!server.sessions.sessions.read().await.is_empty());
    assert_eq!(found.tools.iter().map(|tool| tool.name.name()).collect::<Vec<_>>(), ["get_header", "hang"]);
    let result = invoke(&engine, authorized("get_header", json!({})), &context()).await;
    assert_eq!(result.result, json!({"header": "open sesame"}), "{:?}", result.error);
    engine.close().await;
    assert!(server.sessions.sessions.read().await.is_empty(), "the session is deleted");
}

#[tokio::test]
async fn the_server_is_told_when_a_call_is_dropped() {
    let server = start().await;
    let (_, engine) = connect(&server.url);
    let context = context();
    tokio::select! {
        result = invoke(&engine, authorized("hang", json!({})), &context) => panic!("{result:?}"),
        () = server.seen.waiting.notified() => {}
    }
    tokio::time::timeout(PATIENCE, server.seen.cancelled.notified()).await.unwrap();
}

#[tokio::test]
async fn a_call_that_is_dropped_at_any_moment_leaves_nothing_behind() {
    let server = start().await;
    let (_, engine) = connect(&server.url);
    let context = context();
    for polls in 0..MOST_POLLS {
        let mut call = std::pin::pin!(invoke(&engine, authorized("hang", json!({})), &context));
        for _ in 0..polls {
            assert!(futures::poll!(call.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
    }
    let after = invoke(&engine, authorized("get_header", json!({})), &context).await;
    assert_eq!(after.error, None);
    let seen = &server.seen;
    let count = |count: &AtomicUsize| count.load(Ordering::SeqCst);
    // All but the one that ended by itself.
    super::eventually(async || (count(&seen.calls) == count(&seen.ended) + 1).then_some(())).await;
    assert!(count(&seen.ended) > 0);
    engine.close().await;
    assert!(server.sessions.sessions.read().await.is_empty());
}

#[tokio::test]
async fn a_private_address_is_refused_however_it_is_written_and_nobody_there_hears_of_it() {
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = canary.local_addr().unwrap().port();
    for host in [
        "127.0.0.1",
        "localhost",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "user:word@127.0.0.1",
        "localhost.",
    ] {
        for protocol in [crate::HttpProtocol::Streamable, crate::HttpProtocol::Sse] {
            let mut source = McpSource::http("test", format!("http://{host}:{port}/mcp"));
            if let McpTransport::Http { protocol: spoken, .. } = &mut source.transport {
                *spoken = protocol;
            }
            let rejected = McpLoader::new(McpConnection::new(source)).load().await.rejected.remove(0);
            assert_eq!(rejected.kind, RejectKind::Unavailable, "{host}: {}", rejected.reason);
        }
    }
    assert!(futures::FutureExt::now_or_never(canary.accept()).is_none(), "the canary heard somebody");
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_not_followed() {
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let elsewhere = format!("http://{}/mcp", canary.local_addr().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let redirect = axum::routing::any(async move || axum::response::Redirect::temporary(&elsewhere));
    let router = axum::Router::new().route("/mcp", redirect);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let (loader, _) = connect(&url);
    assert_eq!(loader.load().await.rejected.remove(0).kind, RejectKind::Unavailable);
    assert!(futures::FutureExt::now_or_never(canary.accept()).is_none(), "the canary heard somebody");
}

#[tokio::test]
async fn a_call_that_is_redirected_to_its_own_address_is_posted_once() {
    let posted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&posted);
    let redirect = move |request: axum::extract::Request, next: axum::middleware::Next| {
        let count = Arc::clone(&count);
        async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            if body.windows(10).any(|text| text == b"tools/call") {
                count.fetch_add(1, Ordering::SeqCst);
                let own = parts.uri.to_string();
                return axum::response::IntoResponse::into_response(axum::response::Redirect::temporary(
                    &own,
                ));
            }
            next.run(http::Request::from_parts(parts, body.into())).await
        }
    };
    let front = axum::middleware::from_fn(redirect);
    let server = start_behind(|router| router.layer(front)).await;
    let (loader, engine) = connect(&server.url);
    assert_eq!(loader.load().await.tools.len(), 2);
    let error = invoke(&engine, authorized("get_header", json!({})), &context()).await.error.unwrap();
    assert!(!error.retryable, "{error}");
    assert_eq!(posted.load(Ordering::SeqCst), 1, "{error}");
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_call_refused_for_its_forgotten_session_is_not_sent_again_and_the_next_finds_a_new_one() {
    let server = start_with_sessions().await;
    let (loader, engine) = connect(&server.url);
    assert_eq!(loader.load().await.tools.len(), 2);
    server.forget_sessions().await;
    let error = invoke(&engine, authorized("get_header", json!({})), &context()).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(error.message.contains("was not sent again"), "{error}");
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
    let result = invoke(&engine, authorized("get_header", json!({})), &context()).await;
    assert_eq!(result.result, json!({"header": "open sesame"}), "{:?}", result.error);
    server.forget_sessions().await;
    assert_eq!(loader.load().await.tools.len(), 2);
}

#[tokio::test]
async fn a_call_refused_for_its_forgotten_session_does_not_run_in_a_new_one_that_has_another_tool() {
    let server = start_with_sessions().await;
    let (loader, engine) = connect(&server.url);
    let judged = loader.load().await.tools.remove(0);
    server.seen.has_changed.store(true, Ordering::SeqCst);
    server.forget_sessions().await;
    let result = invoke(&engine, authorized_tool(judged, json!({})), &context()).await;
    assert_eq!(result.error.unwrap().kind, ErrorKind::ToolChanged);
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_server_that_dies_during_a_call_leaves_the_outcome_unknown() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.spawn(start()).await.unwrap();
    let (_, engine) = connect(&server.url);
    let context = context();
    let death = async {
        server.seen.waiting.notified().await;
        runtime.shutdown_background();
    };
    let (result, ()) = tokio::join!(invoke(&engine, authorized("hang", json!({})), &context), death);
    let error = result.error.unwrap();
    assert_eq!(error.kind, ErrorKind::OutcomeUnknown, "{error}");
    let error = invoke(&engine, authorized("hang", json!({})), &context).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_private_address_is_refused_unless_it_is_allowed() {
    let server = start().await;
    let connection = McpConnection::new(McpSource::http("test", &*server.url));
    let rejected = McpLoader::new(connection).load().await.rejected.remove(0);
    assert_eq!(rejected.kind, RejectKind::Unavailable);
    assert!(rejected.reason.contains("127.0.0.1"), "{}", rejected.reason);
    assert!(!rejected.reason.contains("hidden"), "{}", rejected.reason);
}

#[tokio::test]
async fn a_server_that_is_down_is_unavailable_and_its_key_is_not_shown() {
    let server = start().await;
    server.task.abort();
    let _ = server.task.await;
    let (loader, engine) = connect(&server.url);
    let rejected = loader.load().await.rejected.remove(0);
    assert_eq!(rejected.kind, RejectKind::Unavailable);
    assert!(rejected.reason.to_lowercase().contains("refused"), "{}", rejected.reason);
    assert!(!rejected.reason.contains("hidden"), "{}", rejected.reason);
    let error = invoke(&engine, authorized("get_header", json!({})), &context()).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(error.retryable);
}

#[tokio::test]
async fn a_page_that_is_no_mcp_server_is_a_reject_that_says_what_came() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let router = axum::Router::new()
        .route("/", axum::routing::post(async || (http::StatusCode::NOT_FOUND, "nothing \u{1b}[31mhere")));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let (loader, _) = connect(&url);
    let reason = loader.load().await.rejected.remove(0).reason;
    assert!(reason.contains("404"), "{reason}");
    assert!(reason.contains("nothing here"), "{reason}");
}

#[tokio::test]
async fn a_url_without_a_path_finds_streamable_http_at_the_usual_one() {
    let server = start_with_sessions().await;
    let (loader, engine) = connect(&server.url.replace("/mcp", ""));
    let loaded = loader.load().await;
    assert_eq!(loaded.tools.len(), 2, "{:?}", loaded.rejected);
    let result = invoke(&engine, authorized("get_header", json!({})), &context()).await;
    assert_eq!(result.result, json!({"header": "open sesame"}), "{:?}", result.error);
    engine.close().await;
}
