//! `toolcrib add` and `toolcrib registry`, against a registry that has the API v0.1.

use std::fs;
use std::process::Command;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use toolcrib_model::random::hex;
use toolcrib_testkit::{Canary, Hit};

use crate::support::TestDir;

/// A document with one operation.
const PETS: &str = "
openapi: 3.1.0
info: {title: Pets, version: '1'}
servers: [{url: 'https://pets.example'}]
paths: {/pets: {get: {operationId: list_pets, summary: Lists the pets., responses: {'200': {description: Pets.}}}}}
";

/// A server without dependencies, in the form of a bundle.
const SERVER: &str = r#"
import json, os, sys

TOOL = {"name": "add_note", "description": "Adds a note to the folder.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}

for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        reply["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "notes", "version": "1.0.0"}}
    elif method == "tools/list":
        reply["result"] = {"tools": [TOOL]}
    elif method == "tools/call":
        text = message["params"]["arguments"]["text"]
        told = f"{text} in {sys.argv[1]} as {os.environ['NOTES_USER']}"
        reply["result"] = {"content": [{"type": "text", "text": told}]}
    else:
        reply["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(reply), flush=True)
"#;

fn manifest() -> Value {
    json!({
        "manifest_version": "0.3", "name": "notes", "version": "1.0.0", "description": "Keeps notes.",
        "author": {"name": "Ada"},
        "server": {"type": "python", "entry_point": "server.py", "mcp_config": {
            "command": "python3", "args": ["${__dirname}/server.py", "${user_config.folder}"],
            "env": {"NOTES_USER": "${user_config.user}"},
        }},
        "user_config": {
            "folder": {"type": "directory", "title": "Folder", "description": "The folder of the notes.", "required": true},
            "user": {"type": "string", "title": "User", "description": "Who writes.", "default": "ada"},
        },
    })
}

/// Returns a folder with an app and a bundle.
fn lab_with_bundle() -> TestDir {
    let dir = TestDir::with_app(
        "# The tools of the team.\ntools:\n  capabilities: {default_policy: grant} # for now\n",
    )
    .with_file("bundle/manifest.json", manifest().to_string())
    .with_file("bundle/server.py", SERVER);
    let zipped = Command::new("python3")
        .args(["-m", "zipfile", "-c", "../notes.mcpb", "manifest.json", "server.py"])
        .current_dir(dir.path("bundle"))
        .status();
    assert!(zipped.unwrap().success());
    dir
}

/// Answers as the official registry does.
fn answer(hit: &Hit, bundle: &[u8]) -> Response {
    let path = hit.uri.split('?').next().unwrap_or_default();
    let described = |server: Value| axum::Json(json!({"server": server, "_meta": {}})).into_response();
    let port = hit.header("host").to_owned();
    let notes = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.github.example/notes", "description": "Keeps notes.\u{1b}[31m", "version": "1.0.0",
        "repository": {"url": "https://github.com/example/notes", "source": "github"},
        "packages": [{
            "registryType": "mcpb", "identifier": format!("http://{port}/notes.mcpb"),
            "fileSha256": hex(&Sha256::digest(bundle)),
            "transport": {"type": "stdio"},
        }],
    });
    match path {
        "/v0.1/servers" => {
            let list = json!({"servers": [{"server": notes, "_meta": {}}], "metadata": {"count": 1}});
            axum::Json(list).into_response()
        }
        "/v0.1/servers/io.github.example%2Fnotes/versions/latest"
        | "/v0.1/servers/io.github.example%2Fnotes/versions/1.0.0" => described(notes),
        "/v0.1/servers/io.github.example%2Fchanged/versions/latest" => {
            let mut changed = notes;
            changed["name"] = json!("io.github.example/changed");
            changed["packages"][0]["fileSha256"] = json!("0".repeat(64));
            described(changed)
        }
        "/v0.1/servers/io.github.example%2Fliar/versions/latest" => described(json!({
            "name": "io.github.example/liar", "description": "Keeps notes.", "version": "1.0.0",
            "packages": [{"registryType": "npm", "identifier": "notes", "version": "1.0.0", "runtimeHint": "sh",
                "transport": {"type": "stdio"}}],
        })),
        "/v0.1/servers/io.github.example%2Fbroken/versions/latest" => "{\"server\": ".into_response(),
        "/notes.mcpb" => bundle.to_vec().into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn registry(dir: &TestDir) -> Canary {
    let bundle = fs::read(dir.path("notes.mcpb")).unwrap();
    Canary::start(move |hit| answer(hit, &bundle)).await.unwrap()
}

#[tokio::test]
async fn a_server_of_the_registry_is_found_shown_added_and_called() {
    let dir = lab_with_bundle();
    let registry = registry(&dir).await;
    let dir = dir.with_variable("TOOLCRIB_REGISTRY", registry.origin());
    let found = dir.run(["registry", "search", "notes"]).await.expect(0);
    assert!(found.stdout.contains("io.github.example/notes  1.0.0"), "{found:?}");
    assert!(!found.stdout.contains('\u{1b}'), "{found:?}");
    let query = &registry.hits()[0].uri;
    assert!(query.contains("search=notes") && query.contains("version=latest"), "{query}");
    let shown = dir.run(["registry", "show", "io.github.example/notes", "--json"]).await.expect(0).json();
    assert_eq!(shown["plans"][0]["type"], "mcpb");

    let before = dir.read("app.yaml");
    let name = "io.github.example/notes";
    let missing = dir.run(["registry", "add", name, "--yes"]).await.expect(2).stderr;
    assert!(missing.contains("--set folder=… (The folder of the notes.)"), "{missing}");
    // Without a person who agrees, nothing is written or unpacked.
    let asked = dir.run(["registry", "add", name, "--set", "folder=./mine"]).await.expect(4);
    assert!(asked.stdout.contains("runs python3 "), "{asked:?}");
    assert!(asked.stderr.contains("--yes"), "{asked:?}");
    assert_eq!(dir.read("app.yaml"), before);
    assert!(!dir.path("home/.local/state/toolcrib/bundles").exists());

    let added = dir.run(["registry", "add", name, "--set", "folder=./mine", "--yes"]).await.expect(0);
    assert!(added.stderr.contains("next: toolcrib tools app.yaml --namespace notes"), "{added:?}");
    let after = dir.read("app.yaml");
    assert!(after.contains("# The tools of the team.") && after.contains("# for now"), "{after}");
    assert!(after.contains("pin: true"), "{after}");
    let called = dir.run(["call", "app.yaml", "notes.add_note", r#"{"text": "milk"}"#]).await.expect(0);
    assert_eq!(called.stdout.trim(), "milk in ./mine as ada");
    let again = dir.run(["registry", "add", name, "--set", "folder=./mine", "--yes"]).await.expect(2);
    assert!(again.stderr.contains("the namespace `notes` already"), "{again:?}");
}

#[tokio::test]
async fn a_registry_that_lies_or_is_down_changes_nothing() {
    let dir = lab_with_bundle();
    let registry = registry(&dir).await;
    let before = dir.read("app.yaml");
    let add = async |name: &str, origin: &str, code: i32| {
        let arguments = ["registry", "add", name, "--registry", origin, "--set", "folder=x", "--yes"];
        dir.run(arguments).await.expect(code).stderr
    };
    let origin = registry.origin();
    let changed = add("io.github.example/changed", &origin, 3).await;
    assert!(changed.contains("it was changed, nothing was written"), "{changed}");
    let liar = add("io.github.example/liar", &origin, 2).await;
    assert!(liar.contains("is run with `npx`, and the description says `sh`"), "{liar}");
    let broken = add("io.github.example/broken", &origin, 5).await;
    assert!(broken.contains("does not answer as a registry"), "{broken}");
    let unknown = add("io.github.example/none", &origin, 2).await;
    assert!(unknown.contains("the registry has no such server"), "{unknown}");
    drop(registry);
    add("io.github.example/notes", &origin, 5).await;
    assert_eq!(dir.read("app.yaml"), before);
    assert!(!dir.path("home/.local/state/toolcrib/bundles").exists());
}

#[tokio::test]
async fn sources_are_added_and_what_looks_like_a_secret_is_not_written() {
    let dir = TestDir::with_app("modules: {hello: {}}\n").with_file("pets.yaml", PETS);
    let added = dir
        .run([
            "add",
            "mcp",
            "files",
            "--env",
            "FILES_TOKEN",
            "--env",
            "LEVEL=3",
            "--yes",
            "--",
            "files-server",
            "./work",
        ])
        .await
        .expect(0);
    assert!(added.stderr.contains("set these variables first: FILES_TOKEN"), "{added:?}");
    dir.run(["add", "mcp", "crm", "--url", "https://crm.example/mcp", "--yes"]).await.expect(0);
    dir.run(["add", "openapi", "pets", "pets.yaml", "--yes"]).await.expect(0);
    insta::assert_snapshot!(dir.read("app.yaml"));
    let tools = dir.run(["tools", "app.yaml", "--namespace", "pets"]).await.stdout;
    assert!(tools.contains("pets."), "{tools}");

    let secret = ["add", "mcp", "x", "--env", "API_TOKEN=abc123def456", "--yes", "--", "server"];
    let refused = dir.run(secret).await.expect(2).stderr;
    assert!(refused.contains("looks like a secret"), "{refused}");
    let refused =
        dir.run(["add", "mcp", "x", "--yes", "--", "server", "--api-key", "sk-abcdef0123456789"]).await;
    assert!(refused.expect(2).stderr.contains("word 3 of the command looks like a secret"));
    for url in ["https://me:password123@crm.example/mcp", "https://crm.example/mcp?api_key=abc"] {
        for source in [&["mcp", "x", "--url", url][..], &["openapi", "x", url]] {
            let refused = dir.run_words(&[&["add"], source, &["--yes"]].concat()).await.expect(2).stderr;
            assert!(refused.contains("a part of the URL looks like a secret"), "{url}: {refused}");
        }
    }
    let absent = dir.run(["add", "tool", "x", "none.yaml", "--yes"]).await.expect(2).stderr;
    assert!(absent.contains("none.yaml"), "{absent}");
}
