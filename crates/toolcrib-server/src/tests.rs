//! What serving promises: a client of MCP lists and calls the tools of an app.

mod apps;
mod metrics;
mod profiles;
mod resources;
mod surface;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, split};
use toolcrib_app::Blueprint;
use toolcrib_exec::DenyAll;
use toolcrib_runtime::Runtime;

use crate::{ClientApprover, Server, ServerSettings};

const APP: &str = "
app: {id: greeter, description: Greets people.}
modules: {hello: {constraints: {blocked_actions: [greet_many]}}}
tools: {capabilities: {default_policy: grant, approve: [{module: hello, actions: [status]}]}}
";

/// A client that speaks the protocol line by line.
struct Client {
    lines: Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>,
    writer: tokio::io::WriteHalf<DuplexStream>,
}

impl Client {
    async fn send(&mut self, message: Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await;
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }
}

type Serving = tokio::task::JoinHandle<Result<(), crate::Error>>;

async fn connect() -> (Client, Serving) {
    let (client, server, _, instructions) = serve(APP).await;
    assert!(instructions.starts_with("Greets people.\n\nAll tools are listed"), "{instructions}");
    (client, server)
}

/// Serves an app to one client; returns both, the runtime, and what the client was told when it connected.
async fn serve(app: &str) -> (Client, Serving, Arc<Runtime>, String) {
    let blueprint = Blueprint::from_text("app.yaml", app).unwrap();
    serve_to(blueprint, json!({})).await
}

/// Serves an app to a client with these capabilities.
async fn serve_to(app: Blueprint, capabilities: Value) -> (Client, Serving, Arc<Runtime>, String) {
    let approver = ClientApprover::new(Arc::new(DenyAll));
    let runtime = Arc::new(Runtime::start(app, approver).await.unwrap());
    let server = Server::new(Arc::clone(&runtime), ServerSettings::default()).unwrap();
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = split(theirs);
    let server = tokio::spawn(async move { server.serve(reader, writer).await });
    let (reader, writer) = split(ours);
    let mut client = Client { lines: BufReader::new(reader).lines(), writer };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}});
    let answer = client.request("initialize", hello).await;
    let instructions = answer["result"]["instructions"].as_str().unwrap().to_owned();
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    (client, server, runtime, instructions)
}

#[tokio::test]
async fn a_client_lists_the_tools_that_policy_lets_it_see() {
    let (mut client, _server) = connect().await;
    let answer = client.request("tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["run_parallel", "read_result"]);
    assert_eq!(names[names.len() - 2..], ["hello__say_hello", "hello__status"]);
    assert_eq!(tools[names.len() - 2]["annotations"]["readOnlyHint"], true);
}

#[tokio::test]
async fn a_call_goes_through_the_gate_and_its_failure_is_a_result() {
    let (mut client, server) = connect().await;
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let answer = client.request("tools/call", call("hello__say_hello", json!({"name": "Ada"}))).await;
    assert_eq!(answer["result"]["isError"], false);
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("Ada"), "{answer}");
    for (name, arguments, kind) in [
        ("hello__say_hello", json!({"nmae": "Ada"}), "invalid_args"),
        ("hello__greet_many", json!({"names": ["Ada"]}), "denied"),
        ("hello.status", json!({}), "approval_required"),
        ("nothing", json!({}), "unknown_tool"),
    ] {
        let answer = client.request("tools/call", call(name, arguments)).await;
        assert_eq!(answer["result"]["isError"], true, "{name}");
        let error: Value =
            serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(error["kind"], kind, "{name}");
    }
    drop(client);
    assert!(server.await.unwrap().is_ok(), "hanging up is a normal end");
}
