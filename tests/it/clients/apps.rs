//! An MCP App of the official SDK, in a host on that SDK, with Toolcrib between the two.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::time::timeout;

use super::{node, script};
use crate::serve::client::Served;
use crate::serve::console::browse;
use crate::serve::replicas::Replicas;
use crate::support::{PATIENCE, TestDir, chromium, new_database, peer};

#[tokio::test]
async fn an_app_of_the_official_sdk_is_rendered_behind_the_gateway() {
    let (Some(packages), Some(browser)) = (peer("clients"), chromium()) else { return };
    let dir = TestDir::with_app(&app(&packages).to_string());
    let served = Served::start(&dir, &[]).await;
    assert_rendered(&dir, &packages, &browser, format!("http://{}/mcp", served.address)).await;
}

#[tokio::test]
async fn an_app_of_the_official_sdk_is_rendered_behind_three_replicas() {
    let (Some(packages), Some(browser)) = (peer("clients"), chromium()) else { return };
    let Some(store) = new_database() else { return };
    let mut app = app(&packages);
    app["store"] = "${STORE_URL}".into();
    let dir = TestDir::with_app(&app.to_string()).with_variable("STORE_URL", store);
    let replicas = Replicas::start(&dir).await;
    assert_rendered(&dir, &packages, &browser, replicas.url()).await;
}

/// The gateway before the server that has the app.
fn app(packages: &Path) -> Value {
    let server = packages.join("node_modules/@modelcontextprotocol/server-basic-vanillajs/dist/index.js");
    json!({"tools": {
        "registry": [{"type": "mcp", "namespace": "clock", "command": [node(packages), server, "--stdio"]}],
        "capabilities": {"default_policy": "grant"},
    }})
}

/// Fails unless a host at this URL renders the app, and passes its calls on.
async fn assert_rendered(dir: &TestDir, packages: &Path, browser: &Path, url: String) {
    let mut host = dir.command(node(packages), &dir.path("home"));
    host.arg(script("app_host.mjs")).arg(packages.join("node_modules")).arg(url);
    let mut host = host.stdin(Stdio::null()).stderr(Stdio::inherit()).spawn().expect("the host starts");
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let mut line = async || {
        let line = timeout(PATIENCE, lines.next_line()).await.expect("the host says something").unwrap();
        line.expect("the host runs")
    };
    let address = line().await;
    let picture = dir.path("app.png");
    let to = format!("--screenshot={}", picture.display());
    browse(dir, browser, &["--window-size=900,640", &to, &address]).await;
    let report: Value = serde_json::from_str(&line().await).unwrap();
    assert_eq!(report["error"], Value::Null, "{report}");
    assert_eq!(report["tool"], "clock__get-time");
    assert_eq!(report["uri"], "ui://get-time/mcp-app.html");
    assert_eq!(
        report["calls"],
        json!(["get-time"]),
        "the button calls the tool by the name that its server gave it"
    );
    let time = report["result"]["structuredContent"]["time"].as_str().unwrap();
    assert_eq!(report["result"]["content"][0]["text"], time);
    let shows = |when: &str| report[when].as_str().unwrap().contains(time);
    assert!(shows("before") && !shows("after"), "{report}");
    let bytes = std::fs::read(&picture).expect("a picture");
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{} bytes", bytes.len());
    // The one in the docs is made in this way.
    if let Some(copy) = std::env::var_os("TOOLCRIB_SCREENSHOT") {
        std::fs::copy(&picture, copy).unwrap();
    }
    host.kill().await.unwrap();
}
