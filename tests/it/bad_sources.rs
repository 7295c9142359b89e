//! Sources that are not there, or break off: an error, the other sources, and no process left behind.

use std::time::{Duration, Instant};

use toolcrib_testkit::PetStore;

use crate::support::{TestDir, error_texts, mcp_script};

/// Far below every timeout, so that an error within it comes of the failure and not of waiting.
const PROMPTLY: Duration = Duration::from_secs(10);

/// An app with `hello` and one MCP server, which is a script.
fn with_server(functions: &str) -> TestDir {
    let app = "
modules: {hello: {}}
tools:
  registry: [{type: mcp, namespace: team, command: [sh, server.sh]}]
  capabilities: {default_policy: grant}
";
    TestDir::with_app(app).with_file("server.sh", mcp_script(functions))
}

#[tokio::test]
async fn a_missing_mcp_server_is_unavailable() {
    let dir = TestDir::new();
    snapshot!(dir, error_texts(&dir, ["load", "--mcp", "no-such-program-anywhere --flag"], 5).await);
}

#[tokio::test]
async fn an_mcp_server_that_exits_before_the_handshake_is_reported_with_status_and_last_words() {
    let dir = with_server("on_start() { echo 'no database' >&2; exit 3; }");
    let began = Instant::now();
    let text = error_texts(&dir, ["load", "--mcp", "sh server.sh"], 5).await;
    assert!(began.elapsed() < PROMPTLY, "{:?}", began.elapsed());
    snapshot!(dir, text);
}

#[tokio::test]
async fn a_dead_source_hides_no_other() {
    let dir = with_server("on_start() { exit 3; }");
    dir.run(["call", "app.yaml", "hello.say_hello", r#"{"name": "Ada"}"#]).await.expect(0);
    let tools = dir.run(["tools", "app.yaml", "--json"]).await.expect(5).json();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 3);
    assert_eq!(tools["rejected"][0]["kind"], "unavailable");
    assert_eq!(tools["rejected"][0]["source"], "mcp team");
}

#[tokio::test]
async fn a_strict_app_stops_every_command_that_starts_it_where_a_source_is_down() {
    let dir = with_server("");
    dir.run(["--strict", "tools", "app.yaml"]).await.expect(0);
    let dir = dir.with_file("server.sh", mcp_script("on_start() { exit 3; }"));
    // What the server listed is known from the run before.
    dir.run(["tools", "app.yaml"]).await.expect(0);
    for arguments in [
        &["tools", "app.yaml"][..],
        &["search", "app.yaml", "hello"],
        &["show", "app.yaml", "hello.say_hello"],
        &["why", "app.yaml", "hello.say_hello"],
        &["plan", "app.yaml"],
        &["lint", "app.yaml"],
        &["call", "app.yaml", "hello.say_hello", r#"{"name": "Ada"}"#],
        &["validate", "app.yaml", "--connect"],
        &["doctor", "app.yaml"],
        &["serve", "app.yaml"],
    ] {
        let output = dir.run_words(&[&["--strict"], arguments].concat()).await;
        let said = output.stdout.clone() + &output.stderr;
        assert!(said.contains("the app is strict") && said.contains("exited with status 3"), "{output:#?}");
        output.expect(2);
    }
    // What is to be approved first can be looked at.
    dir.run(["--strict", "tools", "app.yaml", "--changed"]).await.expect(5);
}

#[tokio::test]
async fn a_call_of_a_tool_whose_source_is_down_says_so_and_exits_with_5() {
    let dir = with_server("on_start() { exit 3; }");
    let output = dir.run(["call", "app.yaml", "team.ask", "--json"]).await.expect(5);
    assert!(output.stderr.contains("exited with status 3"), "{output:#?}");
    assert!(output.json()["error"].is_object());
}

#[tokio::test]
async fn an_mcp_server_that_dies_during_a_call_ends_the_call_at_once() {
    let dir = with_server("on_call() { echo 'out of memory' >&2; exit 7; }");
    let began = Instant::now();
    let text = error_texts(&dir, ["call", "app.yaml", "team.ask", r#"{"what": "anything"}"#], 1).await;
    assert!(began.elapsed() < PROMPTLY, "{:?}", began.elapsed());
    snapshot!(dir, text);
}

#[tokio::test]
async fn an_mcp_server_that_never_answers_the_handshake_is_given_up_and_killed() {
    let app = "
tools:
  registry:
    - {type: mcp, namespace: team, command: [sh, -c, 'sleep 300 & sleep 300'], startup_timeout_seconds: 1}
";
    let dir = TestDir::with_app(app);
    let output = dir.run(["validate", "app.yaml", "--connect", "--json"]).await.expect(5);
    let reason = output.json()["rejected"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("did not answer the handshake within 1 s"), "{reason}");
}

#[tokio::test]
async fn an_openapi_host_that_is_down_is_unavailable() {
    let store = PetStore::start().await.unwrap();
    let (url, document) = (store.document_url(), store.document());
    drop(store);
    let dir = TestDir::new().with_file("pets.yaml", document);
    let mut text = error_texts(&dir, ["load", "--openapi", &url], 5).await;

    // The document is at hand, only the host of its operations is down.
    let dir = dir.with_file(
        "app.yaml",
        "
tools:
  registry: [{type: rest, namespace: pets, spec: pets.yaml, allow_private: true}]
  capabilities: {default_policy: grant}
",
    );
    text.push_str(&error_texts(&dir, ["call", "app.yaml", "pets.findPetsByTags"], 5).await);
    snapshot!(dir, text);
}
