//! What called apps spend is their caller's.

use serde_json::Value;
use toolcrib_agent::{Agent, Conversation, Message, RunReport};
use toolcrib_testkit::{ModelServer, Turn};

use super::{
    CallContext, PATIENCE, RESEARCH, Runtime, caller, context, folder, json, link, start, wait_until, write,
};

/// What a request takes, as the servers say.
const EACH: u64 = 110;

/// The agent of an app answers a prompt.
async fn run(runtime: &Runtime) -> (RunReport, Conversation) {
    let setup = runtime.agent(None).unwrap();
    let model = runtime.model(&setup).unwrap().model;
    let (mut conversation, entrance) = (Conversation::new(), runtime.entrance());
    let report = Agent::new(setup.settings.clone())
        .run("Ask about Ada.", &mut conversation, &*model, &*entrance, &context(), &mut ())
        .await;
    (report, conversation)
}

/// An app whose model is behind this server, where a request takes no more tokens than it does.
fn served(app: &str, server: &ModelServer) -> String {
    let brain = format!(
        "brain: {{provider: openai, model: m, api_key: k, base_url: '{}', context_window: 4000}}",
        server.base_url()
    );
    app.replace("brain: {provider: recorded, recording: turns.yaml}", &brain)
}

fn greet(number: usize) -> Turn {
    Turn::call("hello__say_hello", &json!({"name": format!("Ada {number}")}))
}

fn ask() -> Turn {
    Turn::call("call_app", &json!({"app": "research", "prompt": "Who is Ada?"}))
}

