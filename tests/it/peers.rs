//! MCP servers that others have written, over every transport and in both eras.

use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::process::Child;
use toolcrib_testkit::wait_until;

use crate::support::{PATIENCE, TestDir, peer};

/// The tools of `server-everything` that need nothing of the client.
const EVERYTHING: &[&str] = &[
    "echo",
    "get-annotated-message",
    "get-env",
    "get-resource-links",
    "get-resource-reference",
    "get-structured-content",
    "get-sum",
    "get-tiny-image",
    "gzip-file-as-resource",
    "simulate-research-query",
    "toggle-simulated-logging",
    "toggle-subscriber-updates",
    "trigger-long-running-operation",
];

/// A program of the peers from npm.
fn npm(program: &str) -> Option<PathBuf> {
    Some(peer("npm")?.join("node_modules/.bin").join(program))
}

/// A dir in whose app a module of the peers from Python is the server.
fn python(words: &str) -> Option<TestDir> {
    let packages = peer("python")?;
    let packages = format!("command: [python3, {words}], env: {{PYTHONPATH: '{}'}}", packages.display());
    Some(TestDir::with_app(&app(&packages)))
}

/// The server that is written with `FastMCP`, as a word of a command.
fn fast_mcp() -> String {
    format!("'{}'", Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/fastmcp_server.py").display())
}

/// An app with one MCP server, `transport` being its command or URL, and an agent that does what `turns.yaml` says. A
/// loaded machine may take long to start the server.
fn app(transport: &str) -> String {
    format!(
        "
agents: [{{id: a, brain: {{provider: recorded, recording: turns.yaml}}}}]
tools:
  registry: [{{type: mcp, namespace: peer, startup_timeout_seconds: 60, {transport}}}]
  capabilities:
    default_policy: grant
    grant: [{{module: peer, actions: [write_file, delete_entities]}}]
"
    )
}

/// The tools by which the resources of a server are read.
const RESOURCES: &[&str] = &["list_resource_templates", "list_resources", "read_resource"];

/// The tools by which the prompts of a server are got.
const PROMPTS: &[&str] = &["get_prompt", "list_prompts"];

/// Fails unless there are just these tools, some of them the server's own.
async fn assert_tools(dir: &TestDir, groups: &[&[&str]]) {
    let listed = dir.run(["tools", "app.yaml", "--json"]).await.expect(0).json();
    let tools = listed["tools"].as_array().unwrap().iter().filter(|tool| tool["namespace"] == "peer");
    let found: BTreeSet<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(found, groups.concat().into_iter().collect(), "{listed}");
}

/// The result of a call that works.
async fn call(dir: &TestDir, tool: &str, arguments: Value) -> Value {
    let (tool, arguments) = (format!("peer.{tool}"), arguments.to_string());
    let mut result = dir.run(["call", "app.yaml", &tool, &arguments, "--json"]).await.expect(0).json();
    result["result"].take()
}

/// What a call that fails says.
async fn refused(dir: &TestDir, tool: &str, arguments: Value, code: i32) -> Value {
    let (tool, arguments) = (format!("peer.{tool}"), arguments.to_string());
    let mut result = dir.run(["call", "app.yaml", &tool, &arguments, "--json"]).await.expect(code).json();
    result["error"].take()
}

/// Lets the agent make these calls one after the other, in one run: servers in Python take long to start. What comes back of
/// each has to hold its text.
async fn converse(dir: TestDir, calls: &[(&str, Value, &str)]) {
    let mut turns = Vec::new();
    let mut expected = Vec::new();
    for (tool, arguments, text) in calls {
        turns.push(
            json!({"calls": [{"name": format!("peer.{tool}"), "arguments": arguments}], "expect": expected}),
        );
        expected = vec![text];
    }
    turns.push(json!({"text": "Done.", "expect": expected}));
    let dir = dir.with_file("turns.yaml", json!({"turns": turns}).to_string());
    let report = dir.run(["run", "app.yaml", "Do it.", "--json"]).await.expect(0).json();
    assert_eq!(report["outcome"], "completed", "{report}");
}

/// Starts a server on a free port, and waits until it listens.
async fn serve(
    dir: &TestDir,
    program: impl AsRef<Path>,
    words: impl FnOnce(u16) -> Vec<String>,
) -> (u16, Child) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = dir.command(program, &dir.path("."));
    let child = command.args(words(port)).env("PORT", port.to_string()).spawn().unwrap();
    let listens = || Ok(TcpStream::connect(("localhost", port)).ok());
    wait_until("the port of the server", PATIENCE, listens).await.unwrap();
    (port, child)
}

