//! Conversations across wire formats: recorded in one and replayed in another, continued by a model of another provider, and
//! continued in another process.

use serde_json::{Value, json};
use toolcrib_testkit::{FaultScript, FaultyModel, ModelFormat};

use crate::faulty_models::{TOOLS, provider};
use crate::support::TestDir;

/// The formats whose APIs load tools that a search finds.
const DEFERRING: [ModelFormat; 2] = [ModelFormat::Messages, ModelFormat::Responses];

/// Starts a server with these answers.
async fn server(answers: Value) -> FaultyModel {
    FaultyModel::start(FaultScript::from_value(json!({ "answers": answers })).unwrap(), 0).await.unwrap()
}

/// Returns the brain of a model with a format at a server.
fn brain(format: ModelFormat, server: &FaultyModel) -> Value {
    json!({"provider": provider(format).0, "model": format.as_str(), "base_url": server.base_url()})
}

/// Returns the text of an app with this brain.
fn app(brain: &Value) -> String {
    json!({
        "agents": [{"id": "clerk", "brain": brain}],
        "tools": {
            "registry": [{"type": "file", "path": "tools.yaml", "engine": "shop"}],
            "engines": {"shop": {"type": "command", "argv": ["echo", "{item}: 3 euro"]}},
            "capabilities": {"default_policy": "grant"},
        },
    })
    .to_string()
}

fn dir(brain: &Value) -> TestDir {
    let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"];
    let dir = TestDir::with_app(&app(brain)).with_file("tools.yaml", TOOLS);
    keys.into_iter().fold(dir, |dir, key| dir.with_variable(key, "sk-test"))
}

/// Thinks and calls the tool.
fn calls() -> Value {
    let call = json!({"index": 0, "id": "a", "name": "shop__price", "arguments": "{\"item\": \"lamp\"}"});
    json!({"body": [{"think": "Hm."}, {"say": "I look."}, {"call": call}, {"finish": "tool_calls"}, "usage", "done"]})
}

fn says(text: &str) -> Value {
    json!({"body": [{"say": text}, {"finish": "stop"}, "usage", "done"]})
}

/// Returns true if a request holds a part that only its provider understands.
fn holds_signature(server: &FaultyModel, request: usize) -> bool {
    let body = String::from_utf8_lossy(&server.requests()[request].body).into_owned();
    body.contains("c2lnbmVk") || body.contains("ZW5jcnlwdGVk")
}

#[tokio::test]
async fn a_run_that_is_recorded_in_one_format_replays_with_the_brain_of_any_other() {
    for format in ModelFormat::ALL {
        let live = server(json!([calls(), says("Three euro.")])).await;
        let dir = dir(&brain(format, &live));
        let run_output = dir.run(["run", "app.yaml", "Price?", "--record", "turns.yaml", "--json"]).await;
        let report = run_output.expect(0).json();
        assert_eq!(report["text"], "Three euro.", "{format:?}");
        assert_eq!(live.problems(), Vec::<String>::new());
        for other in ModelFormat::ALL {
            std::fs::write(dir.path("app.yaml"), app(&brain(other, &live))).unwrap();
            let replay = ["run", "app.yaml", "Price?", "--replay", "turns.yaml", "--json"];
            let replayed = dir.run(replay).await.expect(0).json();
            assert_eq!(replayed["text"], report["text"], "{format:?} as {other:?}");
            assert_eq!(replayed["calls"][0]["arguments"], json!({"item": "lamp"}));
        }
        assert_eq!(live.requests().len(), 2, "a replay asks no server");
    }
}

#[tokio::test]
async fn a_fallback_of_another_provider_goes_on_and_the_report_names_both_models() {
    for format in ModelFormat::ALL {
        for other in ModelFormat::ALL.into_iter().filter(|other| *other != format) {
            let no_quota = json!({"status": 402, "body": [{"json": {"error": {"message": "No credit."}}}]});
            let first = server(json!([calls(), no_quota])).await;
            let second = server(json!([says("Three euro.")])).await;
            let mut brain_of_both = brain(format, &first);
            brain_of_both["fallback"] = json!([brain(other, &second)]);
            let run_output = dir(&brain_of_both).run(["run", "app.yaml", "Price?", "--json"]).await;
            let report = run_output.expect(0).json();
            assert_eq!(report["text"], "Three euro.", "{format:?} to {other:?}");
            assert_eq!(report["models"], json!([format.as_str(), other.as_str()]));
            let notice = report["notices"][0].as_str().unwrap();
            assert!(
                notice.contains("No credit.") && notice.contains(&format!("asking `{}`", other.as_str()))
            );
            assert_eq!([first.problems(), second.problems()].concat(), Vec::<String>::new());
            assert!(!holds_signature(&second, 0), "{format:?} to {other:?}");
        }
    }
}

