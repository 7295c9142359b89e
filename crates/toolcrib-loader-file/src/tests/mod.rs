//! What tool files and their engines promise.

mod keys;
mod names;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, QualifiedName, Tool, ToolError, ToolResult};
use toolcrib_policy::{Call, Capabilities, Effect, Policy, Verdict};
use toolcrib_port::{CallContext, LoadOutcome, RejectKind, ToolEngine, ToolLoader};

use crate::command::{CommandEngine, TemplateError};
use crate::{FileLoader, MockEngine};

async fn load_as(file: &str, text: &str, namespace: Option<&str>) -> LoadOutcome {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file);
    std::fs::write(&path, text).unwrap();
    let mut loader = FileLoader::new(&path);
    if let Some(namespace) = namespace {
        loader = loader.with_namespace(namespace);
    }
    loader.load().await
}

async fn load(text: &str) -> LoadOutcome {
    load_as("tools.yaml", text, None).await
}

fn names(loaded: &LoadOutcome) -> Vec<String> {
    assert!(loaded.rejected.is_empty(), "{:?}", loaded.rejected);
    loaded.tools.iter().map(|tool| tool.name.to_string()).collect()
}

#[tokio::test]
async fn every_shape_is_read() {
    for (text, expected) in [
        (
            "weather: [{name: get}, {name: set}]\nhr: [{name: get}]",
            vec!["weather::get", "weather::set", "hr::get"],
        ),
        ("[{name: get}, {name: set, namespace: x}]", vec!["default::get", "x::set"]),
        ("get: {name: get}\nset: {description: named by its key}", vec!["default::get", "default::set"]),
        ("namespace: w\ntools: [{name: get}]", vec!["w::get"]),
        ("namespace: w\nget: {description: d}", vec!["w::get"]),
        ("{name: get, description: a single tool}", vec!["default::get"]),
        ("[{type: function, function: {name: get, parameters: {type: object}}}]", vec!["default::get"]),
        ("[{name: a::get}]", vec!["a::get"]),
    ] {
        assert_eq!(names(&load(text).await), expected, "{text}");
    }
}

#[tokio::test]
async fn the_namespace_of_the_tool_beats_the_argument_beats_the_file() {
    let text = "weather: [{name: a}, {name: b, namespace: own}]";
    assert_eq!(names(&load_as("t.yaml", text, Some("argument")).await), ["argument::a", "own::b"]);
}

#[tokio::test]
async fn schemas_are_found_under_each_of_their_names() {
    for key in ["parameters", "input_schema", "inputSchema"] {
        let text = format!("[{{\"name\": \"get\", \"{key}\": {{\"type\": \"object\"}}}}]");
        assert_eq!(load_as("t.json", &text, None).await.tools[0].parameters, json!({"type": "object"}));
    }
    assert_eq!(load("[{name: get}]").await.tools[0].parameters, json!({}));
}

#[tokio::test]
async fn what_stands_beside_the_name_is_metadata_but_not_what_is_the_runtimes() {
    let loaded =
        load("[{name: get, risk: high, tags: [a], operational: true, metadata: {forwards: true, x: 1}}]")
            .await;
    assert_eq!(
        Value::from(loaded.tools[0].metadata().clone()),
        json!({"x": 1, "risk": "high", "tags": ["a"]})
    );
}

#[tokio::test]
async fn json_lines_are_a_list() {
    let text = "{\"name\": \"a\"}\n{\"name\": \"b\"}\n";
    assert_eq!(names(&load_as("t.jsonl", text, None).await), ["default::a", "default::b"]);
}

#[tokio::test]
async fn a_broken_tool_is_rejected_at_its_place_and_its_siblings_load() {
    let loaded =
        load("- {name: one}\n- {description: nameless}\n- {name: three, parameters: 5}\n- {name: four}\n")
            .await;
    assert_eq!(loaded.tools.len(), 2);
    let reasons: Vec<_> =
        loaded.rejected.iter().map(|reject| reject.reason.split("tools.yaml:").nth(1).unwrap()).collect();
    assert_eq!(
        reasons,
        ["2:3: the tool has no `name`", "3:3: `parameters` should be a JSON Schema, which is a mapping"]
    );
    let names: Vec<_> = loaded.rejected.iter().map(|reject| reject.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["/1", "three"], "one without a name is called by its place");
}

