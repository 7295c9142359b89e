//! Runs whose results do not come from the real tools.

use serde_json::{Value, json};
use toolcrib_testkit::{ModelServer, Turn, teach};

use super::rule_based_model::{dir, server};
use crate::support::TestDir;

/// The engine of the real tools, as the task of the office has it.
const REAL: &str = "desk: {type: command, output: json, argv: [sh, file.sh, \"{title}\"], tools: {list_papers: [cat, shelf.json]}}";

const AUDIT: &str = "audit: {path: audit.jsonl, values: true, results: true}\n";

/// Returns a dir with another engine.
fn with_engine(dir: TestDir, engine: &str) -> TestDir {
    let task = dir.read("task.yaml");
    assert!(task.contains(REAL), "{task}");
    dir.with_file("task.yaml", task.replace(REAL, engine))
}

/// Returns a dir whose conversations have one call each.
fn singles(server: &ModelServer, settings: &str) -> TestDir {
    let dir = dir(server, settings);
    let task = dir.read("task.yaml");
    let (begin, end) = (task.find("  kinds:\n").unwrap(), task.find("  output: data.jsonl").unwrap());
    dir.with_file("task.yaml", format!("{}{}", &task[..begin], &task[end..]))
}

/// Returns the contents of the messages of tools in a file of conversations.
fn results(dir: &TestDir) -> Vec<String> {
    let rows = dir.read("data.jsonl");
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let messages = rows.flat_map(|row| row["messages"].as_array().unwrap().clone());
    let of_tools = messages.filter(|message| message["role"] == "tool");
    of_tools.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_run_on_the_audit_log_of_another_has_the_same_results() {
    let server = server().await;
    let real = dir(&server, "  num_outputs: 24\n  seed: 5\n");
    let task = real.read("task.yaml");
    let real = real.with_file("task.yaml", format!("{AUDIT}{task}"));
    real.run(["generate", "task.yaml"]).await.expect(0);

    let replayed =
        dir(&server, "  num_outputs: 24\n  seed: 5\n").with_file("log.jsonl", real.read("audit.jsonl"));
    let replayed = with_engine(
        replayed,
        "desk: {type: multi, routes: [{tools: desk, engine: log}]}\n    log: {type: recorded, path: log.jsonl}",
    );
    // Nothing real can run.
    std::fs::remove_file(replayed.path("file.sh")).unwrap();
    std::fs::remove_file(replayed.path("shelf.json")).unwrap();
    let report = replayed.run(["generate", "task.yaml", "--json"]).await.expect(0).json();
    assert_eq!((&report["written"], &report["dropped"]), (&json!(24), &json!(0)), "{report}");
    assert_eq!(replayed.read("data.jsonl"), real.read("data.jsonl"));
}

#[tokio::test]
async fn a_call_that_a_log_does_not_have_drops_its_conversation() {
    let server = server().await;
    let record =
        json!({"tool": "desk::file_photo", "outcome": "ok", "arguments": {"title": "x"}, "result": 1});
    let dir = singles(&server, "  num_outputs: 2\n  starts_per_output: 1\n");
    let dir = dir.with_file("log.jsonl", format!("{record}\n"));
    let dir = with_engine(dir, "desk: {type: recorded, path: log.jsonl}");
    let report = dir.run(["generate", "task.yaml", "--json"]).await.expect(1).json();
    assert_eq!(report["reasons"]["execute"], json!({"not_recorded": 2}), "{report}");
}

#[tokio::test]
async fn a_log_without_results_is_refused_at_its_place() {
    let server = server().await;
    let dir = with_engine(dir(&server, ""), "desk: {type: recorded, path: log.jsonl}");
    let record =
        json!({"tool": "desk::file_photo", "outcome": "ok", "arguments_shape": {"title": "string(1)"}});
    let dir = dir.with_file("log.jsonl", format!("{record}\n"));
    let run_output = dir.run(["validate", "task.yaml"]).await.expect(2);
    let line = dir.read("task.yaml").lines().position(|line| line.contains("type: recorded")).unwrap() + 1;
    assert!(run_output.stderr.contains(&format!("task.yaml:{line}:")), "{run_output:?}");
    assert!(
        run_output.stderr.contains("`audit` records them with `values: true` and `results: true`"),
        "{run_output:?}"
    );
}

/// A model that writes conversations, and simulates tools by this reply.
async fn simulating(reply: &'static str) -> ModelServer {
    let turn = move |request: &Value| {
        let taught = teach(request["messages"][0]["content"].as_str().unwrap_or_default());
        Turn::text(if taught.is_empty() { reply.to_owned() } else { taught })
    };
    ModelServer::answering(turn).await.unwrap()
}

/// Returns a dir whose conversations have one call of a simulated tool each.
fn simulated(server: &ModelServer, engine: &str) -> TestDir {
    with_engine(singles(server, "  num_outputs: 4\n  starts_per_output: 1\n"), engine)
}

#[tokio::test]
async fn injected_errors_are_part_of_the_conversation() {
    let server = simulating(r#"{"result": {"id": 7}}"#).await;
    let dir = simulated(
        &server,
        "desk: {type: simulated, model: teacher, error_categories: {network_error: {probability: 1, message: the line is cut}}}",
    );
    dir.run(["generate", "task.yaml"]).await.expect(0);
    let results = results(&dir);
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|result| result.contains("the line is cut")), "{results:?}");
    dir.run(["generate", "check", "data.jsonl"]).await.expect(0);
}

#[tokio::test]
async fn a_simulation_that_fails_drops_its_conversation() {
    let server = simulating("It is done.").await;
    let dir = simulated(&server, "desk: {type: simulated, model: teacher}");
    let report = dir.run(["generate", "task.yaml", "--json"]).await.expect(1).json();
    assert_eq!(report["reasons"]["execute"], json!({"unparseable_result": 4}), "{report}");
    assert_eq!(results(&dir), Vec::<String>::new());
}

#[tokio::test]
async fn inferred_schemas_let_chains_of_calls_be_sampled() {
    let schema = r#"{"schema": {"type": "object", "properties": {"title": {"type": "string"}}}}"#;
    let server = simulating(schema).await;
    let dir = singles(&server, "  num_outputs: 3\n  samplers: [{type: chain, count: 2}]\n");
    let task = dir.read("task.yaml");
    let enriched = |enrichments: &str| {
        task.replace("tools:\n  registry", &format!("tools:\n  enrichments: [{enrichments}]\n  registry"))
    };
    // Without schemas of results, nothing flows from one tool to another.
    let dir = dir.with_file("task.yaml", enriched("{type: dataflow}"));
    let report = dir.run(["generate", "task.yaml", "--json"]).await.expect(1).json();
    assert_eq!(report["reasons"]["scenario"].as_object().unwrap().keys().collect::<Vec<_>>(), ["no_sample"]);
    let inferring = "{type: dataflow}, {type: output_parameters, model: teacher, tools: [desk]}";
    let dir = dir.with_file("task.yaml", enriched(inferring));
    let report = dir.run(["generate", "task.yaml", "--restart", "--json"]).await.expect(0).json();
    assert_eq!(report["written"], 3, "{report}");
}
