//! `toolcrib generate` with the tools of an MCP server, of an OpenAPI service, and of an engine that simulates them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib_testkit::{ModelServer, PetStore, Turn, teach};

use crate::support::{TestDir, peer};

/// The kinds of the task with their tools: those of each source alone, and of all sources in one conversation.
const KINDS: &str = "
    single: {weight: 2, tools: [peer::echo, peer::get-sum]}
    multi_turn: {weight: 2, tools: [pets::getOrderById, pets::findPetsByStatus, pets::getInventory]}
    nested: {weight: 1, tools: ['calendar::*']}
    parallel: {weight: 3, tools: [peer::echo, pets::getOrderById, 'calendar::*']}
    denied: {weight: 1, tools: [pets::deleteOrder, calendar::clear]}";

const TOOLS: &str = "
- name: add
  description: Adds an appointment.
  parameters: {type: object, properties: {title: {type: string}, day: {type: string}}, required: [title, day]}
  output_parameters: {type: object, properties: {id: {type: string}}, required: [id]}
- name: show
  description: Shows an appointment.
  parameters: {type: object, properties: {id: {type: string}}, required: [id]}
- {name: clear, description: Removes all appointments., parameters: {type: object}}
";

/// A model that plays all stages, and the tools of the calendar.
async fn model() -> ModelServer {
    let turn = |request: &Value| {
        let messages = request["messages"].as_array().unwrap();
        let reply = teach(messages[0]["content"].as_str().unwrap_or_default());
        // A prompt without a stage is a call of a simulated tool, and the earlier ones.
        let simulated = || json!({"result": {"id": format!("a-{}", messages.len())}}).to_string();
        Turn::text(if reply.is_empty() { simulated() } else { reply })
    };
    ModelServer::answering(turn).await.unwrap()
}

fn task(everything: &std::path::Path, store: &PetStore, model: &ModelServer) -> String {
    format!(
        "
app: {{id: mixed}}
agents: [{{id: teacher, brain: {{provider: openai, model: m, base_url: '{}'}}}}]
audit: {{path: audit.jsonl}}
tools:
  registry:
    - {{type: mcp, namespace: peer, startup_timeout_seconds: 60, command: ['{}', stdio]}}
    - {{type: rest, namespace: pets, spec: '{}', base_url: '{}'}}
    - {{type: file, path: calendar.yaml, namespace: calendar, engine: fake}}
  engines: {{fake: {{type: simulated, model: teacher}}}}
  capabilities:
    default_policy: grant
    deny: [{{module: pets, actions: [deleteOrder]}}, {{module: calendar, actions: [clear]}}]
generate:
  num_outputs: 30
  seed: 3
  output: data.jsonl
  kinds: {KINDS}
",
        model.base_url(),
        everything.display(),
        store.document_url(),
        store.base_url()
    )
}

/// Counts calls by tool and identifier.
fn counted(calls: impl Iterator<Item = (String, String)>) -> BTreeMap<(String, String), usize> {
    calls.fold(BTreeMap::new(), |mut counts, call| {
        *counts.entry(call).or_default() += 1;
        counts
    })
}

#[tokio::test]
async fn every_call_of_a_task_with_three_kinds_of_sources_passes_the_gate() {
    let Some(npm) = peer("npm") else { return };
    let (store, model) = (PetStore::start().await.unwrap(), model().await);
    let everything = npm.join("node_modules/.bin/mcp-server-everything");
    let dir = TestDir::new()
        .with_file("task.yaml", task(&everything, &store, &model))
        .with_file("calendar.yaml", TOOLS)
        .with_variable("OPENAI_API_KEY", "test");
    let report = dir.run(["generate", "task.yaml", "--json"]).await.expect(0).json();
    assert_eq!((&report["written"], &report["dropped"]), (&json!(30), &json!(0)), "{report}");

    let lines = |file: &str| -> Vec<Value> {
        dir.read(file).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let rows = lines("data.jsonl");
    let messages = rows.iter().flat_map(|row| row["messages"].as_array().unwrap());
    let calls = messages.flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    let written = counted(calls.map(|call| {
        let name = call["function"]["name"].as_str().unwrap().replace("__", "::");
        (name, call["id"].as_str().unwrap().to_owned())
    }));
    let records = lines("audit.jsonl");
    let recorded = counted(records.iter().map(|record| {
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        (text("tool"), text("call_id"))
    }));
    assert_eq!(written, recorded, "each call of the data has one record, and there is no other");
    for record in &records {
        let is_denied = ["pets::deleteOrder", "calendar::clear"].contains(&record["tool"].as_str().unwrap());
        assert_eq!(record["decision"], if is_denied { "deny" } else { "grant" }, "{record}");
        assert!(record["rule"].is_string() || !is_denied, "{record}");
        assert_eq!(record["ran_ms"].is_null(), is_denied, "{record}");
    }

    // The calls really ran: in the MCP server, in the store, and in the model that simulates the calendar.
    let of = |namespace: &str| {
        let is_granted = |record: &&Value| record["decision"] == "grant";
        let tool = |record: &Value| record["tool"].as_str().unwrap().starts_with(namespace);
        records.iter().filter(is_granted).filter(|record| tool(record)).count()
    };
    let text = dir.read("data.jsonl");
    assert!(text.contains("Echo: ") && of("peer::") > 0, "{text}");
    let asked = store.requests().len();
    assert!(asked >= of("pets::") && of("pets::") > 0, "{asked} requests");
    let simulated = model.requests().into_iter().filter(|request| {
        let body = request.json().unwrap();
        body["messages"][0]["content"].as_str().unwrap_or_default().contains("You simulate a tool")
    });
    assert!(simulated.count() > 0 && of("calendar::") > 0);
}
