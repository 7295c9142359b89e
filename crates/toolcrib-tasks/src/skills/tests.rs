//! What skills promise.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_exec::Executor;
use toolcrib_model::{JsonObject, Risk, ToolCall, ToolError, ToolResult};
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_port::{CallContext, ToolLoader as _};
use toolcrib_sdk::{FunctionTool, Module};

use super::use_skill::MAX_ARGUMENTS_CHARS;
use super::{MAX_SKILL_BYTES, MAX_SKILLS, SkillFolder, Skills};
use crate::testing::executor;

const TRIAGE: &str = "---
name: triage
description: Sorts what comes in.
allowed-tools: desk.look, desk.burn, desk.gone, context_builder.*, Bash(git:*)
triggers: [new mail, inbox]
license: MIT
---

# Triage

1. Look at $ARGUMENTS.
2. Say what it is.
";

fn write(folder: &TempDir, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        write(&folder, name, text);
    }
    folder
}

fn read(folder: &Path) -> Skills {
    Skills::read(&[SkillFolder { path: folder.to_owned(), shown: "skills".to_owned() }])
}

fn skill(description: &str) -> String {
    format!("---\ndescription: {description}\n---\nDo it.\n")
}

fn names(skills: &Skills) -> Vec<&str> {
    skills.iter().map(|skill| skill.name.as_str()).collect()
}

fn rejects(skills: &Skills) -> String {
    let rejects = skills.rejected().iter().map(|rejected| format!("{}: {}", rejected.path, rejected.reason));
    rejects.collect::<Vec<_>>().join("\n")
}

/// An entrance with `use_skill` and a desk: `look` may be called, `burn` is denied.
async fn entrance(skills: Skills) -> Arc<Executor> {
    let plain = |name: &str| {
        let done = |_: JsonObject, _: CallContext| std::future::ready(Ok::<_, ToolError>(Value::Null));
        FunctionTool::new(name, "Does it.", done).with_risk(Risk::Low)
    };
    // The policy of the test lives in one module, so the desk is a part of the runtime's own.
    let own = Arc::new(skills)
        .tools(|context, skill| context.agent.as_deref() != Some("guest") || skill.name == "triage")
        .into_iter()
        .chain([plain("look"), plain("burn")])
        .fold(Module::new(RUNTIME_NAMESPACE, ""), Module::with_tool);
    executor(own, &json!({"deny": [{"module": RUNTIME_NAMESPACE, "actions": ["burn"]}]})).await
}

async fn use_skill(executor: &Arc<Executor>, agent: &str, arguments: Value) -> ToolResult {
    let call = ToolCall::new("context_builder.use_skill", arguments.as_object().unwrap().clone());
    executor.call(call, &CallContext::new("s").with_agent(agent)).await
}

#[tokio::test]
async fn a_model_is_told_how_to_load_a_skill() {
    let module = Arc::new(Skills::default())
        .tools(|_, _| true)
        .into_iter()
        .fold(Module::new("m", ""), Module::with_tool);
    let tool = module.load().await.tools.remove(0);
    insta::assert_json_snapshot!(json!({
        "description": tool.description, "parameters": tool.parameters, "metadata": tool.metadata(),
    }));
}

#[tokio::test]
async fn a_skill_gives_its_text_its_files_and_the_tools_that_its_caller_may_use() {
    let text = TRIAGE.replace("desk.", "context_builder.");
    let folder = folder(&[
        ("triage/SKILL.md", &text),
        ("triage/references/words.md", "Words."),
        ("triage/sort.py", "print(1)"),
    ]);
    let executor = entrance(read(folder.path())).await;
    let result =
        use_skill(&executor, "clerk", json!({"name": "/triage", "arguments": "the $ARGUMENTS"})).await;
    assert_eq!(result.error, None);
    // `burn` is denied and `gone` is not there: nobody can tell which.
    insta::assert_json_snapshot!(result.result);
}

#[tokio::test]
async fn a_skill_that_is_a_file_tells_of_no_other_files() {
    let folder = folder(&[("review.md", &skill("Reviews.")), ("other.txt", "x")]);
    let executor = entrance(read(folder.path())).await;
    let result = use_skill(&executor, "clerk", json!({"name": "review"})).await;
    assert_eq!(result.result, json!({"skill": "review", "instructions": "Do it."}));
}

#[tokio::test]
async fn a_skill_that_is_not_there_and_one_that_is_not_for_the_caller_look_alike() {
    let folder = folder(&[("triage.md", &skill("Sorts.")), ("review.md", &skill("Reviews."))]);
    let executor = entrance(read(folder.path())).await;
    let mut said = Vec::new();
    for (agent, name) in [("clerk", "reviev"), ("clerk", "x"), ("guest", "review"), ("guest", "/triag")] {
        said.push(use_skill(&executor, agent, json!({"name": name})).await.error.unwrap().to_string());
    }
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test]
async fn the_text_is_read_when_it_is_used() {
    let folder = folder(&[("review.md", &skill("Reviews."))]);
    let executor = entrance(read(folder.path())).await;
    write(&folder, "review.md", "---\ndescription: Reviews.\n---\nDo it twice.\n");
    let result = use_skill(&executor, "clerk", json!({"name": "review"})).await;
    assert_eq!(result.result["instructions"], "Do it twice.");
    fs::remove_file(folder.path().join("review.md")).unwrap();
    let error = use_skill(&executor, "clerk", json!({"name": "review"})).await.error.unwrap();
    assert!(error.message.starts_with("the skill `review` cannot be read any more"), "{error}");
}

