//! What becomes of pictures, other binary data and addresses of resources on their way to a client.

use serde_json::{Value, json};

use super::client::Served;
use crate::support::TestDir;

/// A server with a resource, and a tool for each kind of content.
const SCRIPT: &str = r#"
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
tool() { printf '{"name":"%s","description":"Shows a %s.","inputSchema":{"type":"object"}}' "$1" "$1"; }
image='{"type":"image","mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUg=="}'
blob=$(printf 'AAECAwQF%.0s' $(seq 1 2000))
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[!0-9]*}
  case $line in
    *'"method":"initialize"'*)
      reply '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    *'"method":"tools/list"'*) reply "{\"tools\":[$(tool chart),$(tool mixed),$(tool archive),$(tool manual)]}" ;;
    *'"method":"resources/list"'*) reply '{"resources":[{"uri":"odd://manuals/press","name":"press"}]}' ;;
    *'"method":"resources/read"'*)
      uri=${line#*\"uri\":\"}; uri=${uri%%\"*}
      reply "{\"contents\":[{\"uri\":\"$uri\",\"text\":\"How to press $uri\"}]}" ;;
    *'"name":"chart"'*) reply "{\"content\":[$image]}" ;;
    *'"name":"mixed"'*)
      long=$(printf 'a long text %.0s' $(seq 1 5000))
      reply "{\"content\":[{\"type\":\"text\",\"text\":\"$long\"},$image]}" ;;
    *'"name":"archive"'*)
      reply "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"odd://a.zip\",\"mimeType\":\"application/zip\",\"blob\":\"$blob\"}}]}" ;;
    *'"name":"manual"'*)
      reply '{"content":[{"type":"resource_link","uri":"odd://manuals/press","name":"press"},{"type":"resource","resource":{"uri":"odd://manuals/press","text":"Press."}}]}' ;;
  esac
done
"#;

const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUg==";

/// The app, served, and a session of a client.
struct Client {
    _lab: TestDir,
    served: Served,
    session: String,
}

impl Client {
    async fn start() -> Self {
        let app = "
tools:
  registry: [{type: mcp, namespace: odd, command: [sh, server.sh], cwd: .}]
  capabilities: {default_policy: grant}
";
        let dir = TestDir::with_app(app).with_file("server.sh", SCRIPT);
        let served = Served::start(&dir, &[]).await;
        let session = served.session(&[], json!({})).await;
        Self { _lab: dir, served, session }
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        self.served.post(&[("mcp-session-id", &self.session)], &request).await.message()
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": arguments})).await["result"].clone()
    }
}

/// The pictures of a result.
fn pictures(result: &Value) -> Vec<&str> {
    let blocks = result["content"].as_array().unwrap_or_else(|| panic!("{result}"));
    let pictures = blocks.iter().filter(|block| block["type"] == "image");
    pictures.map(|block| block["data"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn pictures_reach_a_client_from_every_kind_of_call() {
    let client = Client::start().await;
    assert_eq!(pictures(&client.call("odd__chart", json!({})).await), [PICTURE]);
    let several =
        client.call("run_parallel", json!({"calls": [{"name": "odd.chart"}, {"name": "odd.chart"}]})).await;
    assert_eq!(pictures(&several), [PICTURE, PICTURE]);
    let mixed = client.call("odd__mixed", json!({})).await;
    assert_eq!(pictures(&mixed), [PICTURE]);
    assert!(mixed["content"][0]["text"].as_str().unwrap().len() < 5_000, "{mixed}");
    let several = client.call("run_parallel", json!({"calls": [{"name": "odd.mixed"}]})).await;
    assert_eq!(pictures(&several), [PICTURE]);
    let told: Value = serde_json::from_str(several["content"][0]["text"].as_str().unwrap()).unwrap();
    let handles = toolcrib_model::result::media_handles(&told, 10);
    let again = client.call("read_result", json!({"handle": handles[0].handle})).await;
    assert_eq!(pictures(&again), [PICTURE]);
}

#[tokio::test]
async fn an_embedded_blob_is_the_address_of_a_resource_and_never_in_the_conversation() {
    let client = Client::start().await;
    let result = client.call("odd__archive", json!({})).await;
    assert!(result.to_string().len() < 1_000, "{result}");
    let link = &result["content"][0];
    assert_eq!(
        (&link["type"], &link["mimeType"], &link["size"]),
        (&json!("resource_link"), &json!("application/zip"), &json!(12_000))
    );
    let read = client.ask("resources/read", json!({"uri": link["uri"]})).await;
    let blob = read["result"]["contents"][0]["blob"].as_str().unwrap_or_else(|| panic!("{read}"));
    assert_eq!(blob, "AAECAwQF".repeat(2_000));
}

#[tokio::test]
async fn addresses_of_resources_of_a_server_behind_can_be_read_here() {
    let client = Client::start().await;
    let result = client.call("odd__manual", json!({})).await;
    let uri = "toolcrib://odd/odd://manuals/press";
    assert_eq!(result["content"][0]["uri"], uri, "{result}");
    assert_eq!(result["content"][1]["resource"]["uri"], uri, "{result}");
    let read = client.ask("resources/read", json!({"uri": uri})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "How to press odd://manuals/press", "{read}");
    for uri in [uri, "odd://manuals/press"] {
        let read = client.call("odd__read_resource", json!({"uri": uri})).await;
        assert_eq!(read["content"][0]["text"], "How to press odd://manuals/press", "{read}");
    }
}