/// What the model read of it, from the first result on.
fn read(conversation: &Conversation) -> String {
    let told = conversation.messages().iter().filter_map(|message| match message {
        Message::Tool { name, content, note, .. } => Some(format!("{name}: {content}\n{note}\n")),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn a_called_app_ends_with_limit_reached_when_the_rest_of_its_caller_is_used_up() {
    let below = ModelServer::start((0..20).map(greet)).await.unwrap();
    let above = ModelServer::start([ask(), Turn::text("I know enough.")]).await.unwrap();
    let limit = format!("runtime: {{max_tokens: {}}}\n", 4 * EACH);
    let folder = folder(&served(&(caller("") + &limit), &above), &served(RESEARCH, &below), "");
    let runtime = start(&folder).await;
    let (report, conversation) = run(&runtime).await;
    assert_eq!((above.requests().len(), below.requests().len()), (2, 3));
    assert_eq!((report.usage.tokens(), report.spent_below.tokens), (2 * EACH, 3 * EACH));
    insta::assert_snapshot!(read(&conversation));
    insta::assert_json_snapshot!(json!({
        "outcome": report.outcome, "text": report.text, "usage": report.usage, "spent_below": report.spent_below,
    }));
    runtime.close().await;
}

#[tokio::test]
async fn what_a_called_app_spent_ends_the_run_of_its_caller_at_the_right_place() {
    let answers = |_| [greet(0), Turn::text("Ada is known.")];
    let below = ModelServer::start((0..9).flat_map(answers)).await.unwrap();
    let above = ModelServer::start([ask(), ask(), ask(), ask(), Turn::text("Enough.")]).await.unwrap();
    // Three requests for each time that it asks.
    let limit = format!("runtime: {{max_tokens: {}}}\n", 6 * EACH);
    let folder = folder(&served(&(caller("") + &limit), &above), &served(RESEARCH, &below), "");
    let runtime = start(&folder).await;
    let (report, _) = run(&runtime).await;
    assert_eq!(json!(report.outcome)["limit"], "tokens");
    assert_eq!((above.requests().len(), below.requests().len()), (3, 4), "two times, and a last answer");
    assert_eq!(report.spent_below.calls, 2);
    runtime.close().await;
}

/// The turns of an app that would make nine calls.
fn nine_calls() -> String {
    let calls = (0..9).map(|number| {
        format!("  - calls: [{{name: hello__say_hello, arguments: {{name: Ada {number}}}}}]\n")
    });
    format!("turns:\n{}  - text: Ada is known.\n", calls.collect::<String>())
}

#[tokio::test]
async fn two_that_are_called_at_once_share_one_rest() {
    let call = "{name: call_app, params: {app: research, prompt: Who is Ada?}}";
    let turns = format!(
        "turns:\n  - calls: [{{name: run_parallel, arguments: {{actions: [{call}, {call}]}}}}]\n  - text: Enough.\n"
    );
    let folder = folder(&(caller("") + "runtime: {max_calls: 8}\n"), RESEARCH, &nine_calls());
    write(&folder, "turns.yaml", &turns);
    let runtime = start(&folder).await;
    let (report, conversation) = run(&runtime).await;
    assert_eq!(report.spent_below.calls, 7, "{}", read(&conversation));
    let both = read(&conversation).matches(r#""limit":"calls","limit_of_caller":true"#).count();
    assert_eq!(both, 2, "{}", read(&conversation));
    runtime.close().await;
}

#[tokio::test]
async fn three_apps_that_call_one_another_spend_no_more_than_the_first_may() {
    let folder = tempfile::tempdir().unwrap();
    let asks = "turns:\n  - calls: [{name: call_app, arguments: {app: research, prompt: Go on.}}]\n  - text: Enough.\n";
    let apps = [("", "one/"), ("one/", "../two/"), ("two/", "../three/")];
    for (place, next) in apps {
        write(&folder, &format!("{place}turns.yaml"), asks);
        write(&folder, &format!("{place}app.yaml"), &link(&format!("{next}app.yaml")));
    }
    write(&folder, "app.yaml", &(link("one/app.yaml") + "runtime: {max_calls: 6}\n"));
    write(&folder, "three/app.yaml", RESEARCH);
    write(&folder, "three/turns.yaml", &nine_calls());
    let runtime = start(&folder).await;
    let (report, conversation) = run(&runtime).await;
    assert_eq!((report.calls.len(), report.spent_below.calls), (1, 5), "{}", read(&conversation));
    runtime.close().await;
}

/// An app whose first call waits until something is written to `gate`.
const WAITING: &str = "
agents: [{id: scout, brain: {provider: recorded, recording: turns.yaml}}]
modules: {hello: {}}
tools:
  registry: [{type: inline, namespace: desk, engine: wait, tools: [{name: wait, description: Waits.}]}]
  engines: {wait: {type: command, argv: [sh, -c, 'mkfifo gate; echo begun > begun; read line < gate']}}
  capabilities: {default_policy: grant}
";

async fn task(runtime: &Runtime, arguments: Value, context: &CallContext) -> Value {
    let call = toolcrib_model::ToolCall::new("background_run", arguments.as_object().unwrap().clone());
    let result = runtime.executor().call(call, context).await;
    assert_eq!(result.error, None);
    result.result
}

#[tokio::test]
async fn one_in_the_background_spends_the_rest_of_its_callers_run_also_when_that_is_over() {
    let launch = "turns:
  - calls: [{name: background_run, arguments: {tool: call_app, params: {app: research, prompt: Wait.}}}]
  - text: It works.
";
    let turns = nine_calls().replacen("turns:\n", "turns:\n  - calls: [{name: desk__wait}]\n", 1);
    let folder = folder(&(caller("") + "runtime: {max_calls: 4}\n"), WAITING, &turns);
    write(&folder, "turns.yaml", launch);
    let runtime = start(&folder).await;
    let (report, _) = run(&runtime).await;
    assert_eq!((report.text.as_str(), report.calls.len()), ("It works.", 1));
    let begun = folder.path().join("research/begun");
    wait_until("the program", PATIENCE, || Ok(begun.exists().then_some(()))).await.unwrap();
    // The run has answered, and what it started goes on with the three calls that were left.
    std::fs::write(folder.path().join("research/gate"), "go\n").unwrap();
    let started = task(&runtime, json!({"list": true}), &context()).await;
    let id = started["tasks"][0]["task_id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let ended = task(&runtime, json!({"task_id": id, "wait": true}), &context()).await;
    let result = &ended["result"];
    assert_eq!(
        (&result["limit"], &result["limit_of_caller"], &result["calls"]),
        (&json!("calls"), &json!(true), &json!(3)),
        "{ended}"
    );
    runtime.close().await;
}
