//! Modules: what an app file may say of them, and how a crate adds one.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::{RunOutput, TestDir, binary, repository};

/// How long the file may be that makes the tool of the example.
const MAX_EXAMPLE_LINES: usize = 40;

/// Runs the program of `examples/reports`, which is built beside the binary.
async fn reports(dir: &TestDir, arguments: &[&str]) -> RunOutput {
    let program = binary().with_file_name(format!("reports{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "{} is not there: cargo build -p reports", program.display());
    dir.finish(dir.command(program, &dir.path("")).args(arguments).spawn().unwrap()).await
}

fn reports_app(policy: &str) -> TestDir {
    let config = "{reports: [{id: 7, title: May, status: final}]}";
    TestDir::with_app(&format!(
        "modules: {{reports: {{config: {config}}}, hello: {{}}}}\ntools: {{capabilities: {policy}}}\n"
    ))
}

const GET: [&str; 4] = ["call", "app.yaml", "reports.get-report", r#"{"report_id": 7}"#];

#[test]
fn the_example_of_a_module_is_one_file_of_at_most_forty_lines() {
    let folder = repository().join("examples/reports");
    let text = fs::read_to_string(folder.join("src/main.rs")).unwrap();
    let lines = text.lines().count();
    assert!(lines <= MAX_EXAMPLE_LINES, "src/main.rs has {lines} lines");
    let sources = fs::read_dir(folder.join("src")).unwrap().count();
    assert_eq!(sources, 1, "it is the only source file");
}

#[tokio::test]
async fn the_tool_of_another_crate_is_called_and_gives_its_payload() {
    let dir = reports_app("{default_policy: grant}");
    let found = reports(&dir, &[&GET[..], &["--json"]].concat()).await.expect(0).json();
    let report = json!({"id": 7, "title": "May", "status": "final"});
    assert_eq!(found["result"], json!({"status": "ok", "report": report}));
    let missing = reports(&dir, &["call", "app.yaml", "get-report", r#"{"report_id": 8}"#]).await.expect(0);
    assert_eq!(missing.json(), json!({"status": "error", "error": "not_found"}));
    reports(&dir, &["call", "app.yaml", "reports.get-report", "{}"]).await.expect(2);
    let builtin = reports(&dir, &["call", "app.yaml", "hello.say_hello", r#"{"name": "Ada"}"#]).await;
    assert_eq!(builtin.expect(0).stdout.trim(), "Hello, Ada!");
}

#[tokio::test]
async fn the_tool_of_another_crate_is_found_listed_and_shown() {
    let dir = reports_app("{default_policy: grant}");
    for query in ["load a report", "lire un rapport"] {
        let found = reports(&dir, &["search", "app.yaml", query, "--json"]).await.expect(0).json();
        assert_eq!(found["results"][0]["name"], "reports.get-report", "{query}: {found}");
    }
    let tools = reports(&dir, &["tools", "app.yaml", "--json"]).await.expect(0).json();
    let tools: Vec<&Value> = tools["tools"].as_array().unwrap().iter().collect();
    let tool = tools.iter().find(|tool| tool["qualified_name"] == "reports::get-report").unwrap();
    assert_eq!(
        (&tool["risk"], &tool["policy"], &tool["source"]),
        (&json!("low"), &json!("grant"), &json!("module reports"))
    );
    let shown = reports(&dir, &["show", "app.yaml", "reports.get-report"]).await.expect(0);
    dir.snapshot_settings().bind(|| insta::assert_snapshot!("show_reports", shown.report()));
}

#[tokio::test]
async fn the_tool_of_another_crate_is_gated() {
    for (policy, exit) in [
        ("{default_policy: approve}", 4),
        ("{default_policy: grant, deny: [{module: reports, actions: [get-report]}]}", 3),
        ("{default_policy: approve, grant: [{module: reports, actions: [get-report]}]}", 0),
    ] {
        reports(&reports_app(policy), &GET).await.expect(exit);
    }
    reports(&reports_app("{default_policy: approve}"), &[&GET[..], &["--yes"]].concat()).await.expect(0);
    let misspelt = reports_app("{deny: [{module: reports, actions: [get-raport]}]}");
    let said = reports(&misspelt, &["validate", "app.yaml"]).await.expect(2).stderr;
    assert!(said.contains("did you mean `get-report`?"), "{said}");
}

#[tokio::test]
async fn the_module_of_another_crate_is_documented() {
    let dir = TestDir::new();
    let schema = reports(&dir, &["schema", "reports"]).await.expect(0);
    dir.snapshot_settings().bind(|| insta::assert_snapshot!("schema_reports", schema.report()));
    let wrong = reports(&dir, &["schema", "raports"]).await.expect(2).stderr;
    assert!(wrong.contains("unknown module `raports`, did you mean `reports`?"), "{wrong}");
    dir.run(["schema", "reports"]).await.expect(2);
}

#[tokio::test]
async fn schema_tells_what_an_app_file_takes_with_the_modules_of_the_program() {
    let dir = TestDir::new();
    let listed = dir.run(["schema"]).await.expect(0).stdout;
    assert!(listed.starts_with("app: the app file itself\n"), "{listed}");
    for schema in [dir.run(["schema", "app"]).await, dir.run(["schema", "app", "--json"]).await] {
        let schema = schema.expect(0).json();
        let modules = &schema["properties"]["modules"];
        assert_eq!(modules["additionalProperties"], false);
        assert!(modules["properties"]["hello"].is_object() && modules["properties"].get("reports").is_none());
    }
    let schema = reports(&dir, &["schema", "app", "--json"]).await.expect(0).json();
    assert!(schema["properties"]["modules"]["properties"]["reports"].is_object());
}

#[tokio::test]
async fn schema_tells_what_a_module_takes_and_what_its_actions_do() {
    let dir = TestDir::new();
    let schema = dir.run(["schema", "hello", "--json"]).await.expect(0).json();
    let keys: Vec<&String> = schema.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["module", "title", "description", "config", "actions"]);
    assert_eq!(schema["config"]["additionalProperties"], false);
    let actions: Vec<&Value> =
        schema["actions"].as_array().unwrap().iter().map(|action| &action["name"]).collect();
    assert_eq!(actions, ["hello.say_hello", "hello.greet_many", "hello.status"]);
    assert_eq!(schema["actions"][0]["parameters"]["required"], json!(["name"]));
}

#[tokio::test]
async fn a_mistake_in_what_an_app_says_of_a_module_is_said_at_its_place() {
    let dir = TestDir::with_app(
        "modules:
  hello:
    config: {loud: true}
    setup:
      - {action: say_helo}
      - {action: say_hello, params: {nam: Ada}}
  helo: {}
",
    );
    let said = dir.run(["validate", "app.yaml"]).await.expect(2);
    dir.snapshot_settings().bind(|| insta::assert_snapshot!("validate_modules", said.report()));
    let errors = dir.run(["validate", "app.yaml", "--json"]).await.expect(2).json();
    assert_eq!((&errors["errors"][0]["line"], &errors["errors"][0]["column"]), (&json!(3), &json!(14)));
}

#[tokio::test]
async fn setup_runs_for_a_call_and_is_recorded_and_does_not_run_for_a_look() {
    let dir = TestDir::with_app(
        "modules:
  filesystem:
    setup: [{action: write, params: {path: made.txt, content: '{{env.WORD}} {{workspace}}'}}]
    constraints: {allowed_actions: [read]}
tools: {capabilities: {default_policy: grant}}
audit: {path: audit.jsonl}
",
    )
    .with_variable("WORD", "hello");
    dir.run(["tools", "app.yaml"]).await.expect(0);
    assert!(!dir.path("made.txt").exists(), "a look sets nothing up");
    let read = dir.run(["call", "app.yaml", "filesystem.read", r#"{"path": "made.txt"}"#]).await.expect(0);
    let folder = dir.path("");
    assert!(
        read.stdout.contains(&format!("hello {}", folder.display().to_string().trim_end_matches('/'))),
        "{read:?}"
    );
    let first: Value = serde_json::from_str(dir.read("audit.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["tool"], &first["rule"]),
        (&json!("filesystem::write"), &json!("modules.filesystem.setup[0]"))
    );
    dir.run(["call", "app.yaml", "filesystem.write", r#"{"path": "x", "content": "y"}"#]).await.expect(3);
}

#[tokio::test]
async fn a_secret_of_setup_is_in_no_output_and_no_record() {
    let dir = TestDir::with_app(
        "modules:
  filesystem: {setup: [{action: write, params: {path: '{{secret.CODE}}/made.txt', content: x}}]}
tools: {capabilities: {default_policy: grant}}
audit: {path: audit.jsonl, values: true}
",
    )
    .with_variable("CODE", "canary-9f31");
    let run_output = dir.run(["call", "app.yaml", "filesystem.ls", "{}", "--json"]).await;
    let said = format!("{}{}{}", run_output.stdout, run_output.stderr, dir.read("audit.jsonl"));
    assert!(said.contains("[secret CODE]") && !said.contains("canary-9f31"), "{said}");
}

#[tokio::test]
async fn a_new_module_is_a_crate_that_builds_and_whose_tests_pass() {
    let dir = TestDir::new();
    let repository = repository();
    let sources = repository.to_str().unwrap();
    let made = dir.run(["new", "module", "tea-time", "--toolcrib", sources, "--json"]).await.expect(0).json();
    assert_eq!(made, json!({"module": "tea-time", "files": ["tea-time/Cargo.toml", "tea-time/src/lib.rs"]}));
    // The versions that are here already: nothing is fetched.
    fs::copy(repository.join("Cargo.lock"), dir.path("tea-time/Cargo.lock")).unwrap();
    let target = binary().parent().and_then(Path::parent).unwrap().to_owned();
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--offline", "--quiet", "--lib"])
        .current_dir(dir.path("tea-time"))
        .env("CARGO_TARGET_DIR", target)
        // As the workspace builds what it depends on, so that most of it is there.
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .output()
        .await
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("test result: ok. 2 passed"), "{said}");
    assert!(!said.contains("warning"), "{said}");
}

#[tokio::test]
async fn a_new_module_that_cannot_be_is_refused_and_nothing_is_written() {
    let dir = TestDir::new().with_file("here/keep", "");
    let repository = repository();
    let sources = repository.to_str().unwrap();
    for (name, toolcrib) in [
        ("Tea", sources),
        ("../tea", sources),
        ("a__b", sources),
        ("serde", sources),
        ("here", sources),
        ("tea", "home"),
    ] {
        let said = dir.run(["new", "module", name, "--toolcrib", toolcrib]).await.expect(2).stderr;
        assert!(said.contains("error: "), "{name}: {said}");
        assert!(name == "here" || !dir.path(name).exists(), "{name}");
    }
    dir.run(["new", "module", "tea", "--toolcrib", "https://git.example/toolcrib"]).await.expect(0);
    let manifest = dir.read("tea/Cargo.toml");
    assert!(manifest.contains(r#"toolcrib-sdk = { git = "https://git.example/toolcrib" }"#), "{manifest}");
}

#[tokio::test]
async fn a_new_module_of_programs_or_tool_file_is_valid_and_its_tool_runs() {
    let dir = TestDir::new();
    for (arguments, tool, given, expected) in [
        (
            &["new", "exec", "texts", "--json"][..],
            "texts.count_words",
            r#"{"text": "a b c"}"#,
            json!({"words": 3}),
        ),
        (
            &["new", "exec", "lines", "--language", "bash", "--json"],
            "lines.count_words",
            r#"{"text": "a $(b) c"}"#,
            json!({"words": 3}),
        ),
        (&["new", "tool-file", "tea-time", "--json"], "tea-time.echo", r#"{"text": "a; b"}"#, json!("a; b")),
    ] {
        let made = dir.run_words(arguments).await.expect(0).json();
        fs::write(dir.path("app.yaml"), made["app"].as_str().unwrap()).unwrap();
        dir.run(["validate", "app.yaml"]).await.expect(0);
        let result = dir.run(["call", "app.yaml", tool, given, "--json"]).await.expect(0).json();
        let result = match &result["result"] {
            Value::String(text) => json!(text.trim_end()),
            other => other.clone(),
        };
        assert_eq!(result, expected, "{tool}");
        let again = dir.run_words(arguments).await.expect(2);
        assert!(again.stderr.contains("exists already; nothing was written"), "{again:?}");
    }
}

#[tokio::test]
async fn a_new_skill_is_one_that_agents_are_told_of() {
    let dir = TestDir::with_app("agents: [{id: clerk, brain: {provider: ollama, model: m}}]\n");
    let made = dir.run(["new", "skill", "triage", "--json"]).await.expect(0).json();
    assert_eq!(made, json!({"skill": "triage", "files": ["skills/triage.md"]}));
    let validated = dir.run(["validate", "app.yaml"]).await.expect(0);
    assert!(!validated.stderr.contains("warning"), "{validated:?}");
    let plan = dir.run(["plan", "app.yaml", "--json"]).await.expect(0).stdout;
    assert!(plan.contains("/triage"), "{plan}");
    for name in ["../x", "Tea", "a__b", "context_builder"] {
        dir.run(["new", "skill", name]).await.expect(2);
    }
}
