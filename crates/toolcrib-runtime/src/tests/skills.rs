//! What `skills` promises.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_app::Blueprint;
use toolcrib_exec::DenyAll;
use toolcrib_model::{ErrorKind, ToolCall, ToolResult};
use toolcrib_port::CallContext;

use crate::Runtime;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn open(folder: &TempDir) -> Result<Blueprint, toolcrib_app::Error> {
    Blueprint::open(folder.path().join("app.yaml"))
}

async fn start(folder: &TempDir) -> Runtime {
    Runtime::start(open(folder).unwrap(), Arc::new(DenyAll)).await.unwrap()
}

async fn call(runtime: &Runtime, agent: &str, name: &str, arguments: Value) -> ToolResult {
    let call = ToolCall::new(name, arguments.as_object().unwrap().clone());
    runtime.executor().call(call, &CallContext::new("s").with_agent(agent)).await
}

const TRIAGE: &str = "---
description: Sorts what comes in.
triggers: new mail, inbox
allowed-tools: hello.status, hello.gone, triage.sort
---
Sort $ARGUMENTS with `triage.sort`.
";
const REVIEW: &str = "---\ndescription: Reviews.\n---\nReview.\n";

/// Both agents find `hello`, and only the lead may review.
const APP: &str = "
agents:
  - {id: lead, role: coordinator, brain: {provider: ollama}}
  - {id: clerk, brain: {provider: ollama}, capabilities: [/triage]}
  - {id: mute, brain: {provider: ollama}, capabilities: []}
modules: {hello: {}}
tools: {capabilities: {default_policy: approve, grant: [{module: hello}]}}
";

