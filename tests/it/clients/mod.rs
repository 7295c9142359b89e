//! Clients that others have written, in front of a served app: over both transports and in both eras, they list, find, call,
//! approve, deny and cancel, and read what is too large for one answer.

mod apps;
mod inspector;
mod shop;
mod structured;

use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use self::shop::{expected, shared_shop, shop, started};
use crate::serve::client::Served;
use crate::serve::replicas::Replicas;
use crate::support::{PATIENCE, TestDir, binary, peer};

/// What `tools/list` has to show at least, whatever else an app may come to show.
const LISTED: [&str; 4] = ["search_tools", "execute_tool", "read_result", "shop__price"];

/// The names of the revisions that clients agree on with us.
const NEW: &str = "2026-07-28";
const OLD: &str = "2025-11-25";

pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name)
}

/// The program that the clients in JavaScript run on: the one that was installed with them, where there is one for this
/// platform.
pub(crate) fn node(packages: &Path) -> PathBuf {
    let packaged = packages.join("node_modules/.bin/node");
    if packaged.exists() { packaged } else { "node".into() }
}

/// How a client is told where the server is.
fn over_stdio() -> Vec<String> {
    ["stdio", binary().to_str().unwrap(), "serve", "app.yaml", "--stdio"].map(str::to_owned).to_vec()
}

fn over_http(served: &Served) -> Vec<String> {
    over_http_at(format!("http://{}/mcp", served.address))
}

fn over_http_at(url: String) -> Vec<String> {
    vec!["http".to_owned(), url]
}

/// Runs a client to its end and reads what it tells.
async fn told(client: &mut Command) -> Value {
    let output = timeout(PATIENCE, client.output()).await.expect("the client ends").unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{} {text} {errors}", output.status);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} {errors}"))
}

/// Fails unless the client does all that it is to do, over both transports.
async fn assert_drives(command: impl Fn(&TestDir) -> Command, revision: &str) {
    let dir = shop();
    assert_told(&dir, command(&dir).args(over_stdio()), revision).await;
    dir.assert_nothing_is_left(&[]).await;
    std::fs::remove_file(started(&dir)).unwrap();
    let served = Served::start(&dir, &[]).await;
    assert_told(&dir, command(&dir).args(over_http(&served)), revision).await;
}

/// Fails unless the client does the same through a proxy before three replicas.
async fn assert_drives_replicas(command: impl Fn(&TestDir) -> Command, revision: &str) {
    let Some(dir) = shared_shop() else { return };
    let replicas = Replicas::start(&dir).await;
    assert_told(&dir, command(&dir).args(over_http_at(replicas.url())), revision).await;
}

async fn assert_told(dir: &TestDir, client: &mut Command, revision: &str) {
    let mut told = told(client.env("STARTED", started(dir))).await;
    let tools = told.as_object_mut().unwrap().shift_remove("tools").unwrap();
    for name in LISTED {
        assert!(tools.as_array().unwrap().iter().any(|tool| tool == name), "{tools}");
    }
    assert!(!tools.to_string().contains("shop__order"), "{tools}");
    assert_eq!(told, expected(revision));
}

/// The client in Python, if it is installed.
fn python(library: &str, mode: &str) -> Option<impl Fn(&TestDir) -> Command> {
    let packages = peer("python")?;
    let client = [library, mode].map(str::to_owned);
    Some(move |dir: &TestDir| {
        let mut command = dir.command("python3", &dir.path("."));
        command.arg(script("mcp_client.py")).args(&client).env("PYTHONPATH", &packages);
        command
    })
}

/// The client in TypeScript, if it is installed.
fn typescript(library: &str) -> Option<impl Fn(&TestDir) -> Command> {
    let packages = peer("clients")?;
    let library = library.to_owned();
    Some(move |dir: &TestDir| {
        let mut command = dir.command(node(&packages), &dir.path("."));
        command.arg(script("typescript_client.mjs")).arg(&packages).arg(&library);
        command
    })
}

#[tokio::test]
async fn the_python_sdk_drives_a_served_app() {
    let Some(client) = python("mcp", "auto") else { return };
    assert_drives(client, NEW).await;
}

#[tokio::test]
async fn the_python_sdk_that_shakes_hands_drives_a_served_app() {
    let Some(client) = python("mcp", "legacy") else { return };
    assert_drives(client, OLD).await;
}

#[tokio::test]
async fn fast_mcp_drives_a_served_app() {
    let Some(client) = python("fastmcp", "auto") else { return };
    assert_drives(client, NEW).await;
}

#[tokio::test]
async fn fast_mcp_that_shakes_hands_drives_a_served_app() {
    let Some(client) = python("fastmcp", "legacy") else { return };
    assert_drives(client, OLD).await;
}

#[tokio::test]
async fn the_typescript_sdk_drives_a_served_app() {
    let Some(client) = typescript("client") else { return };
    assert_drives(client, NEW).await;
}

#[tokio::test]
async fn the_typescript_sdk_before_it_drives_a_served_app() {
    let Some(client) = typescript("sdk") else { return };
    assert_drives(client, OLD).await;
}

#[tokio::test]
async fn the_python_sdk_drives_three_replicas() {
    let Some(client) = python("mcp", "auto") else { return };
    assert_drives_replicas(client, NEW).await;
}

#[tokio::test]
async fn the_python_sdk_that_shakes_hands_drives_three_replicas() {
    let Some(client) = python("mcp", "legacy") else { return };
    assert_drives_replicas(client, OLD).await;
}

#[tokio::test]
async fn fast_mcp_drives_three_replicas() {
    let Some(client) = python("fastmcp", "auto") else { return };
    assert_drives_replicas(client, NEW).await;
}

#[tokio::test]
async fn fast_mcp_that_shakes_hands_drives_three_replicas() {
    let Some(client) = python("fastmcp", "legacy") else { return };
    assert_drives_replicas(client, OLD).await;
}

#[tokio::test]
async fn the_typescript_sdk_drives_three_replicas() {
    let Some(client) = typescript("client") else { return };
    assert_drives_replicas(client, NEW).await;
}

#[tokio::test]
async fn the_typescript_sdk_before_it_drives_three_replicas() {
    let Some(client) = typescript("sdk") else { return };
    assert_drives_replicas(client, OLD).await;
}
