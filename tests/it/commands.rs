//! What every command prints for machines, and that a fresh app runs as it is.

use serde_json::{Value, json};
use toolcrib_testkit::PetStore;

use crate::support::{TestDir, error_texts, mcp_script};

const APP: &str = "
app: {id: greeter}
agents:
  - {id: a, brain: {provider: recorded, recording: turns.yaml}, system_prompt: Be kind.}
modules: {hello: {constraints: {blocked_actions: [greet_many]}}}
tools: {capabilities: {default_policy: approve, grant: [{module: hello, actions: [say_hello]}]}}
";

fn dir() -> TestDir {
    TestDir::with_app(APP).with_file("turns.yaml", "turns: [{text: Hello.}]\n")
}

/// The keys of an object, in order.
#[track_caller]
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_fresh_app_is_valid_and_runs_without_a_key() {
    let dir = TestDir::new();
    let init = dir.run(["init", "fresh", "--json"]).await.expect(0);
    assert!(init.json().is_object());
    dir.run(["validate", "fresh/app.yaml"]).await.expect(0);
    let report = dir.run(["run", "fresh/app.yaml", "--json"]).await.expect(0).json();
    assert_eq!(report["outcome"], "completed");
    assert!(!report["calls"].as_array().unwrap().is_empty(), "it shows a tool at work: {report}");

    let before = dir.read("fresh/app.yaml");
    dir.run(["init", "fresh"]).await.expect(2);
    assert_eq!(dir.read("fresh/app.yaml"), before, "an app that is there is not overwritten");
}

#[tokio::test]
async fn tools_and_load_have_one_form() {
    let dir = dir().with_file("tools.yaml", "shop: [{name: price}, {}]\n");
    let tools = dir.run(["tools", "app.yaml", "--json"]).await.expect(0).json();
    let loaded = dir.run(["load", "--file", "tools.yaml", "--json"]).await.expect(0).json();
    for document in [&tools, &loaded] {
        assert_eq!(keys(document), ["generation", "tools", "rejected"]);
        let expected = [
            "qualified_name",
            "namespace",
            "name",
            "description",
            "parameters",
            "output_parameters",
            "fingerprint",
            "source",
            "risk",
            "policy",
            "decision",
            "metadata",
        ];
        assert_eq!(keys(&document["tools"][0]), expected);
        assert_eq!(document["tools"][0]["fingerprint"].as_str().unwrap().len(), 64);
    }
    assert_eq!(keys(&loaded["rejected"][0]), ["source", "name", "kind", "reason"]);
    let shown = |tool: &Value| (tool["qualified_name"].clone(), tool["policy"].clone(), tool["risk"].clone());
    let tools: Vec<_> = tools["tools"].as_array().unwrap().iter().map(shown).collect();
    let say = (json!("hello::say_hello"), json!("grant"), json!("low"));
    let status = (json!("hello::status"), json!("approve"), json!("low"));
    assert!(tools.contains(&say) && tools.contains(&status), "{tools:?}");
}

#[tokio::test]
async fn a_source_of_each_kind_loads_into_the_namespace_that_it_is_given() {
    let store = PetStore::start().await.unwrap();
    let dir =
        TestDir::new().with_file("tools.yaml", "[{name: price}]\n").with_file("server.sh", mcp_script(""));
    for (option, source, name) in [
        ("--file", "tools.yaml", "mine::price"),
        ("--openapi", &*store.document_url(), "mine::updatePet"),
        ("--mcp", "sh server.sh", "mine::ask"),
    ] {
        let loaded =
            dir.run(["load", option, source, "--namespace", "mine", "--json"]).await.expect(0).json();
        assert_eq!(loaded["tools"][0]["qualified_name"], name);
    }
}

