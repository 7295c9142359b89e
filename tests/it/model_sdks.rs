//! The scripted servers against the official Python SDKs of the vendors: what these parse is what the script says, in each
//! wire format. So the servers that the loop is tested against speak the formats as their vendors mean them.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::time::timeout;
use toolcrib_testkit::{FaultScript, FaultyModel, ModelFormat};

use crate::model_formats::{native_run, run_with_brain};
use crate::support::{PATIENCE, TestDir, peer};

/// Returns what the SDK of a format has parsed: streamed, and as a whole.
async fn parsed(format: ModelFormat, script: &Value) -> Option<Value> {
    let server = FaultyModel::start(FaultScript::from_value(script.clone()).unwrap(), 0).await.unwrap();
    let parsed = asked(format, &server.base_url(), Stdio::null()).await?;
    assert_eq!(server.problems(), Vec::<String>::new(), "{format:?}");
    Some(parsed)
}

/// Returns what the program with the SDK of a format prints.
async fn asked(format: ModelFormat, argument: &str, input: Stdio) -> Option<Value> {
    let packages = peer("model_sdks")?;
    let dir = TestDir::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/model_sdks.py");
    let mut command = dir.command("python3", &dir.path("."));
    command.arg(script).arg(format.as_str()).arg(argument).env("PYTHONPATH", packages).stdin(input);
    let output = timeout(PATIENCE, command.output()).await.expect("the SDK answers").unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{format:?}: {told}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Returns the reason of an end as a format has it.
fn reason(format: ModelFormat, usual: &'static str) -> &'static str {
    match (format, usual) {
        (ModelFormat::Messages, "tool_calls") => "tool_use",
        (ModelFormat::Messages, _) => "max_tokens",
        (ModelFormat::Responses, "tool_calls") => "completed",
        (ModelFormat::Responses, _) => "incomplete",
        (ModelFormat::GenerateContent, "tool_calls") => "STOP",
        (ModelFormat::GenerateContent, _) => "MAX_TOKENS",
        _ => usual,
    }
}

#[tokio::test]
async fn an_official_sdk_parses_what_the_scripted_server_says() {
    let call = json!({"index": 0, "id": "a", "name": "shop__price", "arguments": "{\"item\": "});
    let rest = json!({"index": 0, "arguments": "\"lamp\"}"});
    let whole_call = json!({"id": "a", "name": "shop__price", "arguments": "{\"item\": \"lamp\"}"});
    let script = json!({"answers": [
        {"body": [
            "begin", {"think": "Hm, "}, {"think": "a lamp."}, {"say": "I "}, {"say": "look."}, {"call": call},
            {"call": rest}, {"finish": "tool_calls"}, "usage", "done",
        ]},
        {"body": [{"whole": {"say": "I look.", "calls": [whole_call], "finish": "tool_calls"}}]},
    ]});
    for format in ModelFormat::ALL {
        let Some(parsed) = parsed(format, &script).await else { return };
        let calls = json!([["a", "shop__price", {"item": "lamp"}]]);
        for (reply, thought) in parsed.as_array().unwrap().iter().zip(["Hm, a lamp.", ""]) {
            assert_eq!(reply[0].as_str().unwrap_or_default(), thought, "{format:?}");
            let rest = json!([reply[1], reply[2], reply[3]]);
            assert_eq!(rest, json!(["I look.", calls, reason(format, "tool_calls")]), "{format:?}");
        }
        assert_eq!(parsed[0][4], json!([100, 10]), "{format:?}");
    }
}

#[tokio::test]
async fn an_official_sdk_sees_that_an_answer_was_cut() {
    let script = json!({"answers": [
        {"body": [{"say": "The half"}, {"finish": "length"}, "usage", "done"]},
        {"body": [{"whole": {"say": "The half", "finish": "length"}}]},
    ]});
    for format in ModelFormat::ALL {
        let Some(parsed) = parsed(format, &script).await else { return };
        for reply in parsed.as_array().unwrap() {
            assert_eq!(
                (reply[1].as_str(), reply[3].as_str()),
                (Some("The half"), Some(reason(format, "length")))
            );
        }
    }
}

#[tokio::test]
async fn the_types_of_an_official_sdk_take_requests_with_deferred_tools_whole() {
    for format in [ModelFormat::Messages, ModelFormat::Responses] {
        let (dir, server) = native_run(format).await;
        let bodies: Vec<Value> = server.requests().iter().map(|request| request.json().unwrap()).collect();
        assert!(bodies.last().unwrap().to_string().contains(r#""defer_loading":true"#), "{format:?}");
        let path = dir.path("requests.json");
        std::fs::write(&path, json!(bodies).to_string()).unwrap();
        let Some(read) = asked(format, "-", File::open(path).unwrap().into()).await else { return };
        assert_eq!(read, json!(bodies), "{format:?}");
    }
}

#[tokio::test]
async fn an_official_sdk_parses_a_search_that_the_client_runs() {
    let search =
        json!({"index": 0, "id": "a", "name": "tool_search", "arguments": "{\"query\": \"prices\"}"});
    let script = json!({"answers": [
        {"body": [{"say": "I look."}, {"call": search}, {"finish": "tool_calls"}, "usage", "done"]},
        {"body": [{"whole": {"say": "I look.", "calls": [search], "finish": "tool_calls"}}]},
    ]});
    let Some(parsed) = parsed(ModelFormat::Responses, &script).await else { return };
    for reply in parsed.as_array().unwrap() {
        assert_eq!(reply[2], json!([["a", "tool_search", {"query": "prices"}]]));
    }
}

#[tokio::test]
async fn the_types_of_an_official_sdk_take_requests_with_each_form_of_tools() {
    let price = json!(["shop.price", "shop::order"]);
    for (format, forms) in [
        (ModelFormat::Messages, json!({"strict_tools": true, "eager_tool_streaming": true})),
        (
            ModelFormat::Responses,
            json!({"strict_tools": true, "text_tools": ["shop.price"], "tool_choice": price}),
        ),
    ] {
        let (dir, server) = run_with_brain(format, &forms).await;
        let body: Value = server.requests()[0].json().unwrap();
        let tools = body["tools"].as_array().unwrap();
        let named = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!(named("shop__order")["strict"], true, "{format:?}: {body:#}");
        if format == ModelFormat::Responses {
            assert_eq!(named("shop__price")["type"], "custom");
            assert_eq!(body["tool_choice"]["type"], "allowed_tools");
        } else {
            assert_eq!(named("shop__price")["eager_input_streaming"], true);
        }
        let path = dir.path("requests.json");
        std::fs::write(&path, json!([body]).to_string()).unwrap();
        let Some(read) = asked(format, "-", File::open(path).unwrap().into()).await else { return };
        assert_eq!(read, json!([body]), "{format:?}");
    }
}
