//! Answers of sources behind a served app that clients get unchanged: completions of MCP servers, and statuses of HTTP.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::client::Served;
use crate::support::{TestDir, peer};

const API: &str = "
openapi: 3.1.0
info: {title: Orders, version: '1'}
paths:
  /orders:
    get:
      operationId: list
      summary: Lists the orders.
      responses: {200: {description: ok, content: {application/json: {schema: {type: array, items: {type: integer}}}}}}
  /orders/{id}:
    delete:
      operationId: forget
      summary: Forgets an order.
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {204: {description: Forgotten.}}
";

/// Starts an API that answers `GET` with the first of several pages, and anything else with 204.
async fn start_api() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, address));
        }
    });
    address
}

async fn answer(mut stream: TcpStream, address: SocketAddr) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let reply = if head.starts_with(b"GET") {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 6\r\nconnection: close\r\n\
             link: <http://{address}/orders?page=2>; rel=\"next\"\r\n\r\n[1, 2]"
        )
    } else {
        "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_owned()
    };
    // A client that is gone gets no answer.
    let _ = stream.write_all(reply.as_bytes()).await;
}

fn texts(answer: &Value) -> Vec<&str> {
    let blocks = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    blocks.iter().map(|block| block["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_client_is_told_that_an_operation_has_no_content_and_where_the_next_page_is() {
    let api = start_api().await;
    let app = format!(
        "
tools:
  registry: [{{type: rest, namespace: shop, spec: api.yaml, base_url: 'http://{api}'}}]
  capabilities: {{default_policy: grant, grant: [{{module: shop, actions: [forget]}}]}}
"
    );
    let dir = TestDir::with_app(&app).with_file("api.yaml", API);
    let served = Served::start(&dir, &[]).await;
    let call = async |name: &str, arguments: Value| {
        served.modern(&[], "tools/call", json!({"name": name, "arguments": arguments})).await
    };
    let forgotten = call("shop__forget", json!({"id": 7})).await;
    assert_eq!(texts(&forgotten), ["[204 No Content]"]);
    assert_eq!(forgotten["result"]["isError"], false);
    let page = call("shop__list", json!({})).await;
    let next = format!("[next page: http://{api}/orders?page=2]");
    assert_eq!(texts(&page), ["[1,2]", next.as_str()]);
}

#[tokio::test]
async fn arguments_of_prompts_and_templates_are_completed_by_the_server_behind() {
    let Some(packages) = peer("npm") else { return };
    let program = packages.join("node_modules/.bin/mcp-server-everything");
    let app = format!(
        "
tools:
  registry:
    - {{type: mcp, namespace: peer, startup_timeout_seconds: 60, command: ['{}', stdio]}}
  capabilities: {{default_policy: grant}}
",
        program.display()
    );
    let dir = TestDir::with_app(&app);
    let served = Served::start(&dir, &[]).await;
    let found = served.modern(&[], "server/discover", json!({})).await;
    assert!(found["result"]["capabilities"]["completions"].is_object(), "{found}");
    let complete = async |reference: Value, name: &str, value: &str, given: Value| {
        let params = json!({
            "ref": reference, "argument": {"name": name, "value": value}, "context": {"arguments": given},
        });
        let answer = served.modern(&[], "completion/complete", params).await;
        let values = answer["result"]["completion"]["values"].clone();
        assert!(values.is_array(), "{answer}");
        values
    };
    let prompt = || json!({"type": "ref/prompt", "name": "peer.completable-prompt"});
    let template =
        json!({"type": "ref/resource", "uri": "toolcrib://peer/demo://resource/dynamic/text/{resourceId}"});
    assert_eq!(complete(prompt(), "department", "S", json!({})).await, json!(["Sales", "Support"]));
    let sales = json!({"department": "Sales"});
    assert_eq!(complete(prompt(), "name", "E", sales).await, json!(["Eve"]));
    assert_eq!(complete(template, "resourceId", "7", json!({})).await, json!(["7"]));
}