#[tokio::test]
async fn an_agent_is_told_the_skills_that_it_is_left_and_may_load_no_others() {
    let folder =
        folder(&[("app.yaml", APP), ("skills/triage.md", TRIAGE), ("skills/review/SKILL.md", REVIEW)]);
    let runtime = start(&folder).await;
    let section = |agent: &str| {
        let setup = runtime.agent(Some(agent)).unwrap();
        let text = setup.system_prompt.text.split_once("# SKILLS")?.1;
        Some(text.trim().to_owned())
    };
    insta::assert_snapshot!(section("lead").unwrap(), @r"
    - /review: Reviews.
    - /triage: Sorts what comes in. For: new mail, inbox
    ");
    insta::assert_snapshot!(section("clerk").unwrap(), @"- /triage: Sorts what comes in. For: new mail, inbox");
    assert_eq!(section("mute"), None);
    for (agent, skill, is_ok) in [
        ("lead", "review", true),
        ("clerk", "triage", true),
        ("clerk", "review", false),
        ("mute", "triage", false),
    ] {
        let result = call(&runtime, agent, "context_builder.use_skill", json!({"name": skill})).await;
        assert_eq!(result.is_ok(), is_ok, "{agent} {skill}: {result:?}");
    }
}

#[tokio::test]
async fn whoever_works_for_others_is_left_no_more_skills_than_they_are() {
    let folder = folder(&[("app.yaml", APP), ("skills/triage.md", TRIAGE), ("skills/review.md", REVIEW)]);
    let runtime = start(&folder).await;
    let context = CallContext::new("s").with_agent("lead").with_on_behalf_of(["clerk".into()]);
    let arguments = json!({"name": "review"}).as_object().unwrap().clone();
    let call = ToolCall::new("context_builder.use_skill", arguments);
    let result = runtime.executor().call(call, &context).await;
    assert_eq!(result.error.unwrap().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_skill_lists_of_its_tools_those_that_its_caller_may_use() {
    let folder = folder(&[("app.yaml", APP), ("skills/triage.md", TRIAGE)]);
    let runtime = start(&folder).await;
    let arguments = json!({"name": "triage", "arguments": "the inbox"});
    let result = call(&runtime, "clerk", "context_builder.use_skill", arguments).await;
    assert_eq!(
        result.result,
        json!({
            "skill": "triage",
            "instructions": "Sort the inbox with `triage.sort`.",
            "tools": ["hello.status"],
            "tools_not_available": 2,
        })
    );
    assert_eq!(
        runtime.warnings(),
        [
            "the skill `triage` lists `hello.gone`, an unknown tool",
            "the skill `triage` lists `triage.sort`, an unknown tool"
        ]
    );
}

#[tokio::test]
async fn without_skills_there_is_no_tool_that_loads_them() {
    let folder = folder(&[("app.yaml", &APP.replace("/triage", "")), ("skills/readme.txt", "")]);
    let app = fs::read_to_string(folder.path().join("app.yaml"))
        .unwrap()
        .replace("capabilities: []", "role: assistant");
    fs::write(folder.path().join("app.yaml"), app).unwrap();
    let runtime = start(&folder).await;
    assert!(runtime.snapshot().tool_names().all(|name| name.name() != "use_skill"));
}

#[test]
fn what_is_wrong_with_skills_is_said_at_its_place_or_warned_of() {
    let app = "agents: [{id: a, brain: {provider: ollama}, capabilities: [triag, x]}]\nskills: {folders: [skills, none]}\n";
    let files = [("app.yaml", app), ("skills/triage.md", TRIAGE), ("skills/notes.md", "Notes.")];
    let wrong = folder(&files);
    let said = open(&wrong).unwrap_err().to_string();
    let said = said.replace(&format!("{}/", wrong.path().display()), "");
    insta::assert_snapshot!(said, @r"
    app.yaml:1:60: unknown skill `triag`, did you mean `triage`?
    app.yaml:1:67: unknown skill `x`; there is: triage
    app.yaml:2:28: `none` is no folder
    ");
    let right = folder(&[("app.yaml", "skills: {folders: [skills]}\n"), files[1], files[2]]);
    assert_eq!(
        open(&right).unwrap().warnings(),
        [
            "skills/notes.md is no skill: it does not begin with front matter: a line `---`, then its `description`, then `---`"
        ]
    );
}

const MANIFEST: &str = "
name: other
tools:
  - {name: sort, description: Sorts., argv: [sh, -c, 'touch ran; echo 1'], risk: low}
";

/// What a rule on the programs of a skill makes of a call.
async fn sorted(rule: &str) -> (ToolResult, bool) {
    let app = format!("tools: {{capabilities: {{default_policy: grant{rule}}}}}\n");
    let files = [
        ("app.yaml", app.as_str()),
        ("skills/triage/SKILL.md", TRIAGE),
        ("skills/triage/toolcrib.yaml", MANIFEST),
    ];
    let folder = folder(&files);
    let runtime = start(&folder).await;
    let result = call(&runtime, "clerk", "triage.sort", json!({})).await;
    let listed = call(&runtime, "clerk", "context_builder.use_skill", json!({"name": "triage"})).await;
    let is_listed = listed.result["tools"] == json!(["triage.sort"]);
    let is_hidden = |kind| matches!(kind, ErrorKind::Denied | ErrorKind::UnknownTool);
    let is_visible = !result.error.as_ref().is_some_and(|error| is_hidden(error.kind));
    assert_eq!(is_listed, is_visible, "{listed:?}");
    runtime.close().await;
    (result, folder.path().join("skills/triage/ran").exists())
}

#[tokio::test]
async fn a_program_of_a_skill_runs_only_through_the_gate() {
    let (granted, has_run) = sorted("").await;
    assert_eq!((granted.error, granted.result, has_run), (None, json!(1), true));
    let (asked, has_run) = sorted(", approve: [{module: triage}]").await;
    assert_eq!((asked.error.unwrap().kind, has_run), (ErrorKind::ApprovalRequired, false));
    let (denied, has_run) = sorted(", deny: [{module: triage}]").await;
    assert_eq!((denied.error.unwrap().kind, has_run), (ErrorKind::Denied, false));
    let (unreachable, has_run) = sorted(", access: {system: [git]}").await;
    assert_eq!((unreachable.error.unwrap().kind, has_run), (ErrorKind::UnknownTool, false));
}

#[tokio::test]
async fn a_skill_cannot_take_the_name_of_a_module() {
    let app = "modules: {hello: {}}\ntools: {capabilities: {default_policy: grant}}\n";
    let skill = TRIAGE.replacen("---\n", "---\nname: hello\n", 1);
    let manifest = MANIFEST.replace("name: sort", "name: status");
    let folder =
        folder(&[("app.yaml", app), ("skills/a/SKILL.md", &skill), ("skills/a/toolcrib.yaml", &manifest)]);
    let runtime = start(&folder).await;
    assert!(call(&runtime, "clerk", "hello.status", json!({})).await.is_ok());
    assert!(!folder.path().join("skills/a/ran").exists());
    let rejected = runtime.snapshot().rejected().to_vec();
    assert!(rejected.iter().any(|reject| reject.source == "exec hello"), "{rejected:?}");
}
