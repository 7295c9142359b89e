//! Both eras of the protocol: revision 2026-07-28, which has no handshake, and those before.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;
use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, DiscoverRequestMethod,
    DiscoverResult, ErrorData, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
    ServerConfig, Tool as WireTool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolcrib_model::{ErrorKind, QualifiedName, Tool};
use toolcrib_policy::{Authorized, Call, Capabilities, Policy, Verdict};
use toolcrib_port::ToolLoader as _;

use super::server::ScriptServer;
use super::{PATIENCE, authorized, context, eventually, invoke};
use crate::{McpConnection, McpEngine, McpLoader, McpSource, McpTransport};

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// The most bytes of one recorded request.
const MAX_BODY: usize = 1 << 20;

type Received = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Speaks {
    Old,
    New,
    Both,
}

/// A server whose era can be changed while it runs, and what it was sent.
#[derive(Clone)]
struct Server {
    speaks: Arc<Mutex<Speaks>>,
    received: Received,
    /// Whether its list has an entry that is no tool.
    is_messy: Arc<AtomicBool>,
    /// The status that every call is answered with instead of a result; 0 for none.
    refuses: Arc<AtomicU16>,
    sessions: Arc<LocalSessionManager>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let speaks = *self.speaks.lock();
        let all = ProtocolVersion::KNOWN_VERSIONS.iter();
        let spoken = all.filter(|version| match speaks {
            Speaks::Old => version.has_initialize(),
            Speaks::New => !version.has_initialize(),
            Speaks::Both => true,
        });
        spoken.cloned().collect()
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        if *self.speaks.lock() == Speaks::Old {
            return Err(ErrorData::method_not_found::<DiscoverRequestMethod>());
        }
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), self.get_info()))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = [("deploy", deploy_schema()), ("broken", broken_schema())];
        let tools =
            tools.map(|(name, schema)| WireTool::new(name, "A tool.", schema.as_object().unwrap().clone()));
        Ok(ListToolsResult::with_all_items(tools.into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::success(vec![ContentBlock::text(format!("called {}", request.name))]).into())
    }

    /// With it, rmcp compares the headers of a call with its arguments and refuses it where they differ.
    fn get_tool(&self, name: &str) -> Option<WireTool> {
        let schema = deploy_schema().as_object().unwrap().clone();
        (name == "deploy").then(|| WireTool::new("deploy", "A tool.", schema))
    }
}

/// A tool with parameters that are mirrored in headers, and one that is not.
fn deploy_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "force": {"type": "boolean", "x-mcp-header": "Force"},
            "to": {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}},
            "note": {"type": "string"},
        },
    })
}

/// A tool whose header can have no such name.
fn broken_schema() -> Value {
    json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "My Region"}}})
}

impl Server {
    async fn start(speaks: Speaks) -> (Self, McpConnection) {
        let server = Self {
            speaks: Arc::new(Mutex::new(speaks)),
            received: Arc::default(),
            is_messy: Arc::default(),
            refuses: Arc::default(),
            sessions: Arc::new(LocalSessionManager::default()),
        };
        let (handler, sessions) = (server.clone(), Arc::clone(&server.sessions));
        let service = StreamableHttpService::new(
            move || Ok(handler.clone()),
            sessions,
            StreamableHttpServerConfig::default(),
        );
        let record = from_fn_with_state(server.clone(), record);
        let router = axum::Router::new().nest_service("/mcp", service).layer(record);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let mut transport = McpTransport::http(url);
        if let McpTransport::Http { allow_private, .. } = &mut transport {
            *allow_private = true;
        }
        (server, McpConnection::new(McpSource::new("test", transport)))
    }

    /// Another server takes the place of this one, which knows no sessions of before.
    async fn become_another(&self, speaks: Speaks) {
        *self.speaks.lock() = speaks;
        self.sessions.sessions.write().await.clear();
    }

    /// The headers and the bodies of all requests with this method.
    fn received(&self, method: &str) -> Vec<(HeaderMap, Value)> {
        let received = self.received.lock();
        received.iter().filter(|(_, body)| body["method"] == method).cloned().collect()
    }
}

/// Notes what is received, and lists the tools of a messy server itself.
async fn record(State(server): State<Server>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, MAX_BODY).await.unwrap();
    let message: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    server.received.lock().push((parts.headers.clone(), message.clone()));
    let status = http::StatusCode::from_u16(server.refuses.load(Ordering::Relaxed));
    if let (Some("tools/call"), Ok(status)) = (message["method"].as_str(), status) {
        return status.into_response();
    }
    if message["method"] == "tools/list" && server.is_messy.load(Ordering::Relaxed) {
        let tools = json!([
            {"name": "no_schema"},
            {"name": "deploy", "inputSchema": deploy_schema()},
            {"name": "broken", "inputSchema": broken_schema()},
        ]);
        let result = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools});
        return Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response();
    }
    next.run(Request::from_parts(parts, Body::from(bytes))).await
}