#[tokio::test]
async fn very_many_broken_tools_are_counted_rather_than_listed() {
    let loaded = load(&"- {description: nameless}\n".repeat(20_000)).await;
    assert_eq!(loaded.rejected.len(), 101);
    assert!(loaded.rejected[99].reason.contains("tools.yaml:100:3: "), "{}", loaded.rejected[99].reason);
    assert!(loaded.rejected[100].reason.ends_with("and 19900 more tools are broken"));
    assert_eq!(loaded.rejected[100].name.as_deref(), Some("/100"), "the file as a whole did load");
}

#[tokio::test]
async fn a_file_that_is_no_tool_file_says_so_with_its_place() {
    for (text, kind, message) in [
        ("a: [1, 2", RejectKind::Syntax, "not valid YAML"),
        ("", RejectKind::InvalidTool, "there is nothing here; it should be a list of tools"),
        ("just text", RejectKind::InvalidTool, "this should be a list of tools"),
        ("a: 5", RejectKind::InvalidTool, "`a` should hold a list of tools, or one tool"),
    ] {
        let reject = load(text).await.rejected.remove(0);
        assert_eq!(reject.kind, kind, "{text}");
        assert!(reject.reason.contains(message), "{}", reject.reason);
    }
    let absent = FileLoader::new("no/such/file.yaml").load().await.rejected.remove(0);
    assert_eq!(absent.kind, RejectKind::Unreadable);
}

fn command(settings: Value) -> CommandEngine {
    CommandEngine::new(serde_json::from_value(settings).unwrap()).unwrap()
}

async fn invoke(engine: &dyn ToolEngine, arguments: Value) -> ToolResult {
    let tool = Tool::new(QualifiedName::new("w", "get").unwrap());
    let mut call = Call::new(Arc::new(tool), "file".into(), 1);
    call.arguments = arguments.as_object().unwrap().clone();
    let policy =
        Policy::new(&Capabilities { default_policy: Effect::Grant, ..Capabilities::default() }, []).unwrap();
    let Verdict::Granted(call) = policy.authorize(call, "s") else { panic!("not granted") };
    engine.invoke(&call, &CallContext::new("s")).await
}

async fn failure(engine: &dyn ToolEngine, arguments: Value) -> ToolError {
    invoke(engine, arguments).await.error.unwrap()
}

#[tokio::test]
async fn a_command_gets_its_arguments_as_words_and_never_through_a_shell() {
    let engine =
        command(json!({"argv": ["printf", "%s|", "{@tool}", "{a}", "--n={n}", "{absent}", "{@arguments}"]}));
    let result = invoke(&engine, json!({"a": "$(id); `id` 'x'", "n": 5})).await;
    assert_eq!(result.result, "get|$(id); `id` 'x'|--n=5|{\"a\":\"$(id); `id` 'x'\",\"n\":5}|");
}

#[tokio::test]
async fn a_value_cannot_become_an_option() {
    let engine = command(json!({"argv": ["echo", "{a}"]}));
    let error = failure(&engine, json!({"a": "-n"})).await;
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    assert_eq!(
        error.message,
        "`a` makes a word that starts with `-`, which the command could read as an option; it can be passed once the \
         template has a `--` before it"
    );
    assert_eq!(failure(&engine, json!({"a": -5})).await.kind, ErrorKind::InvalidArgs);
    let composed = command(json!({"argv": ["echo", "{a}{b}", "{a}-n"]}));
    assert_eq!(failure(&composed, json!({"a": "", "b": "-n"})).await.kind, ErrorKind::InvalidArgs);
    assert_eq!(failure(&composed, json!({"a": "", "b": "x"})).await.kind, ErrorKind::InvalidArgs);
    assert_eq!(invoke(&composed, json!({"a": "x", "b": "-n"})).await.result, "x-n x-n");
    let valued = command(json!({"argv": ["printf", "%s", "n={a}"]}));
    assert_eq!(invoke(&valued, json!({"a": -5})).await.result, "n=-5");
    let guarded = command(json!({"argv": ["printf", "--", "%s", "{a}"]}));
    assert_eq!(invoke(&guarded, json!({"a": "-n"})).await.result, "-n");
    assert_eq!(invoke(&guarded, json!({"a": -5})).await.result, "-5");
    assert!(failure(&engine, json!({"a": "x\u{0}y"})).await.message.contains("NUL"));
}

