//! The bounds of a run, and its continuation: samplers without tools, budgets, and the numbers of conversations.

use serde_json::json;

use super::rule_based_model::server;
use crate::support::TestDir;

/// Tools of two near duplicates each, and one that is like no other.
const DUPLICATES: &str = "
- {name: send_letter, description: Sends a letter to a client., risk: low, parameters: &p {type: object, properties: {title: {type: string}}, required: [title]}}
- {name: send_a_letter, description: Sends a letter to the client., risk: low, parameters: *p}
- {name: burn_old_receipts, description: Burns the receipts of last year., risk: low, parameters: *p}
- {name: burn_the_old_receipts, description: Burns all receipts of last year., risk: low, parameters: *p}
- {name: water, description: Waters the ficus in the hall., risk: low, parameters: *p}
";

/// Returns a dir with these tools and one kind of conversations, and the lines of `tools` and of `generate`.
async fn task(tools: &str, generate: &str) -> (toolcrib_testkit::ModelServer, TestDir) {
    let server = server().await;
    let task = format!(
        "agents: [{{id: teacher, brain: {{provider: openai, model: teacher, base_url: '{}', prices: {{input: 10, output: 10}}}}}}]
tools:
  registry: [{{type: file, path: tools.yaml, namespace: desk, engine: desk}}]
  engines: {{desk: {{type: mock, default: {{done: true}}}}}}
  capabilities: {{default_policy: grant}}
{tools}
generate:
  output: data.jsonl
  hygiene: {{near_duplicates: 1.1}}
{generate}
",
        server.base_url()
    );
    let dir = TestDir::new()
        .with_file("task.yaml", task)
        .with_file("tools.yaml", DUPLICATES)
        .with_variable("OPENAI_API_KEY", "test");
    (server, dir)
}

#[tokio::test]
async fn conversations_about_similar_tools_and_near_duplicates_are_made_in_a_whole_run() {
    let enrichments = "  enrichments: [{type: neighbors}, {type: embeddings}]";
    let samplers = "  samplers: [{type: conflict, count: 2}, {type: neighbor, count: 3}]\n  num_outputs: 12";
    let (_server, dir) = task(enrichments, samplers).await;
    let report = dir.run(["generate", "task.yaml", "--json"]).await.expect(0).json();
    assert_eq!(report["written"], 12, "{report}");
    let mut sizes = Vec::new();
    for line in dir.read("data.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let tools = row["tools"].as_array().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
        let verbs = |verb: &str| names.iter().filter(|name| name.contains(verb)).count();
        if names.len() == 2 {
            assert!(verbs("send") == 2 || verbs("burn") == 2, "{names:?}");
        }
        sizes.push(names.len());
    }
    assert!(sizes.contains(&2) && sizes.contains(&3), "{sizes:?}");
    dir.run(["generate", "check", "data.jsonl"]).await.expect(0);
}

#[tokio::test]
async fn a_sampler_that_cannot_be_served_is_named_with_what_it_lacks() {
    for (samplers, told) in [
        (
            "[{type: chain}]",
            "samplers[0]: the sampler `chain` needs the artifact of the enrichment `dataflow`; add this enrichment",
        ),
        (
            "[{type: conflict}]",
            "samplers[0]: the sampler `conflict` needs the artifact of the enrichment `neighbors`; add this enrichment",
        ),
        (
            "[{type: random}, {type: random, count: 6}]",
            "samplers[1].count: the catalogue is too small: requested 6, found 5 tools to choose from",
        ),
    ] {
        let (server, dir) = task("", &format!("  samplers: {samplers}")).await;
        let run_output = dir.run(["generate", "task.yaml"]).await.expect(2);
        assert!(run_output.stderr.contains(told), "{run_output:?}");
        assert!(server.requests().is_empty() && !dir.path("data.jsonl").exists());
    }
}

#[tokio::test]
async fn a_task_without_a_model_or_the_stage_of_its_format_says_so() {
    let (server, dir) = task("", "  num_outputs: 1").await;
    let run_output = dir.run(["generate", "task.yaml", "--format", "preferences"]).await.expect(2);
    assert!(
        run_output.stderr.contains("the format `preferences` needs the stage `preference`"),
        "{run_output:?}"
    );
    let text = dir.read("task.yaml");
    let dir = dir.with_file(
        "task.yaml",
        text.split_once("tools:").map_or_else(String::new, |(_, rest)| format!("tools:{rest}")),
    );
    let run_output = dir.run(["generate", "task.yaml"]).await.expect(2);
    assert!(run_output.stderr.contains("add one under `agents`"), "{run_output:?}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_sample_that_does_not_exist_drops_its_conversation() {
    let enrichments = "  enrichments: [{type: neighbors}]";
    let samplers = "  samplers: [{type: conflict, count: 3}]\n  num_outputs: 2\n  starts_per_output: 2";
    let (_server, dir) = task(enrichments, samplers).await;
    let run_output = dir.run(["generate", "task.yaml"]).await.expect(1);
    assert!(run_output.stdout.contains("dropped by scenario: no_sample: 4"), "{run_output:?}");
    assert!(run_output.stdout.contains("too many conversations were dropped"), "{run_output:?}");
}

#[tokio::test]
async fn a_budget_in_money_stops_a_run_that_a_higher_one_continues() {
    let (server, dir) = task("", "  num_outputs: 6\n  parallel: 1\n  budget: {cost: 0.01}").await;
    let report = dir.run(["generate", "task.yaml", "--json"]).await.expect(1).json();
    assert_eq!(report["stopped"], "budget", "{report}");
    let written = report["written"].as_u64().unwrap();
    assert!(written < 6, "{report}");
    // Each reply costs 110 tokens at 10 for a million.
    let cost = |report: &serde_json::Value| report["usage"]["cost"].as_f64().unwrap();
    assert!((0.01..0.012).contains(&cost(&report)), "{report}");
    let asked = server.requests().len();
    // Nothing more is spent until the budget is raised.
    dir.run(["generate", "task.yaml", "--resume"]).await.expect(1);
    assert_eq!(server.requests().len(), asked);
    let raised = dir.read("task.yaml").replace("cost: 0.01", "cost: 1");
    let dir = dir.with_file("task.yaml", raised);
    let report = dir.run(["generate", "task.yaml", "--resume", "--json"]).await.expect(0).json();
    assert_eq!((&report["written"], &report["started"]), (&json!(6), &json!(6)), "{report}");
}

#[tokio::test]
async fn a_run_is_continued_extended_and_begun_again_only_if_it_is_told_so() {
    let (server, dir) = task("", "  num_outputs: 3").await;
    dir.run(["generate", "task.yaml"]).await.expect(0);
    let (first, asked) = (dir.read("data.jsonl"), server.requests().len());
    let run_output = dir.run(["generate", "task.yaml"]).await.expect(2);
    assert!(
        run_output.stderr.contains("continue it by --resume, or begin again by --restart"),
        "{run_output:?}"
    );
    dir.run(["generate", "task.yaml", "--resume"]).await.expect(0);
    assert_eq!((dir.read("data.jsonl"), server.requests().len()), (first.clone(), asked));
    dir.run(["generate", "task.yaml", "--resume", "--num-outputs", "5"]).await.expect(0);
    let extended = dir.read("data.jsonl");
    assert!(extended.starts_with(&first) && extended.lines().count() == 5, "{extended}");
    dir.run(["generate", "task.yaml", "--restart", "--num-outputs", "2"]).await.expect(0);
    assert_eq!(dir.read("data.jsonl").lines().count(), 2);
    assert!(first.starts_with(&dir.read("data.jsonl")));
}
