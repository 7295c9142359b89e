//! Clients that check results by the `outputSchema` of a tool.

use serde_json::json;
use tokio::process::Command;

use super::{NEW, OLD, node, script, told};
use crate::serve::client::Served;
use crate::serve::replicas::Replicas;
use crate::support::{TestDir, new_database, peer};

/// Two tools that print as many numbers as they are asked for. Only one declares what it prints.
const APP: &str = r#"
tools:
  registry: [{type: file, path: shop.json, engine: shop}]
  engines:
    shop:
      type: command
      argv: [sh, -c, 'printf "{\"items\":["; seq -s , 1 "$1"; printf "]}"', sh, "{count}"]
      output: json
  capabilities: {default_policy: grant}
serve: {surface: direct}
"#;

/// The app with more settings.
fn dir(settings: &str) -> TestDir {
    let parameters =
        json!({"type": "object", "properties": {"count": {"type": "string"}}, "required": ["count"]});
    let tool = |name: &str, items: &str| {
        json!({
            "name": name,
            "description": "Counts what there is.",
            "risk": "low",
            "metadata": {"title": "The stock"},
            "parameters": parameters,
            "output_parameters": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$id": "https://example.com/stock",
                "type": "object",
                "properties": {"items": {"type": "array", "items": {"type": items, "format": "of the house"}}},
                "required": ["items"],
                // As such a pattern is read only in some languages.
                "patternProperties": {"^(?i:x)": {"pattern": "\\Ax"}},
            },
        })
    };
    let file = json!({"shop": [tool("stock", "integer"), tool("prices", "string")]});
    TestDir::with_app(&format!("{APP}{settings}")).with_file("shop.json", file.to_string())
}

/// Fails unless a client takes what fits as it is, and gets an error that it takes for all else. The same holds behind a
/// proxy before three replicas.
async fn assert_checks(command: impl Fn(&TestDir) -> Command, revision: &str) {
    let alone = dir("");
    let served = Served::start(&alone, &[]).await;
    assert_told(command(&alone).arg(format!("http://{}/mcp", served.address)), revision).await;
    let Some(store) = new_database() else { return };
    let shared = dir("store: '${STORE_URL}'\n").with_variable("STORE_URL", store);
    let replicas = Replicas::start(&shared).await;
    assert_told(command(&shared).arg(replicas.url()), revision).await;
}

async fn assert_told(client: &mut Command, revision: &str) {
    let told = told(client).await;
    let expected = json!({
        "revision": revision,
        "title": "The stock",
        "has_schema": {"shop__stock": true, "shop__prices": true},
        "calls": [[false, 3, false], [false, 20_000, true], [true, null, true], [true, null, false]],
    });
    assert_eq!(told, expected);
}

async fn assert_python_checks(mode: &str, revision: &str) {
    let Some(packages) = peer("python") else { return };
    let command = |dir: &TestDir| {
        let mut command = dir.command("python3", &dir.path("."));
        command.arg(script("structured_client.py")).arg(mode).env("PYTHONPATH", &packages);
        command
    };
    assert_checks(command, revision).await;
}

async fn assert_typescript_checks(library: &str, revision: &str) {
    let Some(packages) = peer("clients") else { return };
    let command = |dir: &TestDir| {
        let mut command = dir.command(node(&packages), &dir.path("."));
        command.arg(script("structured_client.mjs")).arg(&packages).arg(library);
        command
    };
    assert_checks(command, revision).await;
}

#[tokio::test]
async fn the_python_sdk_takes_structured_results_of_every_size() {
    assert_python_checks("auto", NEW).await;
}

#[tokio::test]
async fn the_python_sdk_that_shakes_hands_takes_structured_results_of_every_size() {
    assert_python_checks("legacy", OLD).await;
}

#[tokio::test]
async fn the_typescript_sdk_takes_structured_results_of_every_size() {
    assert_typescript_checks("client", NEW).await;
}

#[tokio::test]
async fn the_typescript_sdk_before_it_takes_structured_results_of_every_size() {
    assert_typescript_checks("sdk", OLD).await;
}