async fn assert_everything_works(dir: &TestDir) {
    assert_tools(dir, &[EVERYTHING, RESOURCES, PROMPTS, &["complete"]]).await;
    let echoed = call(dir, "echo", json!({"message": "naïve — ☃"})).await;
    assert_eq!(echoed, "Echo: naïve — ☃");
    let sum = call(dir, "get-sum", json!({"a": 20, "b": 22})).await;
    assert!(sum.as_str().unwrap().contains("42"), "{sum}");
    let structured = call(dir, "get-structured-content", json!({"location": "Chicago"})).await;
    assert!(structured["temperature"].is_number(), "{structured}");
    let image = call(dir, "get-tiny-image", json!({})).await;
    assert!(image.to_string().contains("image/png"), "{image}");
    let listed = call(dir, "list_resources", json!({})).await;
    let uri = &listed["resources"][0]["uri"];
    let read = call(dir, "read_resource", json!({"uri": uri})).await;
    assert!(read.to_string().contains("MCP"), "{listed} {read}");
    let prompt = call(dir, "get_prompt", json!({"name": "simple-prompt"})).await;
    assert!(prompt.to_string().contains("simple prompt"), "{prompt}");
    let wrong = refused(dir, "echo", json!({"massage": "a"}), 2).await;
    assert_eq!(wrong["kind"], "invalid_args", "{wrong}");
}

#[tokio::test]
async fn server_everything_is_called_over_stdio() {
    let Some(program) = npm("mcp-server-everything") else { return };
    assert_everything_works(&TestDir::with_app(&app(&format!("command: ['{}', stdio]", program.display()))))
        .await;
}

/// With `transport` of the app in place of the usual one, and the words by which the server is told what to speak.
async fn assert_everything_works_over_http(word: &str, path: &str, transport: &str) {
    let Some(program) = npm("mcp-server-everything") else { return };
    let server = TestDir::new();
    let (port, _server) = serve(&server, program, |_| vec![word.to_owned()]).await;
    let dir = TestDir::with_app(&app(&format!("url: 'http://localhost:{port}/{path}'{transport}")));
    assert_everything_works(&dir).await;
}

#[tokio::test]
async fn server_everything_is_called_over_streamable_http() {
    assert_everything_works_over_http("streamableHttp", "mcp", "").await;
}

#[tokio::test]
async fn server_everything_is_called_over_http_with_server_sent_events() {
    assert_everything_works_over_http("sse", "sse", ", transport: sse").await;
}

#[tokio::test]
async fn a_url_that_speaks_server_sent_events_only_is_found_out() {
    assert_everything_works_over_http("sse", "sse", "").await;
}

#[tokio::test]
async fn server_filesystem_reads_and_writes_its_folder_and_no_other() {
    let Some(program) = npm("mcp-server-filesystem") else { return };
    let dir =
        TestDir::new().with_file("own/note.txt", "Ada wants a lamp.\n").with_file("secret.txt", "hidden\n");
    let command = format!("command: ['{}', '{}']", program.display(), dir.path("own").display());
    let dir = dir.with_file("app.yaml", app(&command));
    let tools = [
        "create_directory",
        "directory_tree",
        "edit_file",
        "get_file_info",
        "list_allowed_directories",
        "list_directory",
        "list_directory_with_sizes",
        "move_file",
        "read_file",
        "read_media_file",
        "read_multiple_files",
        "read_text_file",
        "search_files",
        "write_file",
    ];
    assert_tools(&dir, &[&tools]).await;
    let path = |name: &str| dir.path(name).to_str().unwrap().to_owned();
    let read = call(&dir, "read_text_file", json!({"path": path("own/note.txt")})).await;
    assert_eq!(read, json!({"content": "Ada wants a lamp.\n"}));
    call(&dir, "write_file", json!({"path": path("own/new.txt"), "content": "A lamp for Ada.\n"})).await;
    assert_eq!(dir.read("own/new.txt"), "A lamp for Ada.\n");
    let outside = refused(&dir, "read_text_file", json!({"path": path("secret.txt")}), 1).await;
    assert_eq!(outside["kind"], "tool_failed", "{outside}");
    assert!(!outside.to_string().contains("hidden"), "{outside}");
}

