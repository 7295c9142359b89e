//! The promises of simulated tools, on a real executor and a scripted model.

use std::path::Path;

use serde_json::{Value, json};
use toolcrib_agent::api::ApiSettings;
use toolcrib_agent::{ApiModel, Provider};
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_model::{JsonObject, QualifiedName, Secret, ToolCall};
use toolcrib_policy::Policy;
use toolcrib_registry::ToolRegistry;
use toolcrib_testkit::{ModelServer, Turn};

use super::*;
use crate::session::SessionEngine;

struct Fixture {
    sessions: SessionEngine,
    server: ModelServer,
    executor: Arc<Executor>,
}

async fn fixture(settings: Value, turns: impl IntoIterator<Item = Value>) -> Fixture {
    let turns: Vec<_> = turns.into_iter().map(|reply| Turn::text(reply.to_string())).collect();
    started(settings, ModelServer::start(turns).await.unwrap())
}

fn started(settings: Value, server: ModelServer) -> Fixture {
    let output =
        json!({"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]});
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let today = Tool::new(QualifiedName::new("weather", "today").unwrap())
        .with_description("Weather of a city.")
        .with_parameters(city)
        .with_output_parameters(output);
    let note = Tool::new(QualifiedName::new("weather", "note").unwrap())
        .with_parameters(json!({"type": "object", "additionalProperties": true}))
        .with_metadata("idempotent", true);
    let registry = ToolRegistry::from_tools("fake", [today, note]).unwrap();
    let capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    let policy = Policy::new(&capabilities, []).unwrap();
    let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() }).unwrap();
    let model = ApiSettings::new(Provider::Vllm)
        .with_base_url(server.base_url())
        .with_api_key(Secret::new("sk-test"))
        .with_stream(false);
    let model = Arc::new(ApiModel::new(model, &http).unwrap());
    let settings: SimulatedSettings = serde_json::from_value(settings).unwrap();
    settings.check().unwrap();
    let states = crate::session::SessionStates::default();
    let engine = Arc::new(SimulatedEngine::new(model, "teacher", settings, states.clone()));
    let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll));
    let executor = Arc::new(executor.with_engine("fake", engine));
    let sessions = SessionEngine::new(executor.tool_caller(), states).with_reversible_tools(|_| true);
    Fixture { sessions, server, executor }
}

impl Fixture {
    /// Runs a call in a session of its own.
    async fn alone(&self, session: &str, call: ToolCall) -> ToolResult {
        let session = self.sessions.setup(session, JsonObject::new()).unwrap();
        self.sessions.execute(session.name(), vec![call]).await.unwrap().remove(0)
    }

    /// Returns the messages of a request to the model.
    fn messages(&self, request: usize) -> Vec<Value> {
        self.server.requests()[request].json().unwrap()["messages"].as_array().unwrap().clone()
    }
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    let Value::Object(arguments) = arguments else { panic!("an object") };
    ToolCall::new(format!("weather::{tool}"), arguments)
}

fn today(city: &str) -> ToolCall {
    call("today", json!({"city": city}))
}

fn celsius(degrees: i32) -> Value {
    json!({"result": {"celsius": degrees}})
}

