//! The Inspector's command line: one request in each run, and nobody there to ask.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;
use toolcrib_testkit::{processes_of, wait_until};

use super::shop::{shared_shop, shop, started};
use super::{node, over_http, over_http_at, over_stdio};
use crate::serve::client::Served;
use crate::serve::replicas::Replicas;
use crate::support::{PATIENCE, TestDir, peer};

/// What the program ends with when the tool says that it failed.
const TOOL_FAILED: i32 = 5;

/// The two eras as the program names them.
const ERAS: [&str; 2] = ["legacy", "modern"];

/// The program with a server, which is named as for the other clients.
fn inspector(dir: &TestDir, packages: &Path, era: &str, server: &[String]) -> Command {
    let mut command = dir.command(node(packages), &dir.path("."));
    command
        .arg(packages.join("node_modules/.bin/mcp-inspector"))
        .arg("--cli")
        .args(server.iter().skip(1))
        .args(["--protocol-era", era, "--format", "json", "--quiet"]);
    command
}

/// A call, with the arguments behind it.
fn call(command: &mut Command, tool: &str, arguments: &Value) {
    command.args(["--method", "tools/call", "--tool-name", tool, "--tool-args-json", &arguments.to_string()]);
}

async fn run(mut command: Command) -> (Option<i32>, Value) {
    let output: Output = timeout(PATIENCE, command.output()).await.expect("it ends").unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let read: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (output.status.code(), read.get("result").cloned().unwrap_or(read))
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

/// Fails unless the program lists, finds and calls, and is told what it cannot have.
async fn assert_works(dir: &TestDir, packages: &Path, era: &str, server: &[String]) {
    let mut list = inspector(dir, packages, era, server);
    list.args(["--method", "tools/list"]);
    let (code, listed) = run(list).await;
    assert_eq!(code, Some(0), "{listed}");
    assert!(listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "shop__price"), "{listed}");

    let calls = [
        ("search_tools", json!({"query": "what an item costs"}), 0, "shop.price("),
        ("shop__price", json!({"item": "lamp"}), 0, "lamp: 3 euro"),
        ("execute_tool", json!({"name": "shop.price", "params": {"item": "desk"}}), 0, "desk: 3 euro"),
        (
            "execute_tool",
            json!({"name": "shop.order", "params": {"item": "x"}}),
            TOOL_FAILED,
            "approval_required",
        ),
    ];
    for (tool, arguments, expected, part) in calls {
        let mut command = inspector(dir, packages, era, server);
        call(&mut command, tool, &arguments);
        let (code, result) = run(command).await;
        assert_eq!(code, Some(expected), "{tool} {result}");
        assert!(text(&result).contains(part), "{tool} {result}");
    }

    let mut large = inspector(dir, packages, era, server);
    call(&mut large, "execute_tool", &json!({"name": "shop.catalogue", "params": {}}));
    let (_, result) = run(large).await;
    let uri = result["content"].as_array().unwrap().iter().find_map(|block| block["uri"].as_str());
    let uri = uri.unwrap_or_else(|| panic!("{result}"));
    // Each run is a session of its own in the older era, and on standard input and output.
    if era == "modern" && server.len() == 2 {
        let mut read = inspector(dir, packages, era, server);
        read.args(["--method", "resources/read", "--uri", &format!("{uri}?page=2")]);
        let (code, page) = run(read).await;
        assert_eq!(code, Some(0), "{page}");
        assert!(page["contents"][0]["text"].as_str().unwrap().contains("lamp"), "{page}");
    }
}

#[tokio::test]
async fn the_inspector_drives_a_served_app_over_stdio() {
    let Some(packages) = peer("clients") else { return };
    let dir = shop();
    for era in ERAS {
        assert_works(&dir, &packages, era, &over_stdio()).await;
    }
    dir.assert_nothing_is_left(&[]).await;
}

#[tokio::test]
async fn the_inspector_drives_a_served_app_over_http() {
    let Some(packages) = peer("clients") else { return };
    let dir = shop();
    let served = Served::start(&dir, &[]).await;
    for era in ERAS {
        assert_works(&dir, &packages, era, &over_http(&served)).await;
    }
}

#[tokio::test]
async fn the_inspector_drives_three_replicas() {
    let (Some(packages), Some(dir)) = (peer("clients"), shared_shop()) else { return };
    let replicas = Replicas::start(&dir).await;
    for era in ERAS {
        assert_works(&dir, &packages, era, &over_http_at(replicas.url())).await;
    }
}

#[tokio::test]
async fn a_call_ends_whose_inspector_was_killed() {
    let Some(packages) = peer("clients") else { return };
    let dir = shop();
    let served = Served::start(&dir, &[]).await;
    let mut command = inspector(&dir, &packages, "modern", &over_http(&served));
    call(&mut command, "execute_tool", &json!({"name": "shop.slow", "params": {}}));
    let mut child = command.spawn().unwrap();
    let begun = || Ok(started(&dir).exists().then_some(()));
    wait_until("the slow call", PATIENCE, begun).await.unwrap();
    let slow: u32 = dir.read("started").trim().parse().unwrap();
    let is_there = || -> anyhow::Result<bool> {
        Ok(processes_of(&dir.path("."))?.iter().any(|process| process.id == slow))
    };
    assert!(is_there().unwrap());
    child.kill().await.unwrap();
    wait_until("the end of the call", PATIENCE, || Ok((!is_there()?).then_some(()))).await.unwrap();
}
