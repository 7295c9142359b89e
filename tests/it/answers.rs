//! Answers with a schema, as programs read them, and what is told of retries and fallbacks.

use serde_json::{Value, json};
use toolcrib_testkit::{FaultScript, FaultyModel, ModelServer, Turn};

use crate::support::TestDir;

const TOOLS: &str = "
shop:
  - name: price
    description: What an item costs, in euro.
    risk: low
    parameters: {type: object, properties: {item: {type: string}}, required: [item]}
";

fn dir(brain: &Value) -> TestDir {
    let app = json!({
        "agents": [{"id": "clerk", "brain": brain}],
        "tools": {
            "registry": [{"type": "file", "path": "tools.yaml", "engine": "shop"}],
            "engines": {"shop": {"type": "command", "argv": ["echo", "{item}: 3 euro"]}},
            "capabilities": {"default_policy": "grant"},
        },
    });
    TestDir::with_app(&app.to_string())
        .with_file("tools.yaml", TOOLS)
        .with_file("price.yaml", "type: object\nproperties: {price: {type: integer}}\nrequired: [price]\n")
        .with_variable("OPENAI_API_KEY", "test")
}

fn brain(base_url: &str) -> Value {
    json!({"provider": "openai", "model": "first", "base_url": base_url})
}

#[tokio::test]
async fn standard_output_is_the_value_and_nothing_else() {
    let turns = [
        Turn::call("shop__price", &json!({"item": "lamp"})),
        Turn::text("It costs three euro."),
        Turn::text("```json\n{\"price\": \"3\"}\n```"),
    ];
    let server = ModelServer::start(turns).await.unwrap();
    let dir = dir(&brain(&server.base_url()));
    let run_output = dir.run(["run", "app.yaml", "Price?", "--schema", "price.yaml"]).await.expect(0);
    let value: Value = serde_json::from_str(&run_output.stdout).unwrap();
    assert_eq!(value, json!({"price": 3}));
    for told in ["-> shop.price", "It costs three euro.", "does not conform to the output schema"] {
        assert!(run_output.stderr.contains(told), "{told}: {}", run_output.stderr);
    }
    let requests: Vec<Value> = server.requests().iter().map(|request| request.json().unwrap()).collect();
    let formats: Vec<bool> = requests.iter().map(|request| !request["response_format"].is_null()).collect();
    assert_eq!(formats, [false, false, true], "this server would not call tools with a form of its answer");
    assert_eq!(requests[2]["tool_choice"], "none");
}

#[tokio::test]
async fn the_report_has_the_value_and_how_it_was_repaired() {
    let server = ModelServer::start([Turn::text(r#"{"price": "3"}"#)]).await.unwrap();
    let dir = dir(&brain(&server.base_url()));
    let report =
        dir.run(["run", "app.yaml", "Price?", "--schema", "price.yaml", "--json"]).await.expect(0).json();
    assert_eq!((&report["outcome"], &report["output"]), (&json!("completed"), &json!({"price": 3})));
    assert_eq!(report["output_repairs"][0]["path"], "/price");
    assert_eq!(report["text"], r#"{"price": "3"}"#);
}

#[tokio::test]
async fn a_schema_that_cannot_be_used_ends_the_command_before_the_model_is_asked() {
    let server = ModelServer::start([Turn::text("Never said.")]).await.unwrap();
    let dir = dir(&brain(&server.base_url())).with_file("wrong.json", r#"{"type": "objekt"}"#);
    for (file, told) in [("missing.json", "missing.json"), ("wrong.json", "objekt")] {
        let run_output = dir.run(["run", "app.yaml", "Price?", "--schema", file]).await.expect(2);
        assert!(run_output.stderr.contains(told), "{}", run_output.stderr);
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_retry_and_a_fallback_are_told_on_the_terminal_in_the_report_and_in_the_trace() {
    let script = |answers: Value, repeats: bool| {
        FaultScript::from_value(json!({"answers": answers, "repeats": repeats})).unwrap()
    };
    let busy = json!([{"status": 503, "headers": {"retry-after": "0"}, "body": []}]);
    let says = json!([{"body": [{"say": "Three euro."}, {"finish": "stop"}, "done"]}]);
    let first = FaultyModel::start(script(busy, true), 0).await.unwrap();
    let other = FaultyModel::start(script(says, true), 0).await.unwrap();
    let mut brain = brain(&first.base_url());
    brain["fallback"] = json!([{"provider": "openai", "model": "other", "base_url": other.base_url()}]);
    let dir = dir(&brain);
    let run_output = dir.run(["run", "app.yaml", "Price?", "--trace", "run.html"]).await.expect(0);
    assert!(
        run_output.stderr.contains("asking again in") && run_output.stderr.contains("asking `other` instead"),
        "{}",
        run_output.stderr
    );
    assert!(run_output.stderr.contains("answered by other"), "{}", run_output.stderr);
    let page = dir.read("run.html");
    assert!(page.contains("asking again in") && page.contains("asking `other` instead"), "{page}");
    assert!(page.contains("answered by other"), "{page}");

    let arguments = ["run", "app.yaml", "Price?", "--session", "s", "--json"];
    let report = dir.run(arguments).await.expect(0).json();
    let notices = report["notices"].to_string();
    assert!(notices.contains("asking again in") && notices.contains("asking `other` instead"), "{notices}");
    assert_eq!(report["models"], json!(["other"]));
    dir.run(["trace", "app.yaml", "--session", "s", "--output", "session.html"]).await.expect(0);
    let page = dir.read("session.html");
    assert!(page.contains("asking `other` instead") && page.contains("answered by other"), "{page}");
}