#[tokio::test]
async fn a_session_returns_what_only_the_provider_understands_in_the_next_process() {
    for format in ModelFormat::ALL.into_iter().filter(|format| *format != ModelFormat::ChatCompletions) {
        let server = server(json!([calls(), says("Three euro."), says("Four euro.")])).await;
        let dir = dir(&brain(format, &server));
        dir.run(["run", "app.yaml", "A lamp?", "--session", "a", "--json"]).await.expect(0);
        dir.run(["run", "app.yaml", "A chair?", "--session", "a", "--json"]).await.expect(0);
        assert_eq!(server.problems(), Vec::<String>::new(), "{format:?}");
        let held: Vec<_> = (0..3).map(|request| holds_signature(&server, request)).collect();
        assert_eq!(held, [false, true, true], "{format:?}");
    }
}

/// Returns the name of the tool that searches in the scripts of a format.
pub(crate) fn search_name(format: ModelFormat) -> &'static str {
    if format == ModelFormat::Responses { "tool_search" } else { "search_tools" }
}

/// Returns an answer with one call.
fn calling(name: &str, arguments: &Value) -> Value {
    let call = json!({"index": 0, "id": name, "name": name, "arguments": arguments.to_string()});
    json!({"body": [{"think": "Hm."}, {"call": call}, {"finish": "tool_calls"}, "usage", "done"]})
}

/// A dir whose agent has native injection, and many tools of which one is denied.
fn native_lab(format: ModelFormat, server: &FaultyModel) -> TestDir {
    let brain = brain(format, server);
    let mut app: Value = serde_json::from_str(&app(&brain)).unwrap();
    app["runtime"] = json!({"tool_injection": "native"});
    app["tools"]["capabilities"]["deny"] = json!([{"module": "shop", "actions": ["refund"]}]);
    let more =
        "  - {name: refund, description: Pays the price of an item back., parameters: {type: object}}\n";
    let tools = (0..40).fold(format!("{TOOLS}{more}"), |tools, number| {
        tools + &format!("  - {{name: other_{number}, description: Does something else.}}\n")
    });
    dir(&brain).with_file("app.yaml", app.to_string()).with_file("tools.yaml", tools)
}

/// Runs an agent that searches, and calls what the search found. Returns the dir and the server, which has the requests.
pub(crate) async fn native_run(format: ModelFormat) -> (TestDir, FaultyModel) {
    let answers = json!([
        calling(search_name(format), &json!({"query": "what an item costs"})),
        calling("shop__price", &json!({"item": "lamp"})),
        calling(search_name(format), &json!({"query": "weather on mars"})),
        says("Three euro."),
    ]);
    let server = server(answers).await;
    let dir = native_lab(format, &server);
    let report = dir.run(["run", "app.yaml", "Price?", "--json"]).await.expect(0).json();
    assert_eq!(server.problems(), Vec::<String>::new(), "{format:?}");
    assert_eq!(report["text"], "Three euro.", "{format:?}");
    let calls: Vec<_> = report["calls"].as_array().unwrap().iter().map(|call| &call["name"]).collect();
    let search = "context_builder::search_tools";
    assert_eq!(calls, [search, "shop::price", search], "{format:?}: {report:#}");
    assert_eq!(report["calls"][1]["ok"], true);
    (dir, server)
}

/// Runs an agent whose brain has these keys too, and whose model answers at once.
pub(crate) async fn run_with_brain(format: ModelFormat, keys: &Value) -> (TestDir, FaultyModel) {
    let server = server(json!([says("Three euro.")])).await;
    let mut brain = brain(format, &server);
    for (key, value) in keys.as_object().unwrap() {
        brain[key] = value.clone();
    }
    let order = "  - name: order
    description: Orders an item.
    parameters:
      type: object
      properties: {item: {type: string}}
      required: [item]
      additionalProperties: false
";
    let dir = dir(&brain).with_file("tools.yaml", format!("{TOOLS}{order}"));
    let report = dir.run(["run", "app.yaml", "Price?", "--json"]).await.expect(0).json();
    assert_eq!(server.problems(), Vec::<String>::new(), "{format:?}");
    assert_eq!(report["text"], "Three euro.", "{format:?}");
    (dir, server)
}