#[tokio::test]
async fn the_model_is_given_the_tool_and_the_earlier_calls_of_the_session() {
    let fixture = fixture(json!({"instructions": "It is winter."}), [celsius(-3), celsius(-9)]).await;
    let session = fixture.sessions.setup("item", JsonObject::new()).unwrap();
    let results = fixture.sessions.execute(session.name(), vec![today("Oslo"), today("Alta")]).await.unwrap();
    assert_eq!((&results[0].result, &results[1].result), (&json!({"celsius": -3}), &json!({"celsius": -9})));
    assert_eq!(results[1].metadata[SIMULATION], json!({"samples": 1, "model": "teacher"}));
    let messages = fixture.messages(1);
    let shown: Vec<_> = messages
        .iter()
        .map(|message| {
            format!("# {}\n{}", message["role"].as_str().unwrap(), message["content"].as_str().unwrap())
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[tokio::test]
async fn a_stateful_tool_reads_and_replaces_the_values_of_its_session() {
    let first = json!({"result": "noted", "state": {"notes": ["a"]}});
    let fixture = fixture(json!({"stateful": true}), [first, json!({"result": ["a"]})]).await;
    let session = fixture.sessions.setup("item", JsonObject::new()).unwrap();
    let calls = vec![call("note", json!({"text": "a"})), call("note", json!({"list": true}))];
    let results = fixture.sessions.execute(session.name(), calls).await.unwrap();
    assert_eq!(results[1].result, json!(["a"]));
    assert_eq!(Value::Object(fixture.sessions.state("item").unwrap().values), json!({"notes": ["a"]}));
    insta::assert_snapshot!(fixture.messages(1)[3]["content"].as_str().unwrap(), @r#"{"arguments":{"list":true},"state":{"notes":["a"]}}"#);
    insta::assert_snapshot!(fixture.messages(1)[0]["content"].as_str().unwrap());
}

#[tokio::test]
async fn a_simulation_leaves_no_trace_of_a_simulated_tool() {
    let turns = [1, 2].map(|n| json!({"result": n, "state": {"n": n}}));
    let fixture = fixture(json!({"stateful": true, "cache": false}), turns).await;
    let _session = fixture.sessions.setup("item", JsonObject::new()).unwrap();
    let before = fixture.sessions.state("item").unwrap();
    let results = fixture.sessions.simulate("item", vec![call("note", json!({})); 2]).await.unwrap();
    assert_eq!(results[1].result, 2);
    assert_eq!(fixture.messages(1).len(), 4, "the first call is an example for the second");
    assert_eq!(fixture.sessions.state("item").unwrap(), before);
}

#[tokio::test]
async fn the_sample_that_others_agree_with_is_the_result() {
    let fixture = fixture(json!({"samples": 3}), [celsius(40), celsius(21), celsius(21)]).await;
    assert_eq!(fixture.alone("item", today("Oslo")).await.result, json!({"celsius": 21}));
    let options: Vec<Value> =
        (0..3).map(|number| fixture.server.requests()[number].json().unwrap()).collect();
    assert_eq!(
        options.iter().map(|request| &request["n"]).collect::<Vec<_>>(),
        [&json!(3), &json!(2), &Value::Null]
    );
    assert!(options.iter().all(|request| request["logprobs"] == true && request["seed"].is_u64()));
    assert_eq!(fixture.server.requests().len(), 3);
}

#[tokio::test]
async fn a_server_is_asked_for_the_form_of_a_result_whose_schema_is_known() {
    let fixture = fixture(json!({"stateful": true}), [celsius(21), celsius(21)]).await;
    fixture.alone("item", today("Oslo")).await;
    let format = fixture.server.requests()[0].json().unwrap()["response_format"].clone();
    insta::assert_json_snapshot!(format);
    fixture.alone("other", call("note", json!({}))).await;
    assert!(fixture.server.requests()[1].json().unwrap().get("response_format").is_none());
}

#[tokio::test]
async fn a_reply_that_does_not_match_the_output_schema_is_asked_for_again_and_then_an_error() {
    let wrong = json!({"result": {"celsius": "warm"}});
    let replies = [wrong.clone(), celsius(21), wrong.clone(), wrong];
    let fixture = fixture(json!({}), replies).await;
    assert_eq!(fixture.alone("item", today("Oslo")).await.result, json!({"celsius": 21}));
    let result = fixture.alone("item", today("Rome")).await;
    assert_eq!(result.metadata[SIMULATION], json!({"failed": SCHEMA_VIOLATION}));
    insta::assert_snapshot!(result.error.unwrap(), @"internal: the simulation of `weather.today` gave no valid result in 2 attempts: `celsius` must be of type number, not \"warm\"");
}

#[tokio::test]
async fn an_error_that_the_model_gives_is_an_error_of_the_tool() {
    let fixture = fixture(json!({}), [json!({"error": "there is no city `Xyz`"})]).await;
    let result = fixture.alone("item", today("Xyz")).await;
    assert_eq!(result.error.unwrap().to_string(), "tool_failed: there is no city `Xyz`");
}

#[tokio::test]
async fn an_injected_error_reaches_the_conversation_without_a_retry_and_without_the_model() {
    for category in [NETWORK_ERROR, UNPARSEABLE_RESULT, SCHEMA_VIOLATION] {
        let fixture = fixture(json!({"error_categories": {category: 1.0}}), []).await;
        let result = fixture.alone("item", call("note", json!({}))).await;
        assert_eq!(result.metadata[SIMULATION], json!({"injected": category}));
        assert!(!result.metadata.contains_key("attempts"), "{:?}", result.metadata);
        assert!(result.error.is_some());
        assert!(fixture.server.requests().is_empty());
    }
}

#[tokio::test]
async fn injected_errors_depend_on_the_seed_and_the_session_not_on_the_order_of_the_sessions() {
    let settings = json!({"seed": 3, "error_categories": {NETWORK_ERROR: 0.5}});
    let outcomes = async |names: &[&str]| {
        let server = ModelServer::endless(|_| Turn::text(r#"{"result": 1}"#)).await.unwrap();
        let fixture = started(settings.clone(), server);
        let mut outcomes = std::collections::BTreeMap::new();
        for name in names {
            let session = fixture.sessions.setup(name, JsonObject::new()).unwrap();
            let calls = (0..8).map(|n| call("note", json!({"n": n}))).collect();
            let results = fixture.sessions.execute(session.name(), calls).await.unwrap();
            outcomes.insert((*name).to_owned(), results.iter().map(ToolResult::is_ok).collect::<Vec<_>>());
        }
        outcomes
    };
    let forward = outcomes(&["a", "b", "c"]).await;
    assert_eq!(forward, outcomes(&["c", "a", "b"]).await);
    assert_ne!(forward["a"], forward["b"]);
}

#[tokio::test]
async fn a_call_that_was_answered_is_answered_the_same_in_a_later_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("replies.jsonl");
    let settings = json!({"cache": file});
    {
        let fixture = fixture(settings.clone(), [celsius(21)]).await;
        fixture.alone("item", today("Oslo")).await;
        let again = fixture.alone("other", today("Oslo")).await;
        assert_eq!(
            (&again.result, &again.metadata[SIMULATION]),
            (&json!({"celsius": 21}), &json!({"cached": true, "model": "teacher"}))
        );
    }
    // A process that was killed has left half a line.
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str(r#"{"key": "abc"#);
    std::fs::write(&file, text).unwrap();
    let fixture = fixture(settings, [celsius(3)]).await;
    assert_eq!(fixture.alone("item", today("Oslo")).await.result, json!({"celsius": 21}));
    assert_eq!(fixture.alone("item", today("Rome")).await.result, json!({"celsius": 3}));
    assert_eq!(fixture.server.requests().len(), 1);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_cache_that_cannot_be_read_fails_the_call() {
    let fixture = fixture(json!({"cache": Path::new("/")}), [celsius(1)]).await;
    let result = fixture.alone("item", today("Oslo")).await;
    assert_eq!(result.metadata[SIMULATION], json!({"failed": "state"}));
    assert!(fixture.server.requests().is_empty());
}

#[tokio::test]
async fn a_model_that_cannot_be_asked_is_a_failure_of_the_simulation() {
    let fixture = fixture(json!({}), []).await;
    let result = fixture.alone("item", today("Oslo")).await;
    assert_eq!(result.metadata[SIMULATION], json!({"failed": "model"}));
    assert_eq!(result.error.unwrap().kind, ErrorKind::Internal);
}

#[tokio::test]
async fn an_agent_without_a_setup_gets_consistent_results_until_its_session_ends() {
    let fixture = fixture(json!({"cache": false}), [celsius(1), celsius(2), celsius(3)]).await;
    let context = CallContext::new("agent");
    for _ in 0..2 {
        fixture.executor.call(today("Oslo"), &context).await;
    }
    assert_eq!(fixture.messages(1).len(), 4);
    fixture.executor.end_session("agent").await;
    fixture.executor.call(today("Oslo"), &context).await;
    assert_eq!(fixture.messages(2).len(), 2);
}