#[tokio::test]
async fn a_call_prints_its_result() {
    let dir = dir();
    let call = ["call", "app.yaml", "hello.say_hello", r#"{"name": "Ada"}"#];
    assert_eq!(dir.run(call).await.expect(0).stdout, "Hello, Ada!\n");
    snapshot!(dir, error_texts(&dir, call, 0).await);
}

#[tokio::test]
async fn every_spelling_of_a_name_is_the_same_tool() {
    let dir = dir();
    for name in ["hello.say_hello", "hello::say_hello", "hello__say_hello", "say_hello"] {
        let result =
            dir.run(["call", "app.yaml", name, r#"{"name": "Ada"}"#, "--json"]).await.expect(0).json();
        assert_eq!(result["name"], "hello::say_hello");
    }
}

#[tokio::test]
async fn arguments_may_stand_in_a_file_or_on_standard_input() {
    let dir = dir().with_file("arguments.json", r#"{"name": "Ada"}"#);
    let from_file = dir.run(["call", "app.yaml", "hello.say_hello", "@arguments.json"]).await.expect(0);
    assert_eq!(from_file.stdout, "Hello, Ada!\n");
    let words = ["call", "app.yaml", "hello.say_hello", "-"];
    let from_input = dir.run_with_input(&words, r#"{"name": "Bo"}"#).await.expect(0);
    assert_eq!(from_input.stdout, "Hello, Bo!\n");
}

#[tokio::test]
async fn a_prompt_may_come_from_standard_input_and_has_to_come_from_somewhere() {
    let dir = dir();
    let output = dir.run_with_input(&["run", "app.yaml"], "Hi.\n").await.expect(0);
    assert_eq!(output.stdout, "Hello.\n");
    dir.run_with_input(&["run", "app.yaml"], "").await.expect(2);
}

#[tokio::test]
async fn a_search_says_what_it_found_and_why_or_that_nothing_fits() {
    let dir = dir();
    let found =
        dir.run(["search", "app.yaml", "greet a person", "--explain", "--json"]).await.expect(0).json();
    let form = ["query", "outcome", "reason", "degraded", "engine", "results"];
    assert!(form.iter().all(|key| keys(&found).contains(key)), "{found}");
    assert_eq!(found["outcome"], "ok");
    let first = &found["results"][0];
    let form = ["name", "qualified_name", "score", "description", "risk", "explain"];
    assert!(form.iter().all(|key| keys(first).contains(key)), "{first}");
    assert_eq!(first["name"], "hello.say_hello");
    assert!(!found.to_string().contains("greet_many"), "a blocked action is invisible");

    let nothing = dir.run(["search", "app.yaml", "?!", "--json"]).await.expect(0).json();
    assert_eq!((&nothing["outcome"], &nothing["results"]), (&json!("no_match"), &json!([])));
    assert!(nothing["reason"].is_string());
}

#[tokio::test]
async fn a_plan_holds_the_decision_and_the_prompt() {
    let dir = dir();
    snapshot!(dir, error_texts(&dir, ["plan", "app.yaml"], 0).await);
}

#[tokio::test]
async fn one_tool_is_shown_with_schema_example_and_policy() {
    let dir = dir();
    snapshot!(dir, error_texts(&dir, ["show", "app.yaml", "hello.say_hello"], 0).await);
}

#[tokio::test]
async fn the_doctor_says_what_is_here_and_what_to_do_about_the_rest() {
    let dir = dir();
    assert!(dir.run(["doctor", "--json"]).await.expect(0).json().is_object());
    let app = dir.run(["doctor", "app.yaml", "--json"]).await.expect(0).json();
    assert!(app.is_object());
}

#[tokio::test]
async fn every_command_has_help_with_an_example() {
    let dir = TestDir::new();
    let commands = [
        "init",
        "validate",
        "load",
        "tools",
        "trust",
        "lint",
        "show",
        "search",
        "call",
        "run",
        "plan",
        "login",
        "serve",
        "eval",
        "doctor",
        "models",
        "completions",
        "man",
    ];
    for command in commands {
        let help = dir.run([command, "--help"]).await.expect(0).stdout;
        assert!(help.contains("Example") && help.contains(&format!("toolcrib {command}")), "{help}");
    }
}
