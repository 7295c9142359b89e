//! Direct and discovery, native and in text: one task, the same effects.

use serde_json::{Value, json};
use toolcrib_testkit::{ModelServer, Turn};

use crate::support::{Desk, Lab, transcript};

/// A fifth of it is less than the seven tools of the desk are taken to cost.
const SMALL_WINDOW: u32 = 4_000;

/// What is done in each mode.
fn steps() -> [(&'static str, Value); 3] {
    [
        ("filesystem.read", json!({"path": "note.txt"})),
        ("shop.price", json!({"item": "lamp"})),
        ("filesystem.write", json!({"path": "answer.txt", "content": "3 euro"})),
    ]
}

/// The steps as a model takes them that sees every tool, or that has to find them first.
fn turns(desk: Desk, mode: &str) -> Vec<Turn> {
    let call = |name: &str, arguments: &Value| {
        if desk.is_native { Turn::call(name, arguments) } else { Turn::text_call(name, arguments) }
    };
    let mut turns = Vec::new();
    if mode == "discovery" {
        turns.push(call("search_tools", &json!({"query": "what an item costs", "max_results": 2})));
        turns.push(call("get_tool", &json!({"name": "shop.price"})));
    }
    turns.extend(steps().iter().map(|(name, arguments)| match mode {
        "discovery" => call("execute_tool", &json!({"name": name, "params": arguments})),
        _ => call(&name.replace('.', "__"), arguments),
    }));
    turns.push(Turn::text("Written."));
    turns
}

/// Does the task, checks its effects, and returns what the model was sent.
async fn do_the_task(desk: Desk, mode: &str) -> (Lab, String) {
    let (lab, server, ran) = desk.run(turns(desk, mode)).await;
    let plan = lab.run(["plan", "app.yaml", "--json"]).await.expect(0).json();
    assert_eq!(plan["mode"], mode);

    let report = ran.expect(0).json();
    assert_eq!((&report["outcome"], &report["text"]), (&json!("completed"), &json!("Written.")));
    let calls = report["calls"].as_array().unwrap().iter();
    assert!(calls.clone().all(|call| call["ok"] == true), "{report:#}");
    let done: Vec<_> = calls
        .map(|call| (call["name"].as_str().unwrap().replace("::", "."), call["arguments"].clone()))
        .filter(|(name, _)| !name.starts_with("context_builder."))
        .collect();
    assert_eq!(done, steps().map(|(name, arguments)| (name.to_owned(), arguments)));
    assert_eq!(lab.read("asked.txt"), "lamp\n");
    assert_eq!(lab.read("work/answer.txt"), "3 euro");
    (lab, transcript(&server.requests()))
}

#[tokio::test]
async fn direct_and_native() {
    // What is sent, `agent.rs` compares byte for byte.
    do_the_task(Desk::default(), "direct").await;
}

#[tokio::test]
async fn direct_and_in_text() {
    let (lab, sent) = do_the_task(Desk { is_native: false, ..Desk::default() }, "direct").await;
    snapshot!(lab, sent);
}

#[tokio::test]
async fn discovery_and_native() {
    let desk = Desk { context_window: SMALL_WINDOW, ..Desk::default() };
    let (lab, sent) = do_the_task(desk, "discovery").await;
    snapshot!(lab, sent);
}

#[tokio::test]
async fn discovery_and_in_text() {
    let desk = Desk { context_window: SMALL_WINDOW, is_native: false, ..Desk::default() };
    let (lab, sent) = do_the_task(desk, "discovery").await;
    snapshot!(lab, sent);
}

#[tokio::test]
async fn a_tool_that_was_only_found_runs_when_it_is_called_by_its_own_name() {
    let desk = Desk { context_window: SMALL_WINDOW, ..Desk::default() };
    for name in ["shop__price", "shop.price", "price"] {
        let turns = [Turn::call(name, &json!({"item": "lamp"})), Turn::text("3 euro.")];
        let (lab, _, ran) = desk.run(turns).await;
        let report = ran.expect(0).json();
        assert_eq!(
            (&report["calls"][0]["name"], &report["calls"][0]["ok"]),
            (&json!("shop::price"), &json!(true))
        );
        assert_eq!(lab.read("asked.txt"), "lamp\n");
    }
}

#[tokio::test]
async fn the_mode_changes_exactly_where_the_tools_no_longer_fit_the_budget() {
    let server = ModelServer::start([]).await.unwrap();
    // Seven tools of 200 tokens, a fifth of the window.
    for (context_window, mode) in [(7_000, "direct"), (6_999, "discovery")] {
        let lab = Desk { context_window, ..Desk::default() }.lab(&server);
        let plan = lab.run(["plan", "app.yaml", "--json"]).await.expect(0).json();
        assert_eq!((&plan["mode"], &plan["tokens"]["direct"]), (&json!(mode), &json!(1_400)));
    }
}
