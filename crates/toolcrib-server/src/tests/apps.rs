//! User interfaces of tools (MCP Apps), from a server to a host.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_app::Blueprint;

use super::{Client, serve_to};

/// A server with a user interface, a tool for it alone, and a tool without one.
const CLOCK: &str = r#"
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
UI='"ui":{"resourceUri":"ui://clock/app.html"},"ui/resourceUri":"ui://clock/app.html"'
HTML='"uri":"ui://clock/app.html","mimeType":"text/html;profile=mcp-app"'
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$LOG"
  id=${line#*\"id\":}; id=${id%%[!0-9]*}
  case $line in
    *'"method":"initialize"'*)
      reply '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"server/discover"'*)
      if [ "$ERA" = modern ]; then
        reply '{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{},"extensions":{"io.modelcontextprotocol/ui":{}}},"serverInfo":{"name":"sh","version":"1"}}'
      else
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id"
      fi ;;
    *'"method":"tools/list"'*)
      reply "{\"tools\":[{\"name\":\"show\",\"inputSchema\":{\"type\":\"object\"},\"_meta\":{$UI,\"vendor/style\":1,\"io.modelcontextprotocol/x\":1}},{\"name\":\"refresh\",\"inputSchema\":{\"type\":\"object\"},\"_meta\":{\"ui\":{\"resourceUri\":\"ui://clock/app.html\",\"visibility\":[\"app\"]}}},{\"name\":\"plain\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
    *'"method":"tools/call"'*'"name":"show"'*)
      reply '{"content":[{"type":"text","text":"It is noon."},{"type":"resource_link","uri":"ui://clock/app.html","name":"the clock"}],"structuredContent":{"time":"12:00"},"_meta":{"zone":"UTC"}}' ;;
    *'"method":"tools/call"'*'"name":"refresh"'*)
      reply '{"content":[{"type":"text","text":"It is one."}],"structuredContent":{"time":"13:00"},"_meta":{"zone":"UTC"}}' ;;
    *'"method":"tools/call"'*) reply '{"content":[{"type":"text","text":"plain"}]}' ;;
    *'"method":"resources/list"'*) reply "{\"resources\":[$RESOURCES]}" ;;
    *'"method":"resources/templates/list"'*) reply '{"resourceTemplates":[]}' ;;
    *'"method":"resources/read"'*)
      reply "{\"contents\":[{$HTML,\"text\":\"<title>$NAME</title>\",\"_meta\":{\"ui\":{\"csp\":{\"connectDomains\":[\"https://time.example\"]}}}}]}" ;;
  esac
done
"#;

/// The capabilities of a host that renders user interfaces.
fn host() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}})
}

/// Returns the entry of a clock in an app file.
fn clock(folder: &Path, name: &str, more: &str) -> String {
    let script = folder.join(format!("{name}.sh"));
    let log = folder.join(format!("{name}.log"));
    let head = format!("LOG='{}' NAME={name} ERA=legacy RESOURCES=\n{more}\n", log.display());
    std::fs::write(&script, head + CLOCK).unwrap();
    format!(
        "{{type: mcp, namespace: {name}, lazy: false, pin: false, command: [sh, '{}']}}",
        script.display()
    )
}

/// Serves clocks to a client with these capabilities.
async fn clocks(
    names: &[&str],
    more: &str,
    app: &str,
    capabilities: Value,
) -> (TempDir, Client, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let entries: Vec<_> = names.iter().map(|name| clock(folder.path(), name, more)).collect();
    let denied = if names.contains(&"hidden") { ", deny: [{module: hidden}]" } else { "" };
    let app = format!(
        "{app}\ntools:\n  registry: [{}]\n  capabilities: {{default_policy: grant{denied}}}",
        entries.join(", ")
    );
    let app = Blueprint::from_text("app.yaml", &app).unwrap();
    let (client, _, runtime, _) = serve_to(app, capabilities).await;
    (folder, client, runtime.warnings())
}

