//! What `tools.apps` promises.

mod budget;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use toolcrib_app::Blueprint;
use toolcrib_exec::{Callback, DenyAll};
use toolcrib_model::{ErrorKind, ToolCall, ToolResult};
use toolcrib_policy::Question;
use toolcrib_port::{Answer, Approver, CallContext};
use toolcrib_testkit::wait_until;

use crate::Runtime;

/// How long something is waited for that has to happen.
const PATIENCE: Duration = Duration::from_secs(10);

fn write(folder: &TempDir, name: &str, text: &str) {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// An app that may call `research`, with these settings of the entry, and no more of `hello` than it is granted.
fn caller(entry: &str) -> String {
    format!(
        "
agents: [{{id: lead, brain: {{provider: recorded, recording: turns.yaml}}}}]
tools:
  apps: {{research: {{path: research/app.yaml{entry}}}}}
  capabilities:
    grant: [{{module: context_builder, actions: [call_app]}}]
"
    )
}

/// An app that greets Ada when it is asked something.
const RESEARCH: &str = "
app: {description: Looks people up.}
agents: [{id: scout, brain: {provider: recorded, recording: turns.yaml}}]
modules: {hello: {}}
tools: {capabilities: {default_policy: grant}}
";
const RESEARCH_TURNS: &str = "
turns:
  - calls: [{name: hello__say_hello, arguments: {name: Ada}}]
  - text: Ada is known.
";

fn folder(app: &str, research: &str, turns: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "app.yaml", app);
    write(&folder, "research/app.yaml", research);
    write(&folder, "research/turns.yaml", turns);
    folder
}

async fn start_with(folder: &TempDir, approver: impl Approver + 'static) -> Runtime {
    let app = Blueprint::open(folder.path().join("app.yaml")).unwrap();
    Runtime::start(app, Arc::new(approver)).await.unwrap()
}

async fn start(folder: &TempDir) -> Runtime {
    start_with(folder, DenyAll).await
}

fn context() -> CallContext {
    CallContext::new("s").with_agent("lead")
}

async fn call_in(runtime: &Runtime, arguments: Value, context: &CallContext) -> ToolResult {
    let call = ToolCall::new("context_builder.call_app", arguments.as_object().unwrap().clone());
    runtime.executor().call(call, context).await
}

async fn call(runtime: &Runtime, arguments: Value) -> ToolResult {
    call_in(runtime, arguments, &context()).await
}

async fn asked(runtime: &Runtime) -> ToolResult {
    call(runtime, json!({"app": "research", "prompt": "Who is Ada?"})).await
}

fn wrong(folder: &TempDir) -> String {
    let said = Blueprint::open(folder.path().join("app.yaml")).unwrap_err().to_string();
    said.replace(&format!("{}/", folder.path().display()), "")
}