#[tokio::test]
async fn json_output_is_a_value_and_a_failure_shows_the_error_output() {
    let engine = command(json!({"argv": ["echo", "{text}"], "output": "json"}));
    assert_eq!(invoke(&engine, json!({"text": "{\"a\": [1]}"})).await.result, json!({"a": [1]}));
    assert!(failure(&engine, json!({"text": "oops"})).await.message.contains("should print JSON"));

    let engine = command(json!({"argv": ["sh", "-c", "echo broken >&2; exit 3"]}));
    let error = failure(&engine, json!({})).await;
    assert_eq!(error.message, "`sh` ended with exit status: 3: broken");
    let engine = command(json!({"argv": ["no-such-program-here"]}));
    assert!(failure(&engine, json!({})).await.message.contains("no-such-program-here"));
}

#[tokio::test]
async fn single_tools_have_commands_of_their_own() {
    let engine = command(json!({"tools": {"get": ["echo", "own"]}}));
    assert_eq!(invoke(&engine, json!({})).await.result, "own");
    let engine = command(json!({"tools": {"other": ["echo"]}}));
    assert_eq!(
        failure(&engine, json!({})).await.message,
        "the engine has no command for `get`; set `argv`, or `tools.get`, of the engine"
    );
}

#[tokio::test]
async fn a_group_falls_away_as_a_whole() {
    let engine = command(json!({"argv": ["echo", ["-e", "{pattern}"], ["--", "{a}"], "{file}"]}));
    assert_eq!(
        invoke(&engine, json!({"pattern": "p", "a": "x", "file": "f"})).await.result,
        // `echo` takes its own `-e`.
        "p -- x f"
    );
    assert_eq!(invoke(&engine, json!({"file": "f"})).await.result, "f");
    let error = failure(&engine, json!({"file": "-f"})).await;
    assert_eq!(error.kind, ErrorKind::InvalidArgs, "the `--` fell away with its group");
}

#[test]
fn the_program_is_not_up_to_the_model() {
    let refusal =
        |argv: Value| CommandEngine::new(serde_json::from_value(json!({"argv": argv})).unwrap()).unwrap_err();
    assert_eq!(refusal(json!(["{a}", "b"])), TemplateError::Program { word: "{a}".into() });
    assert_eq!(refusal(json!(["./{@tool}.sh"])), TemplateError::Program { word: "./{@tool}.sh".into() });
    for script in [
        json!(["sh", "-c", "wc -l {file}"]),
        json!(["/bin/bash", "-ec", "{a-b} | sort"]),
        json!(["busybox", "sh", "-c", "x{@arguments}"]),
    ] {
        assert!(matches!(refusal(script.clone()), TemplateError::Script { .. }), "{script}");
    }
    assert_eq!(refusal(json!([["sh", "{a}"]])), TemplateError::ProgramGroup);
}

#[tokio::test]
async fn a_program_that_access_does_not_name_is_not_started() {
    let only = |program: &str| {
        let rules = serde_json::from_value(json!({"system": [program]})).unwrap();
        toolcrib_policy::Access::new(&rules).unwrap()
    };
    let settings = json!({"argv": ["echo", "hello"], "tools": {"other": ["git", "log"]}});
    let engine = command(settings.clone()).with_access(only("echo"));
    assert_eq!(engine.programs().collect::<Vec<_>>(), ["echo", "git"]);
    assert_eq!(invoke(&engine, json!({})).await.result, "hello");
    let error = failure(&command(settings).with_access(only("git")), json!({})).await;
    assert_eq!(error.kind, ErrorKind::Denied);
    assert_eq!(
        error.message,
        "may not start `echo`: the configuration does not allow it under `access.system`"
    );
}

#[tokio::test]
async fn the_environment_reaches_the_program_and_no_debug_text() {
    let engine = command(json!({"argv": ["sh", "-c", "echo $KEY"], "env": {"KEY": "hunter2"}}));
    assert_eq!(invoke(&engine, json!({})).await.result, "hunter2");
    assert!(!format!("{engine:?}").contains("hunter2"));
}

