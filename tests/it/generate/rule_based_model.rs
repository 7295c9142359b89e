//! A task whose model is a server that answers by rules, so that all stages run.

use serde_json::Value;
use toolcrib_testkit::{ModelServer, Turn, teach};

use crate::support::TestDir;

/// The script of the tools: a result that depends on the arguments.
const FILE: &str = r#"printf '{"id": "id of %s", "done": true}\n' "$1"
"#;

/// Tools that file papers, one with a long result, and one that the policy denies.
fn tools() -> String {
    let filing = ["letter", "invoice", "contract", "photo"].map(|paper| {
        format!(
            "- name: file_{paper}\n  description: Files the {paper} of a client.\n  risk: low\n  parameters: {{type: object, \
             properties: {{title: {{type: string}}, pages: {{type: integer}}}}, required: [title, pages]}}\n"
        )
    });
    let others = [("list_papers", "Lists all papers of a shelf."), ("burn", "Burns a paper.")].map(|(name, description)| {
        format!(
            "- name: {name}\n  description: {description}\n  risk: low\n  parameters: {{type: object, properties: \
             {{title: {{type: string}}}}, required: [title]}}\n"
        )
    });
    filing.into_iter().chain(others).collect()
}

/// Returns a dir with the task, and further settings of `generate`.
pub(super) fn dir(server: &ModelServer, settings: &str) -> TestDir {
    let task = format!(
        r#"
agents:
  - id: teacher
    brain: {{provider: openai, model: teacher, base_url: "{}"}}
tools:
  registry: [{{type: file, path: tools.yaml, namespace: desk, engine: desk}}]
  engines:
    desk: {{type: command, output: json, argv: [sh, file.sh, "{{title}}"], tools: {{list_papers: [cat, shelf.json]}}}}
  capabilities: {{default_policy: grant, deny: [{{module: desk, actions: [burn]}}]}}
  limits: {{result_tokens: 250}}
generate:
  kinds:
    single: 1
    parallel: 1
    nested: {{weight: 1, tools: ["desk::file_letter", "desk::file_photo"]}}
    multi_turn: 1
    missing_parameter: 1
    missing_tool: 1
    irrelevant: 1
    ambiguous: 1
    denied: 1
    error_recovery: 1
    long_result: {{weight: 1, tools: ["desk::list_papers"]}}
    discovery: 1
  output: data.jsonl
{settings}"#,
        server.base_url()
    );
    let shelf: Vec<Value> =
        (0..200).map(|at| serde_json::json!({"paper": at, "title": format!("paper {at}")})).collect();
    TestDir::new()
        .with_file("task.yaml", task)
        .with_file("tools.yaml", tools())
        .with_file("file.sh", FILE)
        .with_file("shelf.json", Value::from(shelf).to_string())
        .with_variable("OPENAI_API_KEY", "test")
}

/// Starts the server.
pub(super) async fn server() -> ModelServer {
    let answer = |request: &Value| {
        let messages = request["messages"].as_array().unwrap();
        let prompt = messages.iter().find(|message| message["role"] == "user").unwrap();
        Turn::text(teach(prompt["content"].as_str().unwrap()))
    };
    ModelServer::answering(answer).await.unwrap()
}
