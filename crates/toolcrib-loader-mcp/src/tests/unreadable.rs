//! Servers whose answers no JSON parser reads.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::timeout;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::{RejectKind, ToolEngine as _, ToolLoader as _};

use super::server::ScriptServer;
use super::{PATIENCE, authorized, context, eventually, invoke};
use crate::{McpConnection, McpEngine, McpLoader, McpSource, McpTransport};

/// Calls the only tool of a server that answers with this.
async fn answered_with(answer: &str) -> ToolError {
    let server =
        ScriptServer::new(&format!("on_call() {{ printf '%s\\n' '{answer}' | sed \"s/ID/$id/\"; }}"));
    let context = context();
    let call = invoke(&server.engine, authorized("one", json!({})), &context);
    let result = timeout(PATIENCE, call).await.expect("the call does not wait for the deadline");
    server.engine.close().await;
    result.error.expect("the answer cannot be read")
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_its_call_at_once() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let answers = [
        (
            r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"x":NaN}}}"#,
            "expected value",
        ),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\\udcff"}]}}"#, "surrogate"),
        (r#"{"result":{"content":[],"structuredContent":1e400},"jsonrpc":"2.0","id":ID}"#, "out of range"),
        (
            &format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{"content":[],"structuredContent":{deep}}}}}"#),
            "recursion",
        ),
        (r#"{"jsonrpc":"2.0","id":ID,"error":"oops"}"#, "message"),
        (r#"{"jsonrpc":"2.0","id":ID}"#, "message"),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]}} trailing"#, "trailing"),
    ];
    for (answer, reason) in answers {
        // The shell takes a backslash for itself.
        let error = answered_with(&answer.replace("\\\\", "\\")).await;
        assert_eq!(error.kind, ErrorKind::OutcomeUnknown, "{answer}: {error:?}");
        assert!(error.message.contains("its answer cannot be read"), "{answer}: {}", error.message);
        assert!(error.message.contains(reason), "{answer}: {}", error.message);
        assert!(error.hint.is_some_and(|hint| hint.contains("took effect")), "{answer}");
    }
}

#[tokio::test]
async fn an_answer_without_a_readable_id_ends_the_only_call_that_waits() {
    let error = answered_with(r#"{"jsonrpc":"2.0","result":{"content":[NaN]}}"#).await;
    assert_eq!(error.kind, ErrorKind::OutcomeUnknown);
    let error =
        answered_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad JSON"}}"#).await;
    assert!(error.message.contains("bad JSON"), "{}", error.message);
}

#[tokio::test]
async fn an_answer_without_a_readable_id_ends_none_of_several_calls() {
    let server = Arc::new(ScriptServer::new(
        r#"on_call() {
             if [ "$1" = one ]; then first=$id; else
               echo '{"jsonrpc":"2.0","result":{"content":[NaN]}}'; text second; id=$first; text first
             fi
           }"#,
    ));
    let one = tokio::spawn({
        let server = Arc::clone(&server);
        async move { invoke(&server.engine, authorized("one", json!({})), &context()).await }
    });
    eventually(async || (!server.logged("tools/call").is_empty()).then_some(())).await;
    let two = invoke(&server.engine, authorized("two", json!({})), &context()).await;
    assert_eq!((two.result, one.await.unwrap().result), (json!("second"), json!("first")));
    server.engine.close().await;
}

#[tokio::test]
async fn a_log_that_looks_like_an_object_ends_no_call() {
    let server = ScriptServer::new(
        r#"on_call() { echo "{ level: info, id: $id }"; echo '{"level":30}'; text done; }"#,
    );
    let result = invoke(&server.engine, authorized("one", json!({})), &context()).await;
    assert_eq!(result.result, "done", "{:?}", result.error);
    server.engine.close().await;
}

#[tokio::test]
async fn a_tool_that_cannot_be_read_hides_no_other() {
    let deep = format!("{}{{}}{}", r#"{"properties":{"a":"#.repeat(200), "}}".repeat(200));
    let list = format!(
        r#"{{"tools":[{{"name":"odd","description":"\ud83d","inputSchema":{{}}}},{{"name":"deep","inputSchema":{deep}}},
        {{"name":"nan","inputSchema":{{"default":NaN}}}},TOOL]}}"#
    )
    .replace('\n', "");
    let server = ScriptServer::new(&format!(
        "on_list() {{ reply \"$(printf '%s' '{list}' | sed \"s/TOOL/$(tool good)/\")\"; }}"
    ));
    let loaded = server.loader.load().await;
    let names: Vec<_> = loaded.tools.iter().map(|tool| tool.name.name()).collect();
    assert_eq!(names, ["good"], "{:?}", loaded.rejected);
    let rejected: Vec<_> =
        loaded.rejected.iter().map(|reject| (reject.name.as_deref().unwrap(), reject.kind)).collect();
    let kind = RejectKind::InvalidTool;
    assert_eq!(rejected, [("odd", kind), ("deep", kind), ("nan", kind)]);
    assert!(loaded.rejected[0].reason.contains("it cannot be read"), "{}", loaded.rejected[0].reason);
    server.engine.close().await;
}

#[tokio::test]
async fn a_list_that_cannot_be_read_is_reported_at_once() {
    let server = ScriptServer::new(r#"on_list() { reply '{"tools":[],"nextCursor":NaN}'; }"#);
    let loaded = timeout(PATIENCE / 2, server.loader.load()).await.expect("it is not waited for");
    assert!(loaded.rejected[0].reason.contains("its answer cannot be read"), "{:?}", loaded.rejected);
    server.engine.close().await;
}

/// A server over Streamable HTTP that answers with events, and with `NaN` in each of them.
async fn start_http() -> String {
    async fn post(body: String) -> Response {
        let message: Value = serde_json::from_str(&body).unwrap();
        let id = &message["id"];
        let result = match message["method"].as_str().unwrap() {
            "initialize" => {
                let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "events", "version": "1"}});
                return axum::Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response();
            }
            "tools/list" => {
                r#"{"tools":[{"name":"nan","inputSchema":{"default":NaN}},{"name":"good","inputSchema":{}}]}"#
            }
            "tools/call" => r#"{"content":[],"structuredContent":NaN}"#,
            _ => return StatusCode::ACCEPTED.into_response(),
        };
        // The stream stays open, so that its end does not end the call.
        let event = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n\n");
        let events = stream::once(async { Ok::<_, Infallible>(event) }).chain(stream::pending());
        ([("content-type", "text/event-stream")], Body::from_stream(events)).into_response()
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/mcp", axum::routing::post(post));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

#[tokio::test]
async fn events_that_cannot_be_read_lose_one_tool_and_end_their_call() {
    let mut transport = McpTransport::http(start_http().await);
    if let McpTransport::Http { allow_private, .. } = &mut transport {
        *allow_private = true;
    }
    let connection = McpConnection::new(McpSource::new("test", transport));
    let (loader, engine) = (McpLoader::new(connection.clone()), McpEngine::new(connection));
    let loaded = loader.load().await;
    let names: Vec<_> = loaded.tools.iter().map(|tool| tool.name.name()).collect();
    assert_eq!(names, ["good"], "{:?}", loaded.rejected);
    assert_eq!(loaded.rejected[0].name.as_deref(), Some("nan"));
    let (call, context) = (authorized("good", json!({})), context());
    let call = timeout(PATIENCE, invoke(&engine, call, &context)).await;
    let error = call.expect("the call does not wait for the deadline").error.unwrap();
    assert_eq!(error.kind, ErrorKind::OutcomeUnknown);
    assert!(error.message.contains("its answer cannot be read"), "{}", error.message);
    engine.close().await;
}