#[tokio::test]
async fn an_app_answers_a_prompt_and_tells_what_it_took() {
    let folder = folder(&caller(""), RESEARCH, RESEARCH_TURNS);
    let runtime = start(&folder).await;
    let result = asked(&runtime).await;
    assert_eq!(result.error, None);
    insta::assert_json_snapshot!(result.result, @r#"
    {
      "app": "research",
      "outcome": "completed",
      "text": "Ada is known.",
      "turns": 2,
      "calls": 1,
      "usage": {
        "prompt_tokens": 0,
        "completion_tokens": 0
      }
    }
    "#);
    assert!(asked(&runtime).await.is_ok(), "it is there for the next call");
    runtime.close().await;
}

#[tokio::test]
async fn a_recorded_agent_gives_work_to_another_app() {
    let folder = folder(&caller(""), RESEARCH, RESEARCH_TURNS);
    let turns = "
turns:
  - calls: [{name: call_app, arguments: {app: research, prompt: Who is Ada?}}]
  - expect: [Ada is known.]
    text: The other app knows her.
";
    write(&folder, "turns.yaml", turns);
    let runtime = start(&folder).await;
    let setup = runtime.agent(None).unwrap();
    let model = runtime.model(&setup).unwrap().model;
    let agent = toolcrib_agent::Agent::new(setup.settings.clone());
    let mut conversation = toolcrib_agent::Conversation::new();
    let entrance = runtime.entrance();
    let report =
        agent.run("Ask about Ada.", &mut conversation, &*model, &*entrance, &context(), &mut ()).await;
    assert_eq!(report.text, "The other app knows her.", "{:?}", report.outcome);
    runtime.close().await;
}

#[tokio::test]
async fn a_model_is_told_which_apps_there_are_and_how_they_are_called() {
    let folder = folder(&caller(", description: 'Knows people.'"), RESEARCH, RESEARCH_TURNS);
    let runtime = start(&folder).await;
    let snapshot = runtime.snapshot();
    let found = snapshot.find("context_builder.call_app", |_| true).unwrap();
    let tool = &found.first().unwrap().tool;
    insta::assert_json_snapshot!(json!({
        "description": tool.description, "parameters": tool.parameters, "metadata": tool.metadata(),
    }));
}

#[tokio::test]
async fn an_app_is_called_only_by_those_whom_a_rule_lets() {
    let no_rule = caller("")
        .replace("grant: [{module: context_builder, actions: [call_app]}]", "default_policy: grant");
    let runtime = start(&folder(&no_rule, RESEARCH, RESEARCH_TURNS)).await;
    assert_eq!(asked(&runtime).await.error.unwrap().kind, ErrorKind::Denied);
    assert_eq!(
        runtime.warnings(),
        [
            "`tools.apps` names apps, and no agent may call them; add `{module: context_builder, actions: [call_app]}` to \
             `tools.capabilities.grant`"
        ]
    );
    let asks = caller("").replace("grant:", "approve:");
    let runtime = start(&folder(&asks, RESEARCH, RESEARCH_TURNS)).await;
    assert_eq!(asked(&runtime).await.error.unwrap().kind, ErrorKind::ApprovalRequired);
    assert_eq!(runtime.warnings(), [""; 0]);
    let denies = format!("{}    deny: [{{module: context_builder, actions: [call_app]}}]\n", caller(""));
    let runtime = start(&folder(&denies, RESEARCH, RESEARCH_TURNS)).await;
    assert_eq!(asked(&runtime).await.error.unwrap().kind, ErrorKind::Denied);
    let low = format!("{}    max_risk_level: low\n", caller(""));
    let runtime = start(&folder(&low, RESEARCH, RESEARCH_TURNS)).await;
    assert_eq!(asked(&runtime).await.error.unwrap().kind, ErrorKind::Denied);
}

#[tokio::test]
async fn a_rule_may_let_an_agent_call_one_app_and_no_other() {
    let one = caller("")
        .replace("actions: [call_app]", "actions: [call_app], arguments: [{path: /app, equals: other}]");
    let both = one.replace("apps: {", "apps: {other: {path: research/app.yaml}, ");
    let folder = folder(&both, RESEARCH, RESEARCH_TURNS);
    let runtime = start(&folder).await;
    assert_eq!(asked(&runtime).await.error.unwrap().kind, ErrorKind::Denied);
    assert!(call(&runtime, json!({"app": "other", "prompt": "Who is Ada?"})).await.is_ok());
}

#[tokio::test]
async fn a_called_app_does_nothing_that_its_own_policy_denies_whatever_its_caller_may() {
    let generous = caller("").replace("grant:", "default_policy: grant\n    grant:");
    let strict = RESEARCH.replace("default_policy: grant", "default_policy: grant, deny: [{module: hello}]");
    let turns = "
turns:
  - calls: [{name: hello.say_hello, arguments: {name: Ada}}]
  - expect: [denied]
    text: I may not.
";
    let folder = folder(&generous, &strict, turns);
    let runtime = start(&folder).await;
    let result = asked(&runtime).await;
    assert_eq!(result.result["text"], "I may not.", "{result:?}");
}

#[tokio::test]
async fn a_caller_has_none_of_the_tools_of_the_apps_that_it_calls() {
    let folder = folder(&caller(""), RESEARCH, RESEARCH_TURNS);
    let runtime = start(&folder).await;
    assert!(asked(&runtime).await.is_ok());
    assert!(runtime.snapshot().find("hello.say_hello", |_| true).is_err());
}

#[tokio::test]
async fn what_a_called_app_asks_is_asked_of_the_same_person_who_is_told_which_app() {
    let asks = RESEARCH.replace("default_policy: grant", "default_policy: approve");
    let folder = folder(&caller(""), &asks, RESEARCH_TURNS);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let person = Callback::new(move |question: Question| {
        kept.lock().push((question.tool.clone(), question.agent.clone()));
        let answer = question.approve();
        async move { Answer::Approved(answer) }
    });
    let runtime = start_with(&folder, person).await;
    let result = asked(&runtime).await;
    assert_eq!(result.result["text"], "Ada is known.", "{result:?}");
    let expected = ("hello.say_hello".to_owned(), Some("research: scout".to_owned()));
    assert_eq!(*seen.lock(), [expected]);
    // Without anybody to ask it does not run.
    let turns = "
turns:
  - calls: [{name: hello__say_hello, arguments: {name: Ada}}]
  - expect: [approval_required]
    text: Nobody is there.
";
    write(&folder, "research/turns.yaml", turns);
    let runtime = start(&folder).await;
    assert_eq!(asked(&runtime).await.result["text"], "Nobody is there.");
}

#[tokio::test]
async fn a_called_app_goes_no_further_than_its_entry_and_its_caller_let_it() {
    let research = format!("{RESEARCH}runtime: {{max_turns: 40}}\n");
    let many = "turns:\n".to_owned()
        + &"  - calls: [{name: hello__say_hello, arguments: {name: Ada}}]\n".repeat(2)
        + "  - {text: Ada may be known.}\n";
    for (entry, of_caller) in [(", max_turns: 2", ""), ("", "runtime: {max_turns: 2}\n")] {
        let folder = folder(&(caller(entry) + of_caller), &research, &many);
        let runtime = start(&folder).await;
        let result = asked(&runtime).await.result;
        assert_eq!(
            (&result["outcome"], &result["limit"]),
            (&json!("limit_reached"), &json!("turns")),
            "{result}"
        );
    }
}

/// An app whose tool waits until it is ended.
const SLOW: &str = "
agents: [{id: scout, brain: {provider: recorded, recording: turns.yaml}}]
tools:
  registry: [{type: inline, namespace: desk, engine: slow, tools: [{name: wait, description: Waits.}]}]
  engines: {slow: {type: command, argv: [sh, -c, 'echo begun > begun; exec sleep 600']}}
  capabilities: {default_policy: grant}
";
const SLOW_TURNS: &str = "turns: [{calls: [{name: desk__wait}]}, {text: Done.}]\n";

#[tokio::test]
async fn a_call_that_is_given_up_ends_what_the_app_has_running() {
    let folder = folder(&caller(""), SLOW, SLOW_TURNS);
    let runtime = Arc::new(start(&folder).await);
    let cancel = CancellationToken::new();
    let context = context().with_cancel(cancel.clone());
    let calling = {
        let runtime = Arc::clone(&runtime);
        let arguments = json!({"app": "research", "prompt": "Wait."});
        tokio::spawn(async move { call_in(&runtime, arguments, &context).await })
    };
    let begun = folder.path().join("research/begun");
    wait_until("the program", PATIENCE, || Ok(begun.exists().then_some(()))).await.unwrap();
    cancel.cancel();
    let result = tokio::time::timeout(PATIENCE, calling).await.expect("it ends").unwrap();
    assert_eq!(result.error.unwrap().kind, ErrorKind::Cancelled);
    runtime.close().await;
}

#[tokio::test]
async fn the_end_of_the_caller_ends_the_apps_that_it_has_called() {
    let folder = folder(&caller(""), SLOW, SLOW_TURNS);
    let runtime = Arc::new(start(&folder).await);
    let calling = {
        let runtime = Arc::clone(&runtime);
        tokio::spawn(async move { asked(&runtime).await })
    };
    let begun = folder.path().join("research/begun");
    wait_until("the program", PATIENCE, || Ok(begun.exists().then_some(()))).await.unwrap();
    tokio::time::timeout(PATIENCE, runtime.close()).await.expect("it closes");
    let result = tokio::time::timeout(PATIENCE, calling).await.expect("it ends").unwrap();
    assert!(!result.is_ok(), "{result:?}");
}

#[tokio::test]
async fn the_time_of_the_caller_is_that_of_the_app() {
    let folder = folder(&caller(", max_seconds: 1"), SLOW, SLOW_TURNS);
    let runtime = start(&folder).await;
    let result = tokio::time::timeout(PATIENCE, asked(&runtime)).await.expect("it ends");
    assert_eq!(result.result["limit"], "duration", "{result:?}");
    runtime.close().await;
}

#[tokio::test]
async fn what_cannot_be_called_is_said_and_what_would() {
    let folder = folder(&caller(""), RESEARCH, RESEARCH_TURNS);
    let runtime = start(&folder).await;
    let mut said = Vec::new();
    for arguments in [
        json!({"app": "reserch", "prompt": "Who?"}),
        json!({"app": "../research/app.yaml", "prompt": "Who?"}),
        json!({"app": "research", "prompt": " "}),
    ] {
        said.push(call(&runtime, arguments).await.error.unwrap().to_string());
    }
    fs::remove_file(folder.path().join("research/turns.yaml")).unwrap();
    said.push(asked(&runtime).await.error.unwrap().to_string());
    write(&folder, "research/turns.yaml", "turns: [{text: a, expect: [never]}]\n");
    said.push(asked(&runtime).await.error.unwrap().to_string());
    let said = said.join("\n").replace(&format!("{}/", folder.path().display()), "");
    insta::assert_snapshot!(said);
}

#[test]
fn apps_that_cannot_be_called_are_refused_when_the_caller_is_read() {
    let missing = tempfile::tempdir().unwrap();
    write(&missing, "app.yaml", &caller(""));
    let broken = folder(&caller(", max_turn: 5"), RESEARCH, RESEARCH_TURNS);
    let wrong_inside = folder(&caller(""), "agents: [{id: a}]\nmodule: {}\n", RESEARCH_TURNS);
    let idle = folder(&caller(""), "modules: {hello: {}}\n", RESEARCH_TURNS);
    let itself = folder(&caller("").replace("research/app.yaml", "./research/../app.yaml"), RESEARCH, "");
    let round = folder(&caller(""), &caller("").replace("research/app.yaml", "../app.yaml"), "");
    let said = [missing, broken, wrong_inside, idle, itself, round].map(|folder| wrong(&folder));
    insta::assert_snapshot!(said.join("\n"));
}

/// An app that asks the next one.
fn link(next: &str) -> String {
    caller("").replace("research/app.yaml", next)
}

#[tokio::test]
async fn three_apps_may_call_one_another_and_a_fourth_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ask = "turns:\n  - calls: [{name: call_app, arguments: {app: research, prompt: Go on.}}]\n  - expect: [Ada is known.]\n    text: Ada is known.\n";
    write(&folder, "app.yaml", &link("one/app.yaml"));
    write(&folder, "one/app.yaml", &link("../two/app.yaml"));
    write(&folder, "two/app.yaml", &link("../three/app.yaml"));
    write(&folder, "three/app.yaml", RESEARCH);
    write(&folder, "one/turns.yaml", ask);
    write(&folder, "two/turns.yaml", ask);
    write(&folder, "three/turns.yaml", RESEARCH_TURNS);
    let runtime = start(&folder).await;
    assert_eq!(asked(&runtime).await.result["text"], "Ada is known.");
    runtime.close().await;

    write(&folder, "three/app.yaml", &link("../four/app.yaml"));
    write(&folder, "four/app.yaml", RESEARCH);
    assert!(
        wrong(&folder).contains("3 apps call one another before this one already, and no more are called"),
        "{}",
        wrong(&folder)
    );
}
