//! Models whose servers do wrong: each fault of `faults/*.yaml` against the real binary, with the outcome that stands there,
//! in each wire format that can have it. `only` names the formats that can, and `in` has what is other in a format.
//!
//! What holds of every fault: the run ends; no request has a form that the real API refuses, so that every call in it has
//! exactly one result; no call runs twice; where it fails, the message says at which address, what happened, and what to
//! do. The messages themselves are snapshots.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use futures::StreamExt as _;
use serde_json::{Value, json};
use toolcrib_document::{Format, Limits, parse};
use toolcrib_testkit::{FaultScript, FaultyModel, ModelFormat, ModelRequest};

use crate::support::TestDir;

/// How many runs go on side by side.
const SIDE_BY_SIDE: usize = 4;

/// The key that is sent.
const KEY: &str = "sk-test-4711";

/// The longest answer that a snapshot shows, in characters.
const MAX_SHOWN_CHARS: usize = 200;

pub(crate) const TOOLS: &str = "
shop:
  - name: price
    description: What an item costs, in euro.
    risk: low
    parameters:
      type: object
      properties: {item: {type: string}}
      required: [item]
";

/// The app with an agent at this server. A call of its tool leaves a line in a file.
fn dir(fault: &Value, format: ModelFormat, base_url: &str) -> TestDir {
    let (provider, variable) = provider(format);
    let mut brain = json!({"provider": provider, "model": "test-model", "base_url": base_url});
    let mut runtime = json!({"max_turns": 5});
    for (section, key) in [(&mut brain, "brain"), (&mut runtime, "runtime")] {
        for (name, value) in fault[key].as_object().into_iter().flatten() {
            section[name] = value.clone();
        }
    }
    let argv = ["sh", "-c", r#"echo "$1" >> ran.txt; echo "$1: 3 euro""#, "sh", "{item}"];
    let app = json!({
        "agents": [{"id": "clerk", "brain": brain}],
        "tools": {
            "registry": [{"type": "file", "path": "tools.yaml", "engine": "shop"}],
            "engines": {"shop": {"type": "command", "argv": argv}},
            "capabilities": {"default_policy": "grant"},
        },
        "runtime": runtime,
    });
    TestDir::with_app(&app.to_string())
        .with_file("tools.yaml", TOOLS)
        .with_file("ran.txt", "")
        .with_variable(variable, KEY)
}

/// Returns the provider whose API has a format, and the variable with its key.
pub(crate) fn provider(format: ModelFormat) -> (&'static str, &'static str) {
    match format {
        ModelFormat::Messages => ("anthropic", "ANTHROPIC_API_KEY"),
        ModelFormat::Responses => ("openai_responses", "OPENAI_API_KEY"),
        ModelFormat::GenerateContent => ("gemini", "GEMINI_API_KEY"),
        _ => ("openai", "OPENAI_API_KEY"),
    }
}

/// Returns the answers of a fault, if a server of this format can give them.
fn script(fault: &Value, format: ModelFormat) -> Option<FaultScript> {
    let name = &fault["name"];
    let script = json!({"answers": fault["answers"], "repeats": fault["repeats"] == true});
    let script = FaultScript::from_value(script).unwrap_or_else(|error| panic!("{name}: {error:#}"));
    let can_have = match fault["only"].as_array() {
        Some(only) => only.contains(&format.as_str().into()),
        None => format == ModelFormat::ChatCompletions || script.is_portable(),
    };
    can_have.then_some(script)
}

/// Runs one fault, and returns what a person would read of it.
async fn tried(mut fault: Value, format: ModelFormat) -> Option<String> {
    for (key, value) in fault["in"][format.as_str()].as_object().cloned().into_iter().flatten() {
        fault[key.as_str()] = value;
    }
    let fault = &fault;
    let script = script(fault, format)?;
    let name = fault["name"].as_str().unwrap();
    let server = FaultyModel::start(script, 0).await.unwrap();
    let dir = dir(fault, format, &server.base_url());
    let run_output = dir.run(["run", "app.yaml", "Price?", "--json"]).await;

    let requests = server.requests();
    // Calls of a tool of low risk run side by side.
    let mut calls: Vec<String> = dir.read("ran.txt").lines().map(ToOwned::to_owned).collect();
    calls.sort_unstable();
    let mut expected: Vec<&str> =
        fault["ran"].as_array().into_iter().flatten().map(|item| item.as_str().unwrap()).collect();
    expected.sort_unstable();
    assert_eq!(run_output.code.map(Value::from).as_ref(), Some(&fault["exit"]), "{name}: {run_output:#?}");
    assert_eq!(
        Some(requests.len()),
        fault["requests"].as_u64().and_then(|count| count.try_into().ok()),
        "{name}: {run_output:#?}"
    );
    assert_eq!(calls, expected, "{name}: {run_output:#?}");
    assert_eq!(server.problems(), Vec::<String>::new(), "{name}: {run_output:#?}");
    let is_keyed = |request: &ModelRequest| request.authorization.trim_start_matches("Bearer ") == KEY;
    assert!(requests.iter().all(is_keyed), "{name}");
    assert!(
        !run_output.report().contains(KEY) && !run_output.stderr.contains("panicked"),
        "{name}: {run_output:#?}"
    );

    let report = run_output.json();
    let mut told =
        format!("# {name}\nexit {}: {}", run_output.code.unwrap(), report["outcome"].as_str().unwrap());
    if let Some(limit) = report["limit"].as_str() {
        write!(told, ", {limit}").unwrap();
    }
    if let Some(error) = report["error"].as_str() {
        // What a model says on two attempts is not a matter of its server.
        let is_empty = error.contains("neither text nor a call");
        assert!(is_empty || error.contains(&server.base_url()), "{name}: {error}");
        assert!(error.contains("; "), "{name}: it is not said what to do: {error}");
        write!(told, "\n{error}").unwrap();
    }
    if !report["output"].is_null() {
        write!(told, "\ngave {}", report["output"]).unwrap();
    }
    if let Some(problem) = report["problem"].as_str() {
        write!(told, "\n{problem}").unwrap();
    }
    let text = format!("{:?}", report["text"].as_str().unwrap_or_default());
    let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    let failed = report["calls"].as_array().unwrap().iter().filter(|call| call["ok"] == false).count();
    let told = format!("{told}\nsaid {shown}\nran {calls:?}, {failed} calls failed\n\n");
    let port = server.base_url().rsplit_once(':').map(|(_, port)| port.trim_end_matches("/v1").to_owned());
    Some(told.replace(&format!(":{}/", port.unwrap()), ":[port]/"))
}

/// Runs all faults of a file in a format, and returns what a person would read of each.
async fn told(file: &str, format: ModelFormat) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/faults").join(file);
    let document = parse(&fs::read(path).unwrap(), Format::Yaml, &Limits::default()).unwrap();
    let faults = document.value.as_array().unwrap().clone();
    assert!(!faults.is_empty());
    let told = faults.into_iter().map(|fault| tried(fault, format));
    let told = futures::stream::iter(told).buffered(SIDE_BY_SIDE);
    told.filter_map(std::future::ready).collect::<Vec<_>>().await.concat()
}