#[tokio::test]
async fn server_memory_remembers_from_one_run_to_the_next() {
    let Some(program) = npm("mcp-server-memory") else { return };
    let dir = TestDir::new();
    let memory = dir.path("memory.jsonl");
    let command =
        format!("command: ['{}'], env: {{MEMORY_FILE_PATH: '{}'}}", program.display(), memory.display());
    let dir = dir.with_file("app.yaml", app(&command));
    let tools = [
        "add_observations",
        "create_entities",
        "create_relations",
        "delete_entities",
        "delete_observations",
        "delete_relations",
        "open_nodes",
        "read_graph",
        "search_nodes",
    ];
    assert_tools(&dir, &[&tools, &["list_resources", "read_resource"]]).await;
    let ada = json!({"name": "Ada", "entityType": "person", "observations": ["wants a lamp"]});
    call(&dir, "create_entities", json!({"entities": [ada]})).await;
    let found = call(&dir, "search_nodes", json!({"query": "lamp"})).await;
    assert_eq!(found["entities"][0]["name"], "Ada", "{found}");
    call(&dir, "delete_entities", json!({"entityNames": ["Ada"]})).await;
    let graph = call(&dir, "read_graph", json!({})).await;
    assert_eq!(graph, json!({"entities": [], "relations": []}));
}

#[tokio::test]
async fn the_time_server_is_called() {
    let Some(dir) = python("-m, mcp_server_time") else { return };
    assert_tools(&dir, &[&["convert_time", "get_current_time"]]).await;
    let converted = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let calls = [
        ("convert_time", converted, "21:00"),
        ("get_current_time", json!({"timezone": "Nowhere/City"}), "Nowhere/City"),
    ];
    converse(dir, &calls).await;
}

#[tokio::test]
async fn the_git_server_works_in_a_repository() {
    let Some(dir) = python("-m, mcp_server_git") else { return };
    let dir = dir.with_file("work/note.txt", "Ada wants a lamp.\n");
    let work = dir.path("work");
    let made = dir.command("git", &work).args(["init", "--quiet"]).status().await.unwrap();
    assert!(made.success());
    for setting in [["user.name", "Ada"], ["user.email", "ada@example.com"]] {
        let set = dir.command("git", &work).arg("config").args(setting).status().await.unwrap();
        assert!(set.success());
    }
    let tools = [
        "git_add",
        "git_branch",
        "git_checkout",
        "git_commit",
        "git_create_branch",
        "git_diff",
        "git_diff_staged",
        "git_diff_unstaged",
        "git_log",
        "git_reset",
        "git_show",
        "git_status",
    ];
    assert_tools(&dir, &[&tools]).await;
    let path = work.to_str().unwrap();
    let calls = [
        ("git_status", json!({"repo_path": path}), "note.txt"),
        ("git_add", json!({"repo_path": path, "files": ["note.txt"]}), "staged"),
        ("git_commit", json!({"repo_path": path, "message": "Note what Ada wants"}), "committed"),
        ("git_log", json!({"repo_path": path}), "Note what Ada wants"),
        ("git_show", json!({"repo_path": path, "revision": "no-such-revision"}), "no-such-revision"),
    ];
    converse(dir, &calls).await;
}

/// A server that speaks both eras is spoken to in the newer.
async fn assert_fast_mcp_works(dir: TestDir, revision: &str) {
    let calls = [
        ("list_resources", json!({}), "resources"),
        ("add", json!({"a": 20, "b": 22}), r#""sum":42"#),
        ("revision", json!({}), revision),
        ("refuse", json!({"reason": "no lamp is left"}), "no lamp is left"),
        ("add", json!({"a": "twenty"}), "invalid_args"),
    ];
    converse(dir, &calls).await;
}

/// What the server is told of its era, and the revision that is spoken with it.
const ERAS: [(&str, &str); 2] = [("both", "2026-07-28"), ("old", "2025-11-25")];

#[tokio::test]
async fn fast_mcp_is_called_in_both_eras_over_stdio() {
    for (era, revision) in ERAS {
        let Some(dir) = python(&format!("{}, {era}, stdio", fast_mcp())) else { return };
        if era == "both" {
            assert_tools(&dir, &[&["add", "refuse", "revision"]]).await;
        }
        assert_fast_mcp_works(dir, revision).await;
    }
}

#[tokio::test]
async fn fast_mcp_is_called_in_both_eras_over_http() {
    let Some(packages) = peer("python") else { return };
    for (era, revision) in ERAS {
        let server = TestDir::new().with_variable("PYTHONPATH", packages.to_str().unwrap());
        let script = fast_mcp().trim_matches('\'').to_owned();
        let words = |port: u16| vec![script, era.to_owned(), "http".to_owned(), port.to_string()];
        let (port, _server) = serve(&server, "python3", words).await;
        let dir = TestDir::with_app(&app(&format!("url: 'http://127.0.0.1:{port}/mcp'")));
        assert_fast_mcp_works(dir, revision).await;
    }
}