impl Client {
    async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params).await;
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].clone()
    }

    async fn tool(&mut self, name: &str) -> Option<Value> {
        let list = self.result("tools/list", json!({})).await;
        list["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned()
    }

    async fn read_text(&mut self, uri: &str) -> String {
        let read = self.result("resources/read", json!({"uri": uri})).await;
        read["contents"][0]["text"].as_str().unwrap().to_owned()
    }

    async fn refusal(&mut self, method: &str, params: Value) -> String {
        let answer = self.request(method, params).await;
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

#[tokio::test]
async fn a_user_interface_reaches_a_host_as_its_server_wrote_it() {
    for era in ["legacy", "modern"] {
        let (folder, mut host, _) = clocks(&["clock"], &format!("ERA={era}"), "", host()).await;
        let meta = host.tool("clock__show").await.unwrap()["_meta"].clone();
        let uri = "ui://clock/app.html";
        assert_eq!(
            meta,
            json!({"ui": {"resourceUri": uri}, "ui/resourceUri": uri, "vendor/style": 1}),
            "{era}"
        );
        // The server does not list it.
        let read = host.result("resources/read", json!({"uri": uri})).await;
        assert_eq!(
            read["contents"],
            json!([{
                "uri": uri, "mimeType": "text/html;profile=mcp-app", "text": "<title>clock</title>",
                "_meta": {"ui": {"csp": {"connectDomains": ["https://time.example"]}}},
            }])
        );
        let called = host.result("tools/call", json!({"name": "clock__show", "arguments": {}})).await;
        assert_eq!(called["_meta"], json!({"zone": "UTC"}));
        assert_eq!(called["structuredContent"], json!({"time": "12:00"}));
        assert_eq!(called["content"][0]["text"], "It is noon.");
        assert_eq!(called["content"][1]["uri"], uri);
        let told = std::fs::read_to_string(folder.path().join("clock.log")).unwrap();
        let extension = r#""io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}"#;
        let opening = if era == "modern" { "server/discover" } else { "initialize" };
        let opening = told.lines().find(|line| line.contains(&format!("\"{opening}\""))).unwrap();
        assert!(opening.contains(extension), "{opening}");
    }
}

#[tokio::test]
async fn a_client_of_the_stateless_revision_declares_with_each_request_that_it_renders_apps() {
    let (_folder, mut client, _) = clocks(&["clock"], "", "", json!({})).await;
    let meta = |capabilities: Value| {
        json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }})
    };
    let names = |list: &Value| list["tools"].to_string().contains("clock__refresh");
    assert!(names(&client.result("tools/list", meta(host())).await));
    assert!(!names(&client.result("tools/list", meta(json!({}))).await));
    let found = client.result("server/discover", meta(json!({}))).await;
    assert_eq!(found["capabilities"]["extensions"]["io.modelcontextprotocol/ui"], json!({}), "{found}");
    assert!(found["capabilities"]["resources"].is_object(), "{found}");
}

#[tokio::test]
async fn a_tool_for_the_user_interface_alone_is_called_by_the_host_and_not_by_a_model() {
    let (_folder, mut host, _) = clocks(&["clock"], "", "serve: {surface: discovery}", host()).await;
    let tool = host.tool("clock__refresh").await.expect("the host knows it");
    assert_eq!(tool["_meta"]["ui"]["visibility"], json!(["app"]));
    // A user interface calls it by the name that its server gave it.
    for name in ["clock__refresh", "refresh"] {
        let called = host.result("tools/call", json!({"name": name, "arguments": {}})).await;
        assert_eq!(called["content"][0]["text"], "It is one.", "{name}: {called}");
        assert_eq!(
            (&called["structuredContent"]["time"], &called["_meta"]["zone"]),
            (&json!("13:00"), &json!("UTC"))
        );
    }
    // Of the others, a host is listed those whose user interface it renders.
    assert!(host.tool("clock__show").await.is_some() && host.tool("clock__plain").await.is_none());
    for (name, arguments) in [
        ("execute_tool", json!({"name": "clock.refresh", "params": {}})),
        ("get_tool", json!({"name": "clock.refresh"})),
        ("run_parallel", json!({"calls": [{"name": "clock.refresh", "params": {}}]})),
    ] {
        let called =
            host.result("tools/call", json!({"name": name, "arguments": arguments})).await.to_string();
        assert!(called.contains("there is no tool") && !called.contains("It is one"), "{name}: {called}");
    }
    let found =
        host.result("tools/call", json!({"name": "search_tools", "arguments": {"query": "refresh"}})).await;
    assert!(!found["content"].to_string().contains("clock.refresh"), "{found}");
}

