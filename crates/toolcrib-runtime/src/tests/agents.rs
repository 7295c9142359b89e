//! What an agent is shown, and what it needs.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_agent::{Agent, Conversation};
use toolcrib_app::Blueprint;
use toolcrib_model::ToolCall;
use toolcrib_port::CallContext;
use toolcrib_testkit::{ModelServer, Turn};

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
        Blueprint::from_text("app.yaml", app).unwrap().warnings(),
        [
            "the agent `b` names no `model`; most servers refuse a request without one",
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
    assert_eq!(runtime.warnings(), ["`runtime.pinned` names an unknown tool `hello.wave`"]);
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
    assert!(error.contains("names an unknown tool `hello.wave`"), "{error}");
    let runtime = start(&app("hello.status")).await;
    let chosen = runtime.agent(None).unwrap().settings.tool_choice.clone();
    assert_eq!(chosen, toolcrib_agent::chat::ToolChoice::Tool("hello__status".into()));
}

#[tokio::test]
async fn the_parameters_of_a_brain_reach_its_server() {
    let server = ModelServer::start([Turn::text("Hi.")]).await.unwrap();
    let app = format!(
        "agents: [{{id: a, brain: {{provider: vllm, model: m, api_key: test, base_url: '{}', temperature: 0.1, top_p: 0.5, max_tokens: 99, \
         stop: [END], seed: 7, n: 2, extra: {{reasoning_effort: low}}}}}}]",
        server.base_url()
    );
    let runtime = start(&app).await;
    let setup = runtime.agent(None).unwrap();
    let (model, entrance) = (runtime.model(&setup).unwrap().model, runtime.entrance());
    let (mut conversation, context) = (Conversation::new(), CallContext::new("s"));
    let agent = Agent::new(setup.settings.clone());
    let report =
        agent.run("Hi", &mut conversation, model.as_ref(), entrance.as_ref(), &context, &mut ()).await;
    assert_eq!((report.text.as_str(), report.models), ("Hi.", vec!["m".to_owned()]));
    let sent: Value = server.requests()[0].json().unwrap();
    let keys = ["temperature", "top_p", "max_tokens", "stop", "seed", "n", "reasoning_effort"];
    assert_eq!(keys.map(|key| sent[key].to_string()), ["0.1", "0.5", "99", "[\"END\"]", "7", "2", "\"low\""]);
}

#[test]
fn parameters_that_no_server_takes_are_errors_at_their_places() {
    let app = "
agents:
  - id: a
    brain: {provider: groq, temperature: 3, fallback: [{provider: groq, extra: {messages: []}}]}
";
    assert_eq!(
        wrong(app),
        "app.yaml:4:29: `temperature` has to be from 0 to 2\n\
         app.yaml:4:73: `messages` is not set by `extra`: the request has it already; remove it"
    );
}

/// A server of this provider that says how much its model takes in.
async fn saying(path: &'static str, answer: Value) -> String {
    let app = axum::Router::new().route(path, axum::routing::any(move || async move { axum::Json(answer) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    base_url
}

#[tokio::test]
async fn a_server_that_people_run_themselves_is_asked_how_much_its_model_takes_in() {
    let shown = json!({"model_info": {"llama.context_length": 131_072}, "parameters": "num_ctx 6000"});
    let listed = json!({"data": [{"id": "m", "max_model_len": 7_000, "max_context_length": 5_000}]});
    for (provider, path, answer, window) in [
        ("ollama", "/api/show", shown, 6_000),
        ("vllm", "/v1/models", listed.clone(), 7_000),
        ("lm_studio", "/api/v0/models", listed, 5_000),
        ("ollama", "/nothing", json!({}), 8_192),
    ] {
        let base_url = saying(path, answer).await;
        let app =
            format!("agents: [{{id: a, brain: {{provider: {provider}, model: m, base_url: '{base_url}'}}}}]");
        let runtime = start(&app).await;
        assert_eq!(runtime.agent(None).unwrap().plan.context_window, 8_192, "before it is asked");
        runtime.ask_server_profiles().await;
        let setup = runtime.agent(None).unwrap();
        assert_eq!(
            (setup.plan.context_window, setup.settings.context_window),
            (window, window),
            "{provider}"
        );
    }
}

#[tokio::test]
async fn a_window_that_is_set_is_not_asked_for() {
    for (brain, window) in [
        ("{provider: ollama, context_window: 3000}", 3_000),
        ("{provider: openai}", 131_072),
        ("{provider: recorded, recording: a.yaml}", 131_072),
    ] {
        let runtime = start(&format!("agents: [{{id: a, brain: {brain}}}]")).await;
        runtime.ask_server_profiles().await;
        assert_eq!(runtime.agent(None).unwrap().plan.context_window, window);
    }
}

#[tokio::test]
async fn what_an_agent_remembers_stands_in_its_next_prompt() {
    let app = "
agents: [{id: a, brain: {provider: recorded, recording: a.yaml}}]
modules: {memory: {}}
tools: {capabilities: {default_policy: grant}}
";
    let runtime = start(app).await;
    let prompt = || runtime.agent_in(None, "s").unwrap();
    let before = prompt();
    assert!(Arc::ptr_eq(&before, &prompt()), "nothing changed");
    let text = &before.settings.system_prompt;
    assert!(!text.contains("# MEMORY") && !text.contains("Above is what you kept"), "{text}");
    assert!(text.contains("Remember facts"), "{text}");
    let call =
        ToolCall::new("memory.remember", json!({"text": "Ada likes blue."}).as_object().cloned().unwrap());
    let remembered = runtime.entrance().call(call, &CallContext::new("s").with_agent("a")).await;
    assert_eq!(remembered.error, None);
    let after = prompt();
    let text = &after.settings.system_prompt;
    assert!(text.starts_with("# MEMORY") && text.contains("Ada likes blue."), "{text}");
    assert!(text.contains("Above is what you kept"), "{text}");
    assert!(Arc::ptr_eq(&after, &prompt()), "nothing changed again");
}

#[tokio::test]
async fn an_operator_is_warned_of_what_a_small_window_has_no_room_for() {
    let app = |window: u32, prompt: &str| {
        format!(
            "agents: [{{id: a, brain: {{provider: recorded, recording: a.yaml, context_window: {window}}}, system_prompt: '{prompt}'}}]
execution: {{watchers: true, scheduler: true}}
modules: {{hello: {{}}, memory: {{}}}}
runtime: {{tool_injection: discovery}}
tools: {{capabilities: {{default_policy: grant}}}}"
        )
    };
    let warnings = |runtime: &crate::Runtime| runtime.agent(None).unwrap().warnings();
    assert_eq!(warnings(&start(&app(131_072, "Be brief.")).await), Vec::<String>::new());
    let told = warnings(&start(&app(4_000, &"p ".repeat(40_000))).await);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("`system_prompt` of the agent `a` is cut off"), "{told:?}");
    assert!(told[1].contains("tokens, and all tools together may take 800"), "{told:?}");
}
