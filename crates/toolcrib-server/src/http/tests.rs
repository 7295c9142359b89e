//! What serving over HTTP promises of connections, tried on real sockets.

mod approvals;
mod drops;
mod login;
mod profiles;
mod push;
mod shutdown;

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::time::timeout;
use toolcrib_app::{Blueprint, EntryContext, Extensions};
use toolcrib_exec::DenyAll;
use toolcrib_model::{Risk, ToolError};
use toolcrib_port::{CallContext, CallScope, Progress};
use toolcrib_runtime::Runtime;
use toolcrib_sdk::{FunctionTool, Module};

use super::connections::MAX_HEAD_BYTES;
use super::memory_budget::{FREE_BODY_BYTES, MAX_BODY_BYTES_AT_ONCE, MAX_UNREAD_BYTES};
use super::sessions::MAX_SESSIONS_OF_CLIENT;
use super::*;
use crate::{ClientApprover, ServerSettings};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Orders {
    #[expect(dead_code, reason = "its schema is all that is wanted")]
    state: OrderState,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OrderState {
    Open,
    Paid,
}

/// What the tool `stock` declares.
#[derive(JsonSchema)]
struct Stock {
    #[expect(dead_code, reason = "its schema is all that is wanted")]
    items: Vec<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct HowMany {
    count: u32,
}

/// What the tool `price` declares.
#[derive(JsonSchema)]
struct Price {
    #[expect(dead_code, reason = "its schema is all that is wanted")]
    price: f64,
}

/// A served app with a tool that never ends, and one whose results are not what it declares.
struct Served {
    server: Server,
    address: SocketAddr,
    state: Weak<HttpState>,
    /// Ends the server.
    leave: Arc<Notify>,
    /// The tool that never ends has begun.
    begun: Arc<Notify>,
    serving: tokio::task::JoinHandle<Result<(), Error>>,
}

impl Served {
    async fn start() -> Self {
        Self::start_with("").await
    }

    /// Starts an app that says more than which tools there are.
    async fn start_with(more: &str) -> Self {
        let begun = Arc::new(Notify::new());
        let telling = Arc::clone(&begun);
        let extensions = Extensions::default().with_module(
            "shop",
            move |_: toolcrib_modules::NoConfig, _: &EntryContext<'_>| {
                let begun = Arc::clone(&telling);
                let hang =
                    FunctionTool::new("hang", "Never ends.", move |_: Nothing, context: CallContext| {
                        if let Some(listener) = &context.progress {
                            listener.progress(&Progress { done: 1.0, total: None, message: None });
                        }
                        begun.notify_one();
                        let held = Arc::clone(&begun);
                        async move {
                            let result = std::future::pending::<Result<Value, ToolError>>().await;
                            drop(held);
                            result
                        }
                    });
                let who = FunctionTool::new(
                    "who",
                    "Says who calls.",
                    |_: Nothing, context: CallContext| async move {
                        let known = [&context.conversation, &context.user, &context.message];
                        let is_session = context.conversation.as_ref() == Some(&context.session);
                        Ok::<_, ToolError>(json!({
                            "known": known.map(|text| text.as_deref().is_some()),
                            "is_session": is_session,
                            "user": context.user.as_deref(),
                            "message": context.message.as_deref(),
                            "tenant": context.scope.get("tenant"),
                        }))
                    },
                );
                let price = FunctionTool::new("price", "Prices.", |_: Nothing, _| async {
                    Ok::<_, ToolError>(json!({"price": "five"}))
                });
                let stock = FunctionTool::new("stock", "Lists the stock.", |given: HowMany, _| async move {
                    Ok::<_, ToolError>(json!({"items": (0..given.count).collect::<Vec<_>>()}))
                });
                let orders = FunctionTool::new("orders", "Lists orders.", |_: Orders, _| async {
                    Ok::<_, ToolError>("no orders")
                });
                let forget = FunctionTool::new("forget", "Forgets.", |_: Nothing, _| async {
                    Ok::<_, ToolError>(Value::Null)
                });
                Ok(Module::new("shop", "A shop.")
                    .reporting_progress()
                    .with_tool(login::log_in().with_risk(Risk::Low))
                    .with_tool(orders.with_risk(Risk::Low))
                    .with_tool(forget.with_risk(Risk::Low))
                    .with_tool(who.with_risk(Risk::Low))
                    .with_tool(hang.with_risk(Risk::Low))
                    .with_tool(
                        stock.with_risk(Risk::Low).with_output::<Stock>().with_metadata("title", "The stock"),
                    )
                    .with_tool(price.with_risk(Risk::Low).with_output::<Price>()))
            },
        );
        let text =
            format!("modules: {{shop: {{}}}}\ntools: {{capabilities: {{default_policy: grant}}}}\n{more}");
        let app = Blueprint::from_text_with("app.yaml", &text, extensions).unwrap();
        let approver = ClientApprover::new(Arc::new(DenyAll));
        let runtime = Arc::new(Runtime::start(app, approver).await.unwrap());
        let scope = CallScope::default().with("tenant", "acme").unwrap();
        let settings = ServerSettings { user: Some("ada".to_owned()), scope, ..ServerSettings::default() };
        let server = Server::new(runtime, settings).unwrap();
        let listening = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let (address, leave) = (listening.address(), Arc::new(Notify::new()));
        let left = Arc::clone(&leave);
        let state = Arc::downgrade(&listening.state);
        let serving = tokio::spawn(listening.serve(async move { left.notified().await }));
        Self { server, address, state, leave, begun, serving }
    }

    async fn send(&self, request: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // It may be answered before it was sent.
        let _ = stream.write_all(request).await;
        stream
    }

    async fn answer(&self, request: &[u8]) -> String {
        read(self.send(request).await).await
    }

    /// Begins a session.
    async fn session(&self, revision: &str) -> TestSession {
        self.session_with(revision, &json!({})).await
    }

    fn state(&self) -> Arc<HttpState> {
        self.state.upgrade().unwrap()
    }

    async fn end(self) {
        self.leave.notify_one();
        timeout(PATIENCE, self.serving).await.unwrap().unwrap().unwrap();
        self.server.close().await;
    }
}

/// A session of a revision before 2026-07-28.
struct TestSession {
    /// The headers of its requests.
    headers: String,
}

impl TestSession {
    /// A call in the session, without arguments.
    fn call(&self, tool: &str) -> Vec<u8> {
        let params = json!({"name": tool, "arguments": {}});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        request("POST", "/mcp", &self.headers, &body.to_string())
    }
}

/// All that comes until the server hangs up.
async fn read(mut stream: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    // A connection that is given up ends with an error.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn request(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A call of revision 2026-07-28, without arguments.
fn call(tool: &str) -> Vec<u8> {
    call_with(tool, &json!({}))
}

fn list() -> Vec<u8> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": meta}}).to_string();
    let headers = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/list\r\n";
    request("POST", "/mcp", headers, &body)
}

fn call_with(tool: &str, arguments: &Value) -> Vec<u8> {
    call_with_meta(tool, arguments, &json!({}))
}

/// A call of revision 2026-07-28 that says more in its `_meta`.
fn call_with_meta(tool: &str, arguments: &Value, more: &Value) -> Vec<u8> {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
    let headers =
        format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n");
    request("POST", "/mcp", &headers, &body)
}

fn initialize() -> Vec<u8> {
    initialize_with("2025-11-25", "")
}

fn initialize_with(revision: &str, headers: &str) -> Vec<u8> {
    initialize_as(revision, headers, &json!({}))
}

fn initialize_as(revision: &str, headers: &str, capabilities: &Value) -> Vec<u8> {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    request("POST", "/mcp", headers, &body.to_string())
}

/// The message of an answer, in whichever form it came.
fn message(answer: &str) -> Value {
    let line = answer.lines().rfind(|line| line.contains("jsonrpc")).unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(line.trim_start_matches("data:").trim()).unwrap()
}

#[tokio::test]
async fn a_head_that_is_larger_than_its_bound_is_refused() {
    let served = Served::start().await;
    for (bytes, status) in
        [(30_000, "200"), (MAX_HEAD_BYTES - 40, "431"), (40_000, "431"), (120_000, "431"), (500_000, "431")]
    {
        let headers = format!("x: {}\r\n", "a".repeat(bytes));
        let answer = served.answer(&request("GET", "/healthz", &headers, "")).await;
        // Of what was not read to its end the answer may be lost.
        assert!(
            answer.is_empty() && bytes > 100_000 || answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{bytes}: {answer}"
        );
    }
    served.end().await;
}

#[tokio::test]
async fn bodies_that_stall_are_held_within_a_budget_and_small_requests_come_in_meanwhile() {
    let served = Served::start().await;
    let body = 4 * 1024 * 1024;
    let fit = MAX_BODY_BYTES_AT_ONCE / body;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {body}\r\n\r\n"
    );
    let stalled = [head.as_bytes(), &vec![b' '; body - 1]].concat();
    let mut open = Vec::new();
    for _ in 0..fit {
        open.push(served.send(&stalled).await);
    }
    let state = served.state();
    timeout(PATIENCE, async {
        while state.bodies.used() < fit * (body - 1 - FREE_BODY_BYTES) {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    let mut refused = 0;
    for _ in 0..4 {
        let answer = served.answer(&stalled).await;
        refused += usize::from(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 1"));
    }
    assert_eq!(refused, 4);
    let answer = served.answer(&call("shop__price")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(open);
    served.end().await;
}

#[tokio::test]
async fn answers_that_nobody_reads_give_way_to_others() {
    let served = Served::start().await;
    let part = Bytes::from(vec![b'x'; MAX_UNREAD_BYTES / 4]);
    let whole = part.len();
    let router = Router::new().route("/large", get(move || async move { part }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits = toolcrib_app::sections::serve::ServeLimits::default();
    let shared = Arc::clone(&served.server.shared);
    tokio::spawn(async move { connections::serve(listener, router, &limits, shared).await });
    let mut idle = Vec::new();
    for _ in 0..8 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        stream.write_all(&request("GET", "/large", "", "")).await.unwrap();
        // Its answer has begun.
        stream.readable().await.unwrap();
        idle.push(stream);
    }
    let mut reading = TcpStream::connect(address).await.unwrap();
    reading.write_all(&request("GET", "/large", "", "")).await.unwrap();
    assert!(read(reading).await.len() > whole, "who reads gets all of it");
    let mut given_up = 0;
    for stream in idle {
        given_up += usize::from(read(stream).await.len() < whole);
    }
    assert!(given_up >= 4, "{given_up}");
    served.end().await;
}

#[tokio::test]
async fn a_session_that_its_client_ends_is_answered_as_clients_expect() {
    let served = Served::start().await;
    let TestSession { headers } = served.session("2025-11-25").await;
    let ended = served.answer(&request("DELETE", "/mcp", &headers, "")).await;
    assert!(ended.starts_with("HTTP/1.1 204"), "{ended}");
    let again = served.answer(&request("DELETE", "/mcp", &headers, "")).await;
    assert!(again.starts_with("HTTP/1.1 404"), "{again}");
    served.end().await;
}

#[tokio::test]
async fn a_client_has_no_more_sessions_than_it_may_and_is_told_so() {
    let served = Served::start().await;
    let mut begun = 0;
    let refused = loop {
        let answer = served.answer(&initialize()).await;
        if !answer.starts_with("HTTP/1.1 200") {
            break answer;
        }
        begun += 1;
    };
    assert_eq!(begun, MAX_SESSIONS_OF_CLIENT);
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("has 256 sessions"), "{refused}");
    served.end().await;
}

#[tokio::test]
async fn a_client_with_all_the_sessions_that_it_may_have_leaves_others_theirs() {
    let (one, other) = ("token-of-one-0123456789", "token-of-other-0123456789");
    let tokens =
        format!("serve: {{tokens: [{{name: one, token: {one}}}, {{name: other, token: {other}}}]}}\n");
    let served = Served::start_with(&tokens).await;
    let begin = async |token: &str| {
        let answer = served
            .answer(&initialize_with("2025-11-25", &format!("authorization: Bearer {token}\r\n")))
            .await;
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    for _ in 0..MAX_SESSIONS_OF_CLIENT {
        assert_eq!(begin(one).await, "200");
    }
    assert_eq!(begin(one).await, "429");
    assert_eq!(begin(other).await, "200");
    served.end().await;
}

#[tokio::test]
async fn a_client_is_told_that_a_result_is_not_what_its_tool_declares() {
    let served = Served::start().await;
    let result = message(&served.answer(&call("shop__price")).await)["result"].clone();
    let last = result["content"].as_array().unwrap().last().unwrap();
    let told = "[does not fit the declared output: `price` must be of type number, not \"five\"]";
    assert_eq!(last["text"], told);
    assert_eq!(result["_meta"]["toolcrib/outputViolations"].as_array().map(Vec::len), Some(1), "{result:#}");
    let texts: Vec<&str> =
        result["content"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect();
    assert!(texts[0].starts_with("[The call succeeded. Its result does not fit"), "{texts:?}");
    assert_eq!(texts[1], r#"{"price":"five"}"#);
    // Clients refuse a structure that does not fit, and do not check errors.
    assert_eq!((&result["isError"], result.get("structuredContent")), (&json!(true), None));
    served.end().await;
}

#[tokio::test]
async fn a_tool_served_by_itself_has_its_output_schema_and_sends_its_structure_whole() {
    let served = Served::start().await;
    let listed = message(&served.answer(&list()).await)["result"]["tools"].clone();
    let tools = listed.as_array().unwrap();
    let stock = tools.iter().find(|tool| tool["name"] == "shop__stock").unwrap();
    assert_eq!(stock["title"], "The stock");
    assert_eq!(stock["outputSchema"]["properties"]["items"]["type"], "array");
    assert!(tools.iter().find(|tool| tool["name"] == "shop__who").unwrap().get("outputSchema").is_none());
    let stock = async |count: u32| {
        message(&served.answer(&call_with("shop__stock", &json!({"count": count}))).await)["result"].clone()
    };
    let small = stock(3).await;
    assert_eq!(
        (small["isError"].as_bool(), &small["structuredContent"]),
        (Some(false), &json!({"items": [0, 1, 2]}))
    );
    // More than a model is given whole: it reads a preview, and the program has everything.
    let large = stock(20_000).await;
    assert_eq!(large["isError"], false, "{}", large["content"]);
    assert_eq!(large["structuredContent"]["items"].as_array().map(Vec::len), Some(20_000));
    assert!(large["content"].to_string().len() < 10_000);
    assert!(large["content"].to_string().contains("resource_link"));
    // More than is checked.
    let huge = stock(200_000).await;
    assert_eq!((&huge["isError"], huge.get("structuredContent")), (&json!(true), None));
    let told = huge["content"].to_string();
    assert!(
        told.contains("The call succeeded. Its result is too large") && told.contains("resource_link"),
        "{told}"
    );
    served.end().await;
}

#[tokio::test]
async fn a_client_is_told_the_facts_of_a_result_in_every_form_of_a_call() {
    let served = Served::start().await;
    let texts = async |name: &str, arguments: Value| {
        let result = message(&served.answer(&call_with(name, &arguments)).await)["result"].clone();
        let blocks = result["content"].as_array().unwrap().clone();
        blocks.iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let repaired = "[repaired: state \"Open\" → \"open\"]";
    let orders = json!({"state": "Open"});
    assert_eq!(texts("shop__orders", orders.clone()).await, ["no orders", repaired]);
    let call = json!({"name": "shop.orders", "params": orders});
    assert_eq!(texts("execute_tool", call.clone()).await, ["no orders", repaired]);
    let told = texts("run_parallel", json!({"calls": [call, {"name": "shop.forget", "params": {}}]})).await;
    let told: Value = serde_json::from_str(&told[0]).unwrap();
    assert_eq!(told["results"][0]["facts"], repaired);
    assert_eq!(told["results"][1]["facts"], "[done; the tool returned no value]");
    assert_eq!(texts("shop__forget", json!({})).await, ["[done; the tool returned no value]"]);
    served.end().await;
}

#[tokio::test]
async fn a_tool_is_told_the_conversation_the_user_the_message_and_the_scope_of_a_call() {
    let served = Served::start().await;
    let result = message(&served.answer(&call("shop__who")).await)["result"]["structuredContent"].clone();
    let expected = json!({
        "known": [true, true, true], "is_session": true, "user": "ada", "message": "7", "tenant": "acme",
    });
    assert_eq!(result, expected);
    served.end().await;
}