#[tokio::test]
async fn a_client_that_renders_nothing_sees_no_tool_for_user_interfaces() {
    let (_folder, mut client, _) = clocks(&["clock"], "", "", json!({})).await;
    assert!(client.tool("clock__show").await.is_some());
    assert!(client.tool("clock__refresh").await.is_none());
    let called = client.result("tools/call", json!({"name": "clock__refresh", "arguments": {}})).await;
    assert!(called["content"][0]["text"].as_str().unwrap().contains("unknown_tool"), "{called}");
}

#[tokio::test]
async fn two_servers_with_one_uri_are_told_apart_and_a_hidden_one_changes_nothing() {
    let listed = r#"RESOURCES="{$HTML,\"name\":\"clock\"}" HTML='"uri":"ui://clock/app.html","mimeType":"text/html;profile=mcp-app"'"#;
    let listed = listed.split_once(" HTML=").map(|(list, html)| format!("HTML={html}\n{list}")).unwrap();
    let (_folder, mut host, warnings) = clocks(&["one", "two", "hidden"], &listed, "", host()).await;
    insta::assert_snapshot!(warnings.join("\n"), @"several servers have the user interface `ui://clock/app.html`; clients know it as `ui://toolcrib/hidden/clock/app.html` and `ui://toolcrib/one/clock/app.html` and `ui://toolcrib/two/clock/app.html`");
    for name in ["one", "two"] {
        let uri = host.tool(&format!("{name}__show")).await.unwrap()["_meta"]["ui"]["resourceUri"].clone();
        assert_eq!(uri, format!("ui://toolcrib/{name}/clock/app.html"));
        let uri = uri.as_str().unwrap();
        assert_eq!(host.read_text(uri).await, format!("<title>{name}</title>"));
        let called =
            host.result("tools/call", json!({"name": format!("{name}__show"), "arguments": {}})).await;
        assert_eq!(called["content"][1]["uri"], uri);
    }
    let list = host.result("resources/list", json!({})).await;
    let uris: Vec<_> =
        list["resources"].as_array().unwrap().iter().map(|resource| &resource["uri"]).collect();
    assert_eq!(uris, ["ui://toolcrib/one/clock/app.html", "ui://toolcrib/two/clock/app.html"]);
    let refused = host.refusal("resources/read", json!({"uri": "ui://clock/app.html"})).await;
    insta::assert_snapshot!(refused, @r#"several servers have the resource "ui://clock/app.html"; read `ui://toolcrib/one/clock/app.html` or `ui://toolcrib/two/clock/app.html`"#);
    for uri in
        ["ui://toolcrib/hidden/clock/app.html", "toolcrib://hidden/ui://clock/app.html", "ui://no/such.html"]
    {
        let refused = host.refusal("resources/read", json!({"uri": uri})).await;
        assert_eq!(refused, format!("there is no resource {uri:?}; see `resources/list`"));
    }
}

#[tokio::test]
async fn a_server_with_the_uri_of_a_hidden_one_keeps_it() {
    let (_folder, mut host, _) = clocks(&["one", "hidden"], "", "", host()).await;
    let uri = host.tool("one__show").await.unwrap()["_meta"]["ui"]["resourceUri"].clone();
    assert_eq!(uri, "ui://clock/app.html");
    assert_eq!(host.read_text("ui://clock/app.html").await, "<title>one</title>");
}