/// Returns the tools of a request that the model sees from the beginning, and those that are loaded.
fn tools_of(format: ModelFormat, body: &Value) -> [Vec<Value>; 2] {
    let all = body["tools"].as_array().unwrap().clone();
    let (deferred, offered): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|tool| tool["defer_loading"] == true);
    if format == ModelFormat::Messages {
        return [offered, deferred];
    }
    assert!(deferred.is_empty());
    let items = body["input"].as_array().unwrap().iter();
    let outputs = items.filter(|item| item["type"] == "tool_search_output");
    [offered, outputs.flat_map(|output| output["tools"].as_array().unwrap()).cloned().collect()]
}

#[tokio::test]
async fn a_search_loads_the_tools_that_it_finds_and_what_stands_before_the_conversation_stays() {
    for format in DEFERRING {
        let (dir, server) = native_run(format).await;
        let bodies: Vec<Value> = server.requests().iter().map(|request| request.json().unwrap()).collect();
        let first = tools_of(format, &bodies[0]);
        assert!(first[1].is_empty());
        let names: Vec<_> =
            first[0].iter().map(|tool| tool["name"].as_str().unwrap_or("tool_search")).collect();
        assert!(names.contains(&search_name(format)) && !names.contains(&"execute_tool"), "{names:?}");
        for body in &bodies {
            assert_eq!(tools_of(format, body)[0], first[0], "{format:?}");
            assert_eq!(
                [&body["system"], &body["instructions"]],
                [&bodies[0]["system"], &bodies[0]["instructions"]]
            );
        }
        let loaded = &tools_of(format, &bodies[3])[1];
        assert_eq!(loaded[0]["name"], "shop__price");
        assert!(loaded.iter().all(|tool| tool["name"] != "shop__refund"), "a denied tool is not loaded");
        for pair in bodies.windows(2) {
            let [one, next] = [&pair[0], &pair[1]].map(|body| tools_of(format, body)[1].clone());
            assert!(next.starts_with(&one), "{format:?}: what is loaded stays");
        }

        let plan = dir.run(["plan", "app.yaml", "--json"]).await.expect(0).json();
        let tokens = |mode: &str| plan["tokens"][mode].as_u64().unwrap();
        assert_eq!((&plan["mode"], tokens("native")), (&json!("native"), tokens("chosen")));
        assert!(tokens("native") < tokens("discovery") && tokens("discovery") < tokens("direct"), "{plan:#}");
        let told = dir.run(["plan", "app.yaml"]).await.expect(0).stdout;
        let line = told.lines().find(|line| line.starts_with("tokens: ")).unwrap();
        assert!(
            line.contains(&format!("discovery {}, native {}", tokens("discovery"), tokens("native"))),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_deferred_tool_that_no_search_found_is_not_run_and_the_model_is_told_how_to_load_it() {
    for format in DEFERRING {
        let answers = json!([
            calling("shop__price", &json!({"item": "lamp"})),
            calling("shop__refund", &json!({})),
            says("I cannot."),
        ]);
        let server = server(answers).await;
        let dir = native_lab(format, &server);
        let report = dir.run(["run", "app.yaml", "Price?", "--json"]).await.expect(0).json();
        assert_eq!(server.problems(), Vec::<String>::new(), "{format:?}");
        let oks: Vec<_> = report["calls"].as_array().unwrap().iter().map(|call| &call["ok"]).collect();
        assert_eq!(oks, [false, false], "{report:#}");
        let last = String::from_utf8_lossy(&server.requests()[2].body).into_owned();
        assert!(last.contains("find it with `search_tools`, which loads it"), "{last}");
        // The gate's own answer, which does not say that the tool exists.
        assert!(last.contains("unknown_tool") || last.contains("denied"), "{last}");
    }
}

#[tokio::test]
async fn native_injection_where_an_api_loads_no_tools_is_an_error_before_anything_starts() {
    let server = server(json!([])).await;
    for format in ModelFormat::ALL.into_iter().filter(|format| !DEFERRING.contains(format)) {
        for command in [vec!["validate", "app.yaml"], vec!["run", "app.yaml", "Price?"]] {
            let refused = native_lab(format, &server).run_words(&command).await.expect(2);
            let report = refused.report();
            assert!(
                report.contains("`tool_injection: native` needs a provider whose API loads tools"),
                "{report}"
            );
        }
    }
    assert!(server.requests().is_empty());
}
