//! What an agent is shown, and what it needs.

use std::sync::Arc;

use super::{start, wrong};
use crate::Error;

#[tokio::test]
async fn an_agent_is_shown_what_policy_lets_it_see() {
    let app = "
agents:
  - {id: first, brain: {provider: ollama, context_window: 2000}}
  - {id: second, brain: {provider: ollama, native_tool_use: true, context_window: 3000}}
modules: {hello: {}}
tools: {capabilities: {deny: [{module: hello, actions: [status]}]}}
runtime: {tokens_per_tool: 201}
";
    let runtime = start(app).await;
    let modes = [None, Some("second")].map(|id| runtime.agent(id).unwrap().plan.mode.as_str());
    assert_eq!(modes, ["discovery", "direct"], "two tools of 201 tokens, in a fifth of 2,000 and of 3,000");
    let names: Vec<_> = runtime
        .agent(Some("second"))
        .unwrap()
        .plan
        .offered
        .iter()
        .map(|tool| tool.wire_name.clone())
        .collect();
    assert_eq!(
        names,
        ["run_parallel", "read_result", "background_run", "hello__greet_many", "hello__say_hello"]
    );
    let Err(Error::UnknownAgent { known, .. }) = runtime.agent(Some("third")) else { panic!("found") };
    assert_eq!(known, ["first", "second"]);
}

#[tokio::test]
async fn a_recording_is_wanted_when_the_model_is_and_warned_of_before() {
    let app = "agents: [{id: a, brain: {provider: recorded}}, {id: b, brain: {provider: groq, recording: no.yaml}}]";
    let runtime = start(app).await;
    assert_eq!(
        runtime.app().warnings(),
        [
            "the agent `a` has no `recording`; it needs `toolcrib run --replay FILE`",
            "the recording `no.yaml` of the agent `b` is not there",
        ]
    );
    let setup = runtime.agent(None).unwrap();
    let error = runtime.model(&setup).err().unwrap();
    let message = "`provider: recorded` needs a `recording`, a file of turns, or `--replay FILE`";
    assert_eq!(error.to_string(), format!("app.yaml:1:18: {message}"));
    assert!(setup.replay(std::path::Path::new("absent.yaml")).is_err());
}

#[tokio::test]
async fn a_tool_that_is_denied_in_a_session_is_not_in_its_plan() {
    let runtime = start(
        "modules: {hello: {}}
tools: {capabilities: {deny: [{module: hello, actions: [status], session: 'guest-*'}]}}",
    )
    .await;
    let offered = |session| {
        let setup = runtime.agent_in(None, session).unwrap();
        setup.plan.offered.iter().any(|tool| tool.wire_name == "hello__status")
    };
    assert!(offered("s") && !offered("guest-1"));
    assert!(!runtime.agent_in(None, "guest-1").unwrap().system_prompt.text.contains("status"));
}

#[tokio::test]
async fn the_plan_is_decided_once_for_each_generation_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.yaml");
    let tools = |count: usize| {
        let tools = (0..count)
            .map(|n| format!("  - {{name: tool_{n}, description: {}}}\n", "Does a thing. ".repeat(40)));
        std::fs::write(&path, format!("shop:\n{}", tools.collect::<String>())).unwrap();
    };
    tools(2);
    let runtime = start(&format!(
        "agents: [{{id: a, brain: {{provider: ollama, context_window: 8000}}}}]
tools: {{registry: [{{type: file, path: '{}'}}]}}",
        path.display()
    ))
    .await;
    let first = runtime.agent(None).unwrap();
    assert_eq!(first.tool_injection().as_str(), "direct");
    assert!(Arc::ptr_eq(&first, &runtime.agent(None).unwrap()));
    assert!(!Arc::ptr_eq(&first, &runtime.agent_in(None, "another").unwrap()));
    tools(100);
    runtime.executor().registry().refresh().await.unwrap();
    let second = runtime.agent(None).unwrap();
    assert_eq!(second.tool_injection().as_str(), "discovery");
    assert!(second.generation > first.generation);
}

#[tokio::test]
async fn pinned_tools_are_shown_and_those_that_are_not_there_are_warned_of() {
    let runtime = start(
        "modules: {hello: {}}
runtime: {tool_injection: discovery, pinned: [status, hello.say_hello, hello.wave]}",
    )
    .await;
    let setup = runtime.agent(None).unwrap();
    let pinned: Vec<_> = setup.plan.offered.iter().filter(|tool| tool.name.namespace() == "hello").collect();
    assert_eq!(pinned.iter().map(|tool| tool.name.name()).collect::<Vec<_>>(), ["say_hello", "status"]);
    assert_eq!(
        runtime.warnings(),
        ["`runtime.pinned` speaks of `hello.wave`, which is no tool that is there"]
    );
}

#[tokio::test]
async fn a_tool_choice_is_a_word_or_a_tool_that_is_there() {
    let app = |choice: &str| {
        format!(
            "agents: [{{id: a, brain: {{provider: openai, tool_choice: {choice}}}}}]\nmodules: {{hello: {{}}}}"
        )
    };
    assert!(
        wrong(&app("requird")).contains("write `auto`, `none`, `required`, or a tool as `namespace.name`")
    );
    let runtime = start(&app("hello.wave")).await;
    let error = runtime.agent(None).err().unwrap().to_string();
    assert!(error.contains("`hello.wave`, which is not there"), "{error}");
    let runtime = start(&app("hello.status")).await;
    let chosen = runtime.agent(None).unwrap().settings.tool_choice.clone();
    assert_eq!(chosen, toolcrib_agent::ToolChoice::Tool("hello__status".into()));
}
