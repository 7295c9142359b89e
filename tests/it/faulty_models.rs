//! Models whose servers do wrong: each fault of `faults/*.yaml` against the real binary, with the outcome that stands there.
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
use toolcrib_testkit::{FaultScript, FaultyModel};

use crate::support::Lab;

/// How many runs go on side by side.
const SIDE_BY_SIDE: usize = 4;

/// The key that is sent.
const KEY: &str = "sk-test-4711";

/// The longest answer that a snapshot shows, in characters.
const MAX_SHOWN_CHARS: usize = 200;

const TOOLS: &str = "
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
fn lab(fault: &Value, base_url: &str) -> Lab {
    let mut brain = json!({"provider": "openai", "model": "test-model", "base_url": base_url});
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
    Lab::with_app(&app.to_string())
        .with_file("tools.yaml", TOOLS)
        .with_file("ran.txt", "")
        .with_variable("OPENAI_API_KEY", KEY)
}

/// Runs one fault, and returns what a person would read of it.
async fn tried(fault: &Value) -> String {
    let name = fault["name"].as_str().unwrap();
    let script = json!({"answers": fault["answers"], "repeats": fault["repeats"] == true});
    let script = FaultScript::from_value(script).unwrap_or_else(|error| panic!("{name}: {error:#}"));
    let server = FaultyModel::start(script, 0).await.unwrap();
    let lab = lab(fault, &server.base_url());
    let ran = lab.run(["run", "app.yaml", "Price?", "--json"]).await;

    let requests = server.requests();
    // Calls of a tool of low risk run side by side.
    let mut calls: Vec<String> = lab.read("ran.txt").lines().map(ToOwned::to_owned).collect();
    calls.sort_unstable();
    let mut expected: Vec<&str> =
        fault["ran"].as_array().into_iter().flatten().map(|item| item.as_str().unwrap()).collect();
    expected.sort_unstable();
    assert_eq!(ran.code.map(Value::from).as_ref(), Some(&fault["exit"]), "{name}: {ran:#?}");
    assert_eq!(
        Some(requests.len()),
        fault["requests"].as_u64().and_then(|count| count.try_into().ok()),
        "{name}: {ran:#?}"
    );
    assert_eq!(calls, expected, "{name}: {ran:#?}");
    assert_eq!(server.problems(), Vec::<String>::new(), "{name}: {ran:#?}");
    assert!(requests.iter().all(|request| request.authorization == format!("Bearer {KEY}")), "{name}");
    assert!(!ran.report().contains(KEY) && !ran.stderr.contains("panicked"), "{name}: {ran:#?}");

    let report = ran.json();
    let mut told = format!("# {name}\nexit {}: {}", ran.code.unwrap(), report["outcome"].as_str().unwrap());
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
    let text = format!("{:?}", report["text"].as_str().unwrap_or_default());
    let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    let failed = report["calls"].as_array().unwrap().iter().filter(|call| call["ok"] == false).count();
    let told = format!("{told}\nsaid {shown}\nran {calls:?}, {failed} calls failed\n\n");
    let port = server.base_url().rsplit_once(':').map(|(_, port)| port.trim_end_matches("/v1").to_owned());
    told.replace(&format!(":{}/", port.unwrap()), ":[port]/")
}

/// Runs all faults of a file, and returns what a person would read of each.
async fn told(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/faults").join(file);
    let document = parse(&fs::read(path).unwrap(), Format::Yaml, &Limits::default()).unwrap();
    let faults = document.value.as_array().unwrap();
    assert!(!faults.is_empty());
    let told = futures::stream::iter(faults.iter().map(tried)).buffered(SIDE_BY_SIDE);
    told.collect::<Vec<_>>().await.concat()
}

macro_rules! faults {
    ($($test:ident: $file:literal;)*) => {$(
        #[tokio::test]
        async fn $test() {
            let told = told($file).await;
            snapshot!(Lab::new(), told);
        }
    )*};
}

faults! {
    silence_is_waited_for_only_so_long: "silence.yaml";
    what_breaks_off_is_not_taken_for_a_whole: "cuts.yaml";
    calls_in_every_form_have_one_result_each: "calls.yaml";
    answers_in_unknown_forms_are_understood_or_explained: "shapes.yaml";
    refusals_are_tried_again_or_explained: "refusals.yaml";
    floods_end_within_bounds: "floods.yaml";
}