macro_rules! faults {
    ($($test:ident: $file:literal;)*) => {
        $(#[tokio::test]
        async fn $test() {
            let told = told($file, ModelFormat::ChatCompletions).await;
            snapshot!(TestDir::new(), told);
        })*

        faults!(messages: ModelFormat::Messages; $($test: $file;)*);
        faults!(responses: ModelFormat::Responses; $($test: $file;)*);
        faults!(generate_content: ModelFormat::GenerateContent; $($test: $file;)*);
    };
    ($name:ident: $format:expr; $($test:ident: $file:literal;)*) => {
        mod $name {
            use super::*;

            $(#[tokio::test]
            async fn $test() {
                let told = told($file, $format).await;
                let mut settings = TestDir::new().snapshot_settings();
                settings.set_snapshot_suffix(stringify!($name));
                settings.bind(|| insta::assert_snapshot!(told));
            })*
        }
    };
}

faults! {
    silence_is_waited_for_only_so_long: "silence.yaml";
    what_breaks_off_is_not_taken_for_a_whole: "cuts.yaml";
    calls_in_every_form_have_one_result_each: "calls.yaml";
    answers_in_unknown_forms_are_understood_or_explained: "shapes.yaml";
    refusals_are_tried_again_or_explained: "refusals.yaml";
    floods_end_within_bounds: "floods.yaml";
    answers_are_continued_and_have_the_form_that_was_asked_for_or_are_told_apart: "outputs.yaml";
}

/// The formats that have faults of their own; Chat Completions has its own among the others.
const NATIVE: [ModelFormat; 3] =
    [ModelFormat::Messages, ModelFormat::Responses, ModelFormat::GenerateContent];

#[tokio::test]
async fn faults_of_one_format_are_understood_or_explained() {
    let mut whole = String::new();
    for format in NATIVE {
        write!(whole, "## {}\n\n{}", format.as_str(), told("native.yaml", format).await).unwrap();
    }
    snapshot!(TestDir::new(), whole);
}