/// A call of `deploy`, with its schema, that the policy let through.
fn deploy(arguments: Value) -> Authorized<Call> {
    let capabilities: Capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    let tool = Tool::new(QualifiedName::new("test", "deploy").unwrap()).with_parameters(deploy_schema());
    let mut call = Call::new(Arc::new(tool), "mcp test".into(), 1);
    call.arguments = serde_json::from_value(arguments).unwrap();
    match Policy::new(&capabilities, []).unwrap().authorize(call, "session") {
        Verdict::Granted(call) => call,
        other => panic!("not granted: {other:?}"),
    }
}

async fn assert_deploys(engine: &McpEngine) {
    let result = invoke(engine, deploy(json!({"region": "north"})), &context()).await;
    assert_eq!(result.result, "called deploy", "{:?}", result.error);
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

/// The revision that a request names in its `_meta`.
fn named_revision(message: &Value) -> Option<&str> {
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str()
}

#[tokio::test]
async fn a_server_behind_a_url_is_spoken_to_in_its_own_era_and_in_the_newer_where_it_knows_both() {
    for (speaks, revision) in [(Speaks::Old, OLD), (Speaks::New, NEW), (Speaks::Both, NEW)] {
        let (server, connection) = Server::start(speaks).await;
        let loaded = McpLoader::new(connection.clone()).load().await;
        assert!(
            loaded.tools.iter().any(|tool| tool.name.name() == "deploy"),
            "{speaks:?} {:?}",
            loaded.rejected
        );
        assert_deploys(&McpEngine::new(connection)).await;

        let [(headers, call)] = server.received("tools/call").try_into().unwrap();
        assert_eq!(header(&headers, "mcp-protocol-version"), Some(revision), "{speaks:?}");
        assert_eq!(server.received("initialize").len(), usize::from(revision == OLD), "{speaks:?}");
        let in_new_era = (revision == NEW).then_some(NEW);
        assert_eq!(named_revision(&call), in_new_era, "{speaks:?}");
    }
}

#[tokio::test]
async fn every_request_of_the_new_era_says_who_sends_it_and_has_its_method_and_name_in_headers() {
    let (server, connection) = Server::start(Speaks::New).await;
    McpLoader::new(connection.clone()).load().await;
    assert_deploys(&McpEngine::new(connection)).await;
    for (method, name) in [("server/discover", None), ("tools/list", None), ("tools/call", Some("deploy"))] {
        let (headers, message) = server.received(method).remove(0);
        assert_eq!(header(&headers, "mcp-method"), Some(method));
        assert_eq!(header(&headers, "mcp-name"), name, "{method}");
        assert_eq!(header(&headers, "mcp-protocol-version"), named_revision(&message), "{method}");
        assert!(!headers.contains_key("mcp-session-id"), "{method}");
        let meta = &message["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "toolcrib", "{message}");
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object(), "{message}");
    }
}

#[tokio::test]
async fn parameters_are_mirrored_in_the_headers_that_their_schema_names() {
    let (server, connection) = Server::start(Speaks::New).await;
    McpLoader::new(connection.clone()).load().await;
    let engine = McpEngine::new(connection);
    let mirrored = ["region", "count", "force", "zone"].map(|name| format!("mcp-param-{name}"));
    for (arguments, values) in [
        (
            json!({"region": "north", "count": 3, "force": true}),
            [Some("north"), Some("3"), Some("true"), None],
        ),
        (json!({"region": null, "note": "a"}), [None; 4]),
        (json!({"region": "Zürich"}), [Some("=?base64?WsO8cmljaA==?="), None, None, None]),
        (json!({"region": " a "}), [Some("=?base64?IGEg?="), None, None, None]),
        (json!({"region": "=?base64?IGEg?="}), [Some("=?base64?PT9iYXNlNjQ/SUdFZz89?="), None, None, None]),
        (json!({"to": {"zone": "a b"}}), [None, None, None, Some("a b")]),
    ] {
        let result = invoke(&engine, deploy(arguments.clone()), &context()).await;
        assert_eq!(result.result, "called deploy", "{:?}", result.error);
        let (headers, _) = server.received("tools/call").pop().unwrap();
        let found = mirrored.each_ref().map(|name| header(&headers, name));
        assert_eq!(found, values, "{arguments}");
        assert!(!headers.contains_key("mcp-param-note"), "{arguments}");
    }
}

#[tokio::test]
async fn a_broken_tool_keeps_no_other_from_its_headers_and_a_bad_header_is_a_reject() {
    let (server, connection) = Server::start(Speaks::New).await;
    server.is_messy.store(true, Ordering::Relaxed);
    let loaded = McpLoader::new(connection.clone()).load().await;
    let rejected: Vec<_> = loaded.rejected.iter().map(|reject| reject.name.as_deref()).collect();
    assert_eq!(rejected, [Some("no_schema"), Some("broken")], "{:?}", loaded.rejected);
    let reason = &loaded.rejected[1].reason;
    assert!(reason.contains("`region` has no name that a header may have"), "{reason}");
    assert_deploys(&McpEngine::new(connection)).await;
    let [(headers, _)] = server.received("tools/call").try_into().unwrap();
    assert_eq!(header(&headers, "mcp-param-region"), Some("north"));
}

#[tokio::test]
async fn nothing_is_mirrored_in_the_old_era() {
    let (server, connection) = Server::start(Speaks::Old).await;
    McpLoader::new(connection.clone()).load().await;
    assert_deploys(&McpEngine::new(connection)).await;
    let [(headers, _)] = server.received("tools/call").try_into().unwrap();
    let mirrored = |name: &&http::HeaderName| {
        let name = name.as_str();
        name.starts_with("mcp-param-") || ["mcp-method", "mcp-name"].contains(&name)
    };
    assert_eq!(headers.keys().find(mirrored), None);
}

#[tokio::test]
async fn a_server_behind_a_url_that_comes_back_in_another_era_is_spoken_to_in_that() {
    for (before, after) in
        [(Speaks::Old, Speaks::New), (Speaks::New, Speaks::Old), (Speaks::Both, Speaks::Old)]
    {
        let (server, connection) = Server::start(before).await;
        let (loader, engine) = (McpLoader::new(connection.clone()), McpEngine::new(connection));
        assert_ne!(loader.load().await.tools, []);
        server.become_another(after).await;
        // Whoever refuses a session may have looked at the call, which is not sent again.
        if matches!(before, Speaks::Old) {
            let error = invoke(&engine, deploy(json!({})), &context()).await.error.unwrap();
            assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
        }
        assert_deploys(&engine).await;
        server.become_another(after).await;
        assert_ne!(loader.load().await.tools, [], "{before:?} {after:?}");
    }
}

#[tokio::test]
async fn a_call_that_a_server_of_either_era_has_refused_is_not_sent_again() {
    for speaks in [Speaks::New, Speaks::Old] {
        for (status, kind) in [
            (400, ErrorKind::Unavailable),
            (409, ErrorKind::Unavailable),
            (422, ErrorKind::Unavailable),
            (429, ErrorKind::Overloaded),
            (500, ErrorKind::OutcomeUnknown),
            (503, ErrorKind::Unavailable),
        ] {
            let (server, connection) = Server::start(speaks).await;
            server.refuses.store(status, Ordering::Relaxed);
            let engine = McpEngine::new(connection);
            let error = invoke(&engine, deploy(json!({})), &context()).await.error.unwrap();
            assert_eq!(error.kind, kind, "{speaks:?} {status}: {error}");
            assert_eq!(server.received("tools/call").len(), 1, "{speaks:?} {status}");
        }
    }
}

/// Functions of a script server that knows `server/discover`, and no `initialize`, while a file is there.
const NEW_WHILE_MARKED: &str = r#"
is_new() { [ -e "${LOG%log}new" ]; }
reply() {
  case $line in
    *'"method":"initialize"'*) if is_new; then fail -32601 'no such method'; return; fi ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}
