//! Task files of fms-dgt, as they are.

use serde_json::{Value, json};
use toolcrib_testkit::{ModelServer, Turn, teach};

use crate::support::TestDir;

const TOOLS: &str = "
- {name: find_order, description: Finds an order., parameters: &p {type: object, properties: {id: {type: string}}, required: [id]}}
- {name: show_order, description: Shows an order., parameters: *p}
- {name: find_client, description: Finds a client., parameters: *p}
- {name: show_client, description: Shows a client., parameters: *p}
- {name: print_label, description: Prints the label of a parcel., parameters: *p}
";

/// A simulator of all tools, schemas that a model infers, and similar tools.
const NEIGHBORS: &str = "
task_name: tool_calling/shop
created_by: A team
data_builder: tool_calling/multi_turn/stateless
task_description: Conversations with a shop
formatter: {type: tool_calling/formatters/multi_turn}
max_turns: 2
min_turns: 1
has_nested: true
separate_context: true
tools:
  registry:
    - {type: file, path: '${SHOP_DATA_DIR}/tools.yaml', namespace: shop, engine: simulator}
  engines:
    simulator:
      type: lm
      lm_config: {type: openai, model_id_or_path: m, base_url: BASE_URL, n: 2, temperature: 1.0, max_new_tokens: 1024}
  enrichments:
    - {type: output_parameters, lm_config: {type: openai, model_id_or_path: m, base_url: BASE_URL}}
    - {type: neighbors, model: sentence-transformers/all-mpnet-base-v2}
    - {type: embeddings, model: sentence-transformers/all-mpnet-base-v2}
initialization_stages:
  - {name: sample/persona, persona_store: {type: default, data_path: personas.jsonl}}
  - name: tool_calling/multi_turn/stages/scenario_generator
    generator: generator
    sampler_mix: [{sampler: {type: tc/neighbor, k: 3, min_score: 0.0}, weight: 1.0}]
iteration_stages: [{name: tool_calling/multi_turn/stages/planner}]
termination_stages: [{name: tool_calling/multi_turn/stages/filter}]
";

/// Single turns, chains of calls, and errors.
const CHAINS: &str = "
task_name: tool_calling/chains
data_builder: tool_calling/multi_turn/stateless
max_turns: 1
min_turns: 1
has_nested: false
tools:
  registry: [{type: file, path: tools.yaml, namespace: shop, engine: simulator}]
  engines:
    simulator:
      type: lm
      lm_config: {type: openai, model_id_or_path: m, base_url: BASE_URL, batch_size: 8}
      error_categories:
        - {type: network_error, probability: 0.05, message: Connection timed out}
        - {type: unparseable_result, probability: 0.05}
  enrichments:
    - type: output_parameters
      force: true
      lm_config: {type: openai, model_id_or_path: m, base_url: BASE_URL, temperature: 0.1, decoding_method: greedy}
    - {type: dataflow, model: sentence-transformers/all-mpnet-base-v2}
initialization_stages:
  - sampler_mix:
      - {sampler: {type: tc/chain, k: 2, min_score: 0.5}, weight: 0.7}
      - {sampler: {type: tc/random, k: 3, namespace: shop, strategy: uniform, min_score: 0.0}, weight: 0.3}
";

/// Sources that run their own calls next to a simulated one.
const SOURCES: &str = "
task_name: tool_calling/sources
data_builder: tool_calling/multi_turn/stateless
seed_datastore: {type: default, data_path: seeds.jsonl}
tools:
  registry:
    - {type: file, path: tools.yaml, namespace: shop, engine: simulator}
    - {type: mcp, url: 'http://localhost:1', namespace: staff, engine: live}
    - {type: rest, spec: 'http://localhost:1/openapi.json', namespace: pets, engine: http}
  engines:
    simulator: {type: lm, lm_config: {type: openai, model_id_or_path: m, base_url: BASE_URL}}
    live: {type: mcp, url: 'http://localhost:1'}
    http: {type: rest}
initialization_stages:
  - sampler_mix: [{sampler: {type: tc/random, k: 2, namespace_weights: {shop: 0.8}}, weight: 1.0}]
";

/// A model that writes conversations, infers schemas, and simulates tools.
async fn model() -> ModelServer {
    let turn = |request: &Value| {
        let messages = request["messages"].as_array().unwrap();
        let text = |at: usize| messages[at]["content"].as_str().unwrap_or_default();
        let taught = teach(text(0));
        let schema = json!({"schema": {"type": "object", "properties": {"id": {"type": "string"}}}});
        let result = json!({"result": {"id": format!("r-{}", messages.len())}});
        Turn::text(if !taught.is_empty() {
            taught
        } else if text(0).contains("what a tool returns") {
            schema.to_string()
        } else {
            result.to_string()
        })
    };
    ModelServer::answering(turn).await.unwrap()
}

fn dir(base_url: &str) -> TestDir {
    let dir = TestDir::new().with_file("tools.yaml", TOOLS).with_variable("OPENAI_API_KEY", "test");
    let folder = dir.path("").display().to_string();
    let files = [("neighbors.yaml", NEIGHBORS), ("chains.yaml", CHAINS), ("sources.yaml", SOURCES)];
    let dir = dir.with_variable("SHOP_DATA_DIR", folder);
    files.into_iter().fold(dir, |dir, (name, task)| dir.with_file(name, task.replace("BASE_URL", base_url)))
}

#[tokio::test]
async fn each_key_without_a_counterpart_is_named_in_a_note() {
    let dir = dir("'http://localhost:1/v1/'");
    let mut told = String::new();
    for task in ["neighbors.yaml", "chains.yaml", "sources.yaml"] {
        told += &dir.run(["validate", task]).await.expect(0).report();
    }
    snapshot!(dir, told);
    // The server of the model does not run.
    let run_output = dir.run(["generate", "chains.yaml", "--output", "data.jsonl"]).await.expect(2);
    assert!(run_output.stderr.contains("cannot reach the model"), "{run_output:?}");
}

#[tokio::test]
async fn conversations_are_generated_from_task_files_as_they_are() {
    let model = model().await;
    let dir = dir(&model.base_url());
    for (task, kinds) in [
        ("neighbors.yaml", &["multi_turn", "nested", "parallel"][..]),
        ("chains.yaml", &["parallel", "single"]),
    ] {
        let output = format!("{task}.jsonl");
        let words = ["generate", task, "--output", &output, "--num-outputs", "6", "--json"];
        let report = dir.run(words).await.expect(0).json();
        assert_eq!((&report["written"], super::kinds(&report)), (&json!(6), kinds.to_vec()), "{report}");
        let checked = dir.run(["generate", "check", &output]).await.expect(0);
        assert_eq!(checked.stdout.trim(), "6 of 6 conversations have no finding");
    }
}