#[tokio::test]
async fn arguments_cannot_make_a_skill_too_long() {
    let places = "$ARGUMENTS ".repeat(5_000);
    let folder = folder(&[("loop.md", &format!("---\ndescription: Loops.\n---\n{places}"))]);
    let executor = entrance(read(folder.path())).await;
    for (length, expected) in [(100, "too long"), (MAX_ARGUMENTS_CHARS + 1, "arguments")] {
        let arguments = json!({"name": "loop", "arguments": "x".repeat(length)});
        let error = use_skill(&executor, "clerk", arguments).await.error.unwrap();
        assert!(error.message.contains(expected), "{error}");
    }
}

#[test]
fn a_skill_says_its_name_or_its_file_does() {
    let folder = folder(&[
        ("review.md", &skill("Reviews.")),
        ("release/SKILL.md", &skill("Releases.")),
        ("file.md", "---\r\nname: other\r\ndescription: >\r\n  Is called\r\n  otherwise.\r\n---\r\n"),
        ("notes.txt", "x"),
        ("release/notes.md", "x"),
        ("empty/readme.txt", "x"),
        (".hidden.md", "x"),
    ]);
    let skills = read(folder.path());
    assert_eq!(names(&skills), ["other", "release", "review"]);
    assert_eq!(skills.get("other").unwrap().description, "Is called otherwise.");
    assert_eq!(rejects(&skills), "");
}

#[test]
fn tools_are_a_list_or_a_text_with_commas() {
    for (written, expected) in [
        ("[a.b, 'Bash(git:*)']", &["a.b", "Bash(git:*)"][..]),
        ("a.b, Bash(git add:*, git status), c.*", &["a.b", "Bash(git add:*, git status)", "c.*"]),
        ("", &[]),
        ("[]", &[]),
    ] {
        let text = format!("---\ndescription: d\nallowed-tools: {written}\n---\n");
        let folder = folder(&[("one.md", &text)]);
        let skills = read(folder.path());
        assert_eq!(skills.get("one").unwrap().allowed_tools, expected, "{written}");
    }
}

#[test]
fn the_first_of_two_skills_with_a_name_counts() {
    let (first, second) = (folder(&[("a.md", &skill("First."))]), folder(&[("a.md", &skill("Second."))]));
    let folders = [&first, &second]
        .map(|folder| SkillFolder { path: folder.path().to_owned(), shown: "skills".to_owned() });
    let skills = Skills::read(&folders);
    assert_eq!(skills.get("a").unwrap().description, "First.");
    assert_eq!(rejects(&skills), "skills/a.md: there is a skill `a` already");
}

#[test]
fn what_is_no_skill_hides_nothing_else() {
    let bomb = format!(
        "---\na: &a [{}]\nb: &b [{}]\nc: [{}]\ndescription: d\n---\n",
        "x,".repeat(999),
        "*a,".repeat(999),
        "*b,".repeat(200)
    );
    let folder = folder(&[
        ("good.md", &skill("Good.")),
        ("plain.md", "# Just a text\n"),
        ("open.md", "---\ndescription: d\n"),
        ("wrong.md", "---\ndescription: [d\n---\n"),
        ("nameless.md", "---\nname: '../up'\ndescription: d\n---\n"),
        ("undescribed.md", "---\nname: a\n---\n"),
        ("empty.md", "---\ndescription: ' '\n---\n"),
        ("listless.md", "---\ndescription: d\nallowed-tools: {a: b}\n---\n"),
        ("bomb.md", &bomb),
        ("wide.md", &format!("---\ndescription: d\nx: {}\n---\n", "x".repeat(9_000))),
        ("long.md", &(skill("Long.") + &"x".repeat(MAX_SKILL_BYTES))),
        ("nul.md", &(skill("Nul.") + "\0")),
        ("two words.md", &skill("Two.")),
    ]);
    write(&folder, "binary.md", [0x89, 0x50, 0xff, 0xfe]);
    let skills = read(folder.path());
    assert_eq!(names(&skills), ["good"]);
    insta::assert_snapshot!(rejects(&skills));
}

#[test]
fn no_symlink_leads_out_of_the_folder() {
    let outside = folder(&[("secret.md", &skill("Secret.")), ("skill/SKILL.md", &skill("Secret."))]);
    let folder = folder(&[("good/SKILL.md", &skill("Good.")), ("bad/x", "")]);
    let at = |name: &str| folder.path().join(name);
    symlink(outside.path().join("secret.md"), at("file.md")).unwrap();
    symlink(outside.path().join("skill"), at("linked")).unwrap();
    symlink(outside.path().join("secret.md"), at("bad/SKILL.md")).unwrap();
    symlink(outside.path().join("secret.md"), at("good/notes.md")).unwrap();
    symlink("good", at("again")).unwrap();
    let skills = read(folder.path());
    assert_eq!(names(&skills), ["again", "good"]);
    assert_eq!(skills.get("good").unwrap().files(), (vec![], false));
    insta::assert_snapshot!(rejects(&skills));
}

#[test]
fn no_more_than_so_many_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..=MAX_SKILLS {
        write(&folder, &format!("skill-{n:04}.md"), skill("One."));
    }
    let skills = read(folder.path());
    assert_eq!(skills.iter().count(), MAX_SKILLS);
    assert_eq!(rejects(&skills), "skills/skill-0256.md: there are 256 skills already, and no more are taken");
}

#[test]
fn a_folder_that_is_not_there_is_said() {
    let skills = read(Path::new("/no/such/folder"));
    assert!(skills.is_empty());
    assert_eq!(skills.rejected().len(), 1);
}
