//! Resources of servers: subscriptions, templates and completions.

use super::{Client, serve};
use serde_json::{Value, json};

/// A server with a resource, a template and completions, whose tool announces that the resource has changed.
const NOTES: &str = r#"
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[!0-9]*}
  case $line in
    *'"method":"initialize"'*)
      reply '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true},"completions":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    *'"method":"tools/list"'*) reply '{"tools":[{"name":"write","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      printf '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note://1"}}\n'
      reply '{"content":[]}' ;;
    *'"method":"resources/list"'*) reply '{"resources":[{"uri":"note://1","name":"one","mimeType":"text/x-note","size":3}]}' ;;
    *'"method":"resources/templates/list"'*)
      reply '{"resourceTemplates":[{"uriTemplate":"note://{number}","name":"note","mimeType":"text/x-note"},{"uriTemplate":"ui://note/{number}","name":"view"}]}' ;;
    *'"method":"resources/read"'*) reply '{"contents":[{"uri":"note://1","mimeType":"text/x-note","text":"one"}]}' ;;
    *'"method":"completion/complete"'*'"uri":"note://{number}"'*) reply '{"completion":{"values":["1","12"],"total":2}}' ;;
    *'"method":"completion/complete"'*'"uri":"ui://note/{number}"'*) reply '{"completion":{"values":["7"]}}' ;;
    *) reply '{}' ;;
  esac
done
"#;

/// Serves the notes to a client.
async fn notes(capabilities: &str) -> (tempfile::TempDir, Client) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("notes.sh");
    std::fs::write(&script, NOTES).unwrap();
    let entry = |namespace: &str| {
        format!(
            "{{type: mcp, namespace: {namespace}, lazy: false, pin: false, command: [sh, '{}']}}",
            script.display()
        )
    };
    let app = format!(
        "tools:\n  registry: [{}, {}]\n  capabilities: {capabilities}",
        entry("notes"),
        entry("others")
    );
    let (client, ..) = serve(&app).await;
    (folder, client)
}

const GRANTED: &str = "{default_policy: grant, deny: [{module: others}]}";

/// The `_meta` of a request of revision 2026-07-28.
fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

impl Client {
    async fn message(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// Sends a call of the tool, and returns the notification that it causes.
    async fn written(&mut self) -> Value {
        let call = json!({"name": "notes__write", "arguments": {}});
        self.send(json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})).await;
        let mut messages = [self.message().await, self.message().await];
        messages.sort_by_key(|message| message.get("id").is_some());
        let [notification, answer] = messages;
        assert_eq!(answer["id"], 7, "{answer}");
        notification
    }
}

#[tokio::test]
async fn a_client_hears_of_changes_of_a_resource_that_it_subscribed_to() {
    let (_folder, mut client) = notes(GRANTED).await;
    let uri = "toolcrib://notes/note://1";
    assert_eq!(client.request("resources/subscribe", json!({"uri": uri})).await["result"], json!({}));
    let update = client.written().await;
    assert_eq!(
        (&update["method"], &update["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(uri))
    );
    assert_eq!(client.request("resources/unsubscribe", json!({"uri": uri})).await["result"], json!({}));
    let answer = client.request("tools/call", json!({"name": "notes__write", "arguments": {}})).await;
    assert_eq!(answer["id"], 1, "no notification precedes the answer: {answer}");
    let refused = client.request("resources/subscribe", json!({"uri": "toolcrib://others/note://1"})).await;
    let unknown = client.request("resources/subscribe", json!({"uri": "toolcrib://nothing/note://1"})).await;
    assert_eq!(refused["error"]["code"], unknown["error"]["code"]);
    assert!(refused["error"]["message"].as_str().unwrap().starts_with("there is no resource"), "{refused}");
}

#[tokio::test]
async fn a_client_of_the_stateless_revision_listens_to_changes_of_resources() {
    let (_folder, mut client) = notes(GRANTED).await;
    let uris = ["toolcrib://notes/note://1", "toolcrib://others/note://1"];
    let listen = json!({"_meta": modern(), "notifications": {"resourceSubscriptions": uris}});
    client.send(json!({"jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": listen})).await;
    let acknowledged = client.message().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    let discovered = client.request("server/discover", json!({"_meta": modern()})).await;
    assert_eq!(discovered["result"]["capabilities"]["resources"]["subscribe"], true, "{discovered}");
    let update = client.written().await;
    assert_eq!(
        (&update["method"], &update["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(uris[0]))
    );
    assert_eq!(update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 5, "{update}");
}

#[tokio::test]
async fn a_resource_that_needs_approval_is_not_watched() {
    let (_folder, mut client) =
        notes("{default_policy: grant, approve: [{module: notes, actions: [read_resource]}]}").await;
    let refused = client.request("resources/subscribe", json!({"uri": "toolcrib://notes/note://1"})).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("a person approves each time"), "{refused}");
}

#[tokio::test]
async fn templates_and_completions_keep_what_their_server_says() {
    let (_folder, mut client) = notes(GRANTED).await;
    let list = client.request("resources/templates/list", json!({})).await;
    let templates = list["result"]["resourceTemplates"].as_array().unwrap();
    let uris: Vec<_> = templates.iter().skip(1).map(|template| &template["uriTemplate"]).collect();
    assert_eq!(uris, ["toolcrib://notes/note://{number}", "ui://note/{number}"]);
    assert_eq!(templates[1]["mimeType"], "text/x-note");
    let list = client.request("resources/list", json!({})).await;
    let resource =
        json!({"uri": "toolcrib://notes/note://1", "name": "one", "mimeType": "text/x-note", "size": 3});
    assert_eq!(list["result"]["resources"], json!([resource]));
    let read = client.request("resources/read", json!({"uri": "toolcrib://notes/note://1"})).await;
    assert_eq!(read["result"]["contents"][0]["mimeType"], "text/x-note", "{read}");
    for (uri, values) in [
        ("toolcrib://notes/note://{number}", json!(["1", "12"])),
        ("ui://note/{number}", json!(["7"])),
        ("toolcrib://others/note://{number}", json!([])),
    ] {
        let params =
            json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": "number", "value": ""}});
        let completed = client.request("completion/complete", params).await;
        assert_eq!(completed["result"]["completion"]["values"], values, "{uri}: {completed}");
    }
}