on_discover() {
  if is_new; then
    reply '{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}'
  else fail -32601 'no such method'; fi
}
on_call() { text 'called one'; }
"#;

#[tokio::test]
async fn a_process_is_spoken_to_in_the_era_that_it_has_at_each_start() {
    let server = ScriptServer::new(NEW_WHILE_MARKED);
    let mark = server.path().join("new");
    let mut handshakes = 0;
    for (round, is_new) in [true, false, true].into_iter().enumerate() {
        if is_new {
            std::fs::write(&mark, "").unwrap();
        } else {
            std::fs::remove_file(&mark).unwrap();
        }
        let result = invoke(&server.engine, authorized("one", json!({})), &context()).await;
        assert_eq!(result.result, "called one", "{:?}", result.error);
        let call: Value = serde_json::from_str(server.logged("tools/call").last().unwrap()).unwrap();
        assert_eq!(named_revision(&call), is_new.then_some(NEW), "{call}");
        handshakes += usize::from(!is_new);
        let greetings: Vec<_> = server.logged(r#""method":"notifications/initialized""#);
        assert_eq!(greetings.len(), handshakes, "round {round}");

        let session = server.connection.session().await.unwrap();
        let process = server.process_ids().pop().unwrap().to_string();
        std::process::Command::new("kill").args(["-KILL", &process]).status().unwrap();
        tokio::time::timeout(PATIENCE, session.ended()).await.unwrap();
    }
    eventually(async || server.process_ids().iter().all(|id| !super::server::runs(*id)).then_some(())).await;
}
