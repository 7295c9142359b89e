//! Conversations across wire formats: recorded in one and replayed in another, continued by a model of another provider, and
//! continued in another process.

use serde_json::{Value, json};
use toolcrib_testkit::{FaultScript, FaultyModel, ModelFormat};

use crate::faulty_models::{TOOLS, provider};
use crate::support::Lab;

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

fn lab(brain: &Value) -> Lab {
    let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"];
    let lab = Lab::with_app(&app(brain)).with_file("tools.yaml", TOOLS);
    keys.into_iter().fold(lab, |lab, key| lab.with_variable(key, "sk-test"))
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
        let lab = lab(&brain(format, &live));
        let ran = lab.run(["run", "app.yaml", "Price?", "--record", "turns.yaml", "--json"]).await;
        let report = ran.expect(0).json();
        assert_eq!(report["text"], "Three euro.", "{format:?}");
        assert_eq!(live.problems(), Vec::<String>::new());
        for other in ModelFormat::ALL {
            std::fs::write(lab.path("app.yaml"), app(&brain(other, &live))).unwrap();
            let replay = ["run", "app.yaml", "Price?", "--replay", "turns.yaml", "--json"];
            let replayed = lab.run(replay).await.expect(0).json();
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
            let ran = lab(&brain_of_both).run(["run", "app.yaml", "Price?", "--json"]).await;
            let report = ran.expect(0).json();
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
        let lab = lab(&brain(format, &server));
        lab.run(["run", "app.yaml", "A lamp?", "--session", "a", "--json"]).await.expect(0);
        lab.run(["run", "app.yaml", "A chair?", "--session", "a", "--json"]).await.expect(0);
        assert_eq!(server.problems(), Vec::<String>::new(), "{format:?}");
        let held: Vec<_> = (0..3).map(|request| holds_signature(&server, request)).collect();
        assert_eq!(held, [false, true, true], "{format:?}");
    }
}