#[test]
fn an_unclosed_place_is_refused_when_the_app_starts() {
    let error =
        CommandEngine::new(serde_json::from_value(json!({"argv": ["a", "{b"]})).unwrap()).unwrap_err();
    assert_eq!(error, TemplateError::Unclosed { word: "{b".into() });
}

#[tokio::test]
async fn a_mock_answers_what_it_was_told_and_nothing_else() {
    let engine = |settings| MockEngine::new(serde_json::from_value(settings).unwrap());
    assert_eq!(
        invoke(&engine(json!({"results": {"get": {"t": 21}}})), json!({})).await.result,
        json!({"t": 21})
    );
    assert_eq!(invoke(&engine(json!({"default": "x"})), json!({})).await.result, "x");
    let error = failure(&engine(json!({"results": {"other": 1}})), json!({})).await;
    assert_eq!(error.message, "the mock engine has no result for `get`");
}

/// The ten files were loaded by the original system, which wrote down names and digests.
#[tokio::test]
async fn files_of_the_original_system_load_with_the_same_names_and_fingerprints() {
    let Some(shared) = std::env::var_os("TOOLCRIB_SHARED") else { return };
    let folder = Path::new(&shared).join("data/compat");
    let expected: Value =
        serde_json::from_slice(&std::fs::read(folder.join("fms_test_data.json")).unwrap()).unwrap();
    let mut count = 0;
    for file in expected.as_array().unwrap() {
        let path = Path::new(file["file"].as_str().unwrap());
        let loaded = FileLoader::new(folder.join("fms_files").join(path.file_name().unwrap())).load().await;
        assert!(loaded.rejected.is_empty(), "{path:?}: {:?}", loaded.rejected);
        let found: Vec<_> = loaded
            .tools
            .iter()
            .map(|tool| json!({"qualified_name": tool.name, "fingerprint": tool.fingerprint()}))
            .collect();
        let wanted: Vec<_> = file["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| json!({"qualified_name": tool["qualified_name"], "fingerprint": tool["fingerprint"]}))
            .collect();
        assert_eq!(found, wanted, "{path:?}");
        count += found.len();
    }
    assert_eq!(count, 25);
}

/// Edge cases whose canonical form and digest the original system wrote down.
#[tokio::test]
async fn fingerprints_agree_with_the_original_system_on_edge_cases() {
    let Some(shared) = std::env::var_os("TOOLCRIB_SHARED") else { return };
    let text = std::fs::read(Path::new(&shared).join("data/compat/fingerprint_edge.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_slice(&text).unwrap();
    assert_eq!(cases.len(), 20);
    for case in cases {
        for (prefix, suffix) in [
            ("[{\"name\": \"t\", \"parameters\": ", "}]"),
            ("[{\"type\": \"function\", \"function\": {\"name\": \"t\", \"parameters\": ", "}}]"),
        ] {
            let text = format!("{prefix}{}{suffix}", case["schema_json"].as_str().unwrap());
            // YAML has no surrogate pairs among its escapes, so those texts are JSON only.
            let files = if text.contains("\\ud8") { &["t.json"][..] } else { &["t.json", "t.yaml"] };
            for file in files {
                let loaded = load_as(file, &text, None).await;
                assert!(loaded.rejected.is_empty(), "{file}: {:?}", loaded.rejected);
                assert_eq!(loaded.tools[0].fingerprint().to_string(), case["sha256"], "{file}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn braces_that_are_no_place_belong_to_the_program() {
    let argv = ["printf", "%s|", "{name: .n}", "${x}y", "{}", "{1}", "{{a}}", "{a}{ b", "a{"];
    let engine = command(json!({"argv": argv}));
    let printed = invoke(&engine, json!({"a": "A"})).await.result;
    assert_eq!(printed, "{name: .n}|{}|{1}|{a}|A{ b|a{|", "a word whose argument is absent falls away");
}

#[tokio::test]
async fn an_argument_is_never_read_as_a_script() {
    let engine = command(json!({"argv": ["sh", "-c", "echo \"{x: $1}\"", "sh", "{a}"]}));
    let printed = invoke(&engine, json!({"a": "$(id); id"})).await.result;
    assert_eq!(printed, "{x: $(id); id}");
}
