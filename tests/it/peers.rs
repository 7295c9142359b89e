//! MCP servers that others have written, over stdio and over Streamable HTTP.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::process::Child;
use toolcrib_testkit::wait_until;

use crate::support::{Lab, PATIENCE, peer};

/// How many tools `server-everything` has.
const EVERYTHING: usize = 13;

fn server_everything() -> Option<PathBuf> {
    Some(peer("server-everything")?.join("node_modules/.bin/mcp-server-everything"))
}

/// An app with one MCP server, `transport` being its command or URL. A loaded machine may take long to start it.
fn app(transport: &str) -> String {
    format!(
        "
tools:
  registry: [{{type: mcp, namespace: peer, startup_timeout_seconds: 60, {transport}}}]
  capabilities: {{default_policy: grant}}
"
    )
}

async fn assert_everything_loads(lab: &Lab, target: &str) {
    let loaded = lab.run(["load", "--mcp", target, "--json"]).await.expect(0).json();
    assert_eq!(loaded["rejected"], Value::Array(Vec::new()));
    assert_eq!(loaded["tools"].as_array().unwrap().len(), EVERYTHING);
}

async fn assert_everything_is_called(lab: &Lab) {
    let echoed = lab.run(["call", "app.yaml", "peer.echo", r#"{"message": "naïve — ☃"}"#]).await.expect(0);
    assert!(echoed.stdout.contains("naïve — ☃"), "{echoed:#?}");
    let sum = lab.run(["call", "app.yaml", "peer.get-sum", r#"{"a": 20, "b": 22}"#]).await.expect(0);
    assert!(sum.stdout.contains("42"), "{sum:#?}");
    let structured =
        ["call", "app.yaml", "peer.get-structured-content", r#"{"location": "Chicago"}"#, "--json"];
    let structured = lab.run(structured).await.expect(0).json();
    assert!(structured["result"]["temperature"].is_number(), "{structured}");
    lab.run(["call", "app.yaml", "peer.echo", r#"{"massage": "a"}"#]).await.expect(2);
}

#[tokio::test]
async fn server_everything_loads_and_is_called_over_stdio() {
    let Some(program) = server_everything() else { return };
    let lab = Lab::with_app(&app(&format!("command: ['{}', stdio]", program.display())));
    assert_everything_loads(&lab, &format!("{} stdio", program.display())).await;
    assert_everything_is_called(&lab).await;
}

#[tokio::test]
async fn server_everything_loads_and_is_called_over_streamable_http() {
    let Some(program) = server_everything() else { return };
    let server = Lab::new();
    let (port, _server) = serve_http(&server, &program).await;
    let url = format!("http://localhost:{port}/mcp");
    let lab = Lab::with_app(&app(&format!("url: '{url}'")));
    assert_everything_loads(&lab, &url).await;
    assert_everything_is_called(&lab).await;
}

/// Starts the server on a free port, and waits until it listens. It has a lab of its own, which outlives its clients.
async fn serve_http(lab: &Lab, program: &Path) -> (u16, Child) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = lab.command(program, &lab.path("."));
    let child = command.arg("streamableHttp").env("PORT", port.to_string()).spawn().unwrap();
    let listens = || Ok(std::net::TcpStream::connect(("localhost", port)).ok());
    wait_until("the port of the server", PATIENCE, listens).await.unwrap();
    (port, child)
}

#[tokio::test]
async fn the_time_server_loads_and_is_called() {
    let Some(folder) = peer("mcp-server-time") else { return };
    let lab = Lab::with_app(&app(&format!("command: [python3, '{}']", folder.display())));
    let tools = lab.run(["tools", "app.yaml", "--json"]).await.expect(0).json();
    let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(names.iter().any(|name| *name == "convert_time"), "{names:?}");
    let arguments = r#"{"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}"#;
    let converted = lab.run(["call", "app.yaml", "peer.convert_time", arguments]).await.expect(0);
    assert!(converted.stdout.contains("21:00"), "{converted:#?}");
    let nowhere = r#"{"timezone": "Nowhere/City"}"#;
    lab.run(["call", "app.yaml", "peer.get_current_time", nowhere]).await.expect(1);
}
