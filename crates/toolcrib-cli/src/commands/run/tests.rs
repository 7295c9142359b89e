//! A conversation while its tools change.

use std::fs;

use serde_json::Value;
use toolcrib_exec::DenyAll;
use toolcrib_testkit::{ModelServer, Turn};

use super::*;

/// The names of the tools that a request offers.
fn offered(server: &ModelServer, request: usize) -> Vec<String> {
    let request: Value = server.requests()[request].json().unwrap();
    let tools = request["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_prompt_after_a_refresh_is_asked_with_the_tools_that_there_are_then() {
    let server = ModelServer::start(["One.", "Two.", "Three."].map(Turn::text)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let app = format!(
        "
agents: [{{id: clerk, brain: {{provider: vllm, model: m, native_tool_use: true, api_key: test, base_url: '{}'}}}}]
tools: {{registry: [{{type: file, path: tools.yaml, engine: nothing}}], engines: {{nothing: {{type: mock}}}}}}
",
        server.base_url()
    );
    fs::write(path("app.yaml"), app).unwrap();
    fs::write(path("tools.yaml"), "shop: [{name: price, description: Prices.}]").unwrap();
    let runtime = start(App::open(path("app.yaml")).unwrap(), Arc::new(DenyAll))
        .await
        .unwrap_or_else(|why| panic!("{}", why.message));
    let setup = runtime.agent_in(None, SESSION).unwrap();
    let mut session = Session {
        caller: CallContext::new("s"),
        turn: 0,
        id: SESSION,
        runtime: &runtime,
        model: runtime.model(&setup).unwrap().model,
        setup,
        app: path("app.yaml"),
        file: None,
        trace: None,
        results: Results::default(),
        is_chat: false,
        is_recorded: false,
        entrance: runtime.executor().tool_caller(),
        conversation: Conversation::new(),
        interrupts: &Interrupts::default(),
        json: true,
        reasoning: Reasoning::Hide,
        schema: None,
    };
    let first = session.ask("1").await;
    assert_eq!(first.text, "One.", "{first:?}");
    assert_eq!(session.ask("2").await.text, "Two.");
    fs::write(
        path("tools.yaml"),
        "shop: [{name: price, description: Prices.}, {name: order, description: Orders.}]",
    )
    .unwrap();
    runtime.executor().registry().refresh().await.unwrap();
    assert_eq!(session.ask("3").await.text, "Three.");
    assert_eq!(offered(&server, 0), offered(&server, 1));
    let has_order = |request| offered(&server, request).contains(&"shop__order".to_owned());
    assert_eq!((has_order(1), has_order(2)), (false, true));
    assert_eq!(session.conversation.messages().len(), 6, "the conversation goes on");
    runtime.close().await;
}
