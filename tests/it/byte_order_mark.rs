//! Files that begin with a byte order mark, as editors on Windows write them.

use crate::support::{TestDir, mcp_script};

/// Returns a text with a byte order mark.
fn marked(text: &str) -> String {
    format!("\u{feff}{text}")
}

const APP: &str = "
app: {id: marked, prompt: Greet Ada.}
agents: [{id: a, brain: {provider: recorded, recording: turns.yaml}}]
modules: {hello: {}}
tools:
  registry:
    - {type: file, path: tools.yaml, engine: fixed}
    - {type: file, path: more.json, engine: fixed}
    - {type: exec, path: words}
    - {type: rest, spec: library.yaml, namespace: library}
  engines: {fixed: {type: mock, default: 7}}
  capabilities: {default_policy: grant}
";

const OPENAPI: &str = "
openapi: 3.1.0
info: {title: Library, version: '1'}
servers: [{url: 'http://127.0.0.1:9'}]
paths: {/books: {get: {operationId: listBooks, summary: Lists books., responses: {'200': {description: Books.}}}}}
";

fn dir() -> TestDir {
    TestDir::with_app(&marked(APP))
        .with_file("turns.yaml", marked("turns: [{text: Hello.}]\n"))
        .with_file("tools.yaml", marked("shop: [{name: price}]\n"))
        .with_file("more.json", marked(r#"{"more": [{"name": "stock"}]}"#))
        .with_file(
            "words/toolcrib.yaml",
            marked("name: words\ndescription: Counts.\ntools: [{name: count, argv: [wc, -w], description: Counts.}]\n"),
        )
        .with_file("library.yaml", marked(OPENAPI))
        .with_file("arguments.json", marked(r#"{"name": "Ada"}"#))
        .with_file("skills/triage.md", marked("---\ndescription: Sorts what comes in.\n---\nSort.\n"))
        .with_file("greet.js", marked("return await tools.hello.say_hello({name: 'Ada'});"))
}

#[tokio::test]
async fn an_app_and_the_files_that_it_names_are_read() {
    let dir = dir();
    dir.run(["validate", "app.yaml"]).await.expect(0);
    let listed = dir.run(["tools", "app.yaml", "--json"]).await.expect(0).json();
    assert_eq!(listed["rejected"], serde_json::json!([]));
    for name in ["shop::price", "more::stock", "words::count", "library::listBooks"] {
        let tools = listed["tools"].as_array().unwrap();
        assert!(tools.iter().any(|tool| tool["qualified_name"] == name), "{name}: {listed}");
    }
    assert_eq!(dir.run(["run", "app.yaml"]).await.expect(0).stdout, "Hello.\n");
}

#[tokio::test]
async fn arguments_scripts_and_labelled_sets_are_read() {
    let dir = dir()
        .with_file(
            "set.json",
            marked(r#"[{"name": "price", "namespace": "shop", "description": "A price."}]"#),
        )
        .with_file("queries.jsonl", marked("{\"query\": \"price\", \"relevant\": [\"shop::price\"]}\n"));
    let call = ["call", "app.yaml", "hello.say_hello", "@arguments.json"];
    assert_eq!(dir.run(call).await.expect(0).stdout, "Hello, Ada!\n");
    assert_eq!(dir.run(["script", "app.yaml", "greet.js"]).await.expect(0).stdout, "Hello, Ada!\n");
    dir.run(["eval", "--tools", "set.json", "--queries", "queries.jsonl", "--tier", "keyword"])
        .await
        .expect(0);
}

#[tokio::test]
async fn the_configuration_of_a_client_is_imported() {
    let servers = r#"{"mcpServers": {"desk": {"command": "sh", "args": ["server.sh"]}}}"#;
    let dir = TestDir::new().with_file(".mcp.json", marked(servers)).with_file("server.sh", mcp_script(""));
    dir.run(["import", ".mcp.json"]).await.expect(0);
    assert!(dir.read("app.yaml").contains("server.sh"));
}

#[tokio::test]
async fn a_task_of_data_generation_and_what_it_names_are_read() {
    let task = "
agents: [{id: a, brain: {provider: recorded, recording: turns.yaml}}]
modules: {hello: {}}
generate: {num_outputs: 1, output: out.jsonl, hygiene: {decontamination: [held_out.txt]}}
";
    let dir = dir().with_file("task.yaml", marked(task)).with_file("held_out.txt", marked("Greet Bo.\n"));
    dir.run(["validate", "task.yaml"]).await.expect(0);
}
