//! Direct, compact, discovery and mixed, native and in text: one task, the same effects, and the figures of the plan.

use serde_json::{Value, json};
use tiktoken_rs::o200k_base_singleton;
use toolcrib_testkit::{ModelRequest, ModelServer, Turn};

use crate::support::{AgentApp, RunOutput, TestDir, transcript};

/// A model whose tokens are counted with a table.
const MODEL: &str = "gpt-5-mini";

const MODES: [(&str, &str); 4] = [
    ("direct", ", tool_injection: direct"),
    ("compact", ", tool_injection: compact"),
    ("discovery", ", tool_injection: discovery"),
    // Pinned by the first spelling that comes to mind, and a list of the others.
    ("mixed", ", tool_injection: mixed, pinned: [price]"),
];

fn desk(mode: &str, is_native: bool) -> AgentApp {
    let (_, runtime) = *MODES.iter().find(|(name, _)| *name == mode).unwrap();
    AgentApp { is_native, runtime, model: MODEL, ..AgentApp::default() }
}

/// What is done in each mode.
fn steps() -> [(&'static str, Value); 3] {
    [
        ("filesystem.read", json!({"path": "note.txt"})),
        ("shop.price", json!({"item": "lamp"})),
        ("filesystem.write", json!({"path": "answer.txt", "content": "3 euro"})),
    ]
}

/// The steps as a model takes them that sees every tool, has a list of them, or has to find them first.
fn turns(is_native: bool, mode: &str) -> Vec<Turn> {
    let call = |name: &str, arguments: &Value| {
        if is_native { Turn::call(name, arguments) } else { Turn::text_call(name, arguments) }
    };
    let mut turns = Vec::new();
    if mode == "discovery" {
        turns.push(call("search_tools", &json!({"query": "what an item costs", "max_results": 2})));
    }
    if mode != "direct" {
        turns.push(call("get_tool", &json!({"name": "shop.price"})));
    }
    turns.extend(steps().iter().map(|(name, arguments)| match (mode, *name) {
        ("direct", _) | ("mixed", "shop.price") => call(&name.replace('.', "__"), arguments),
        // Also by its own name, though the model was only told of it.
        ("compact", "filesystem.read") => call(name, arguments),
        _ => call("execute_tool", &json!({"name": name, "params": arguments})),
    }));
    turns.push(Turn::text("Written."));
    turns
}

/// What came of a run, apart from when and by which way.
fn effects(dir: &TestDir, output: &RunOutput) -> Value {
    let report = output.json();
    let calls = report["calls"].as_array().unwrap().clone();
    assert!(calls.iter().all(|call| call["ok"] == true), "{report:#}");
    let done: Vec<_> = calls
        .into_iter()
        .map(|call| (call["name"].as_str().unwrap().replace("::", "."), call["arguments"].clone()))
        .filter(|(name, _)| !name.starts_with("context_builder."))
        .collect();
    json!([report["outcome"], report["text"], done, dir.read("asked.txt"), dir.read("work/answer.txt")])
}

#[tokio::test]
async fn one_task_has_the_same_effects_in_every_mode_and_style() {
    let done = steps().map(|(name, arguments)| json!([name, arguments]));
    let expected = json!(["completed", "Written.", done, "lamp\n", "3 euro"]);
    for (mode, _) in MODES {
        for is_native in [true, false] {
            let (dir, server, output) = desk(mode, is_native).run(turns(is_native, mode)).await;
            let output = output.expect(0);
            assert_eq!(effects(&dir, &output), expected, "{mode}, native: {is_native}");
            let requests = server.requests();
            // Fails when a request does not begin as the one before it.
            transcript(&requests);
            for request in &requests {
                assert_eq!(before_the_conversation(request), before_the_conversation(&requests[0]));
            }
            the_plan_says_what_was_sent(&dir, mode, &requests[0]).await;
        }
    }
}

/// The bytes of a request before the first message of the user.
fn before_the_conversation(request: &ModelRequest) -> &str {
    let body = std::str::from_utf8(&request.body).unwrap();
    body.split_once(r#"{"role":"user""#).unwrap().0
}

/// Compares the figures of `plan` with those that are counted on what a server received.
async fn the_plan_says_what_was_sent(dir: &TestDir, mode: &str, request: &ModelRequest) {
    let plan = dir.run(["plan", "app.yaml", "--json"]).await.expect(0).json();
    let sent = request.json().unwrap();
    assert_eq!((&plan["mode"], &plan["tokenizer"]), (&json!(mode), &json!("o200k_base")));

    let prompt = sent["messages"][0]["content"].as_str().unwrap();
    assert_eq!(plan["system_prompt"], prompt);
    let tools: Vec<_> =
        sent["tools"].as_array().into_iter().flatten().map(|tool| count(&tool.to_string())).collect();
    let part = |name: &str| {
        let parts = plan["parts"].as_array().unwrap();
        parts.iter().find(|part| part["part"] == name).unwrap()["tokens"].as_u64().unwrap()
    };
    assert_eq!(part("system_prompt"), count(prompt));
    assert_eq!(part("tools"), tools.iter().sum::<u64>());
    assert_eq!(part("total"), part("tools") + part("system_prompt"));

    let planned: Vec<_> =
        plan["tools"].as_array().unwrap().iter().map(|tool| tool["tokens"].as_u64().unwrap()).collect();
    if !tools.is_empty() {
        assert_eq!(planned, tools);
    }
    let lines =
        prompt.lines().filter(|line| line.starts_with("- ") && line.split(':').next().unwrap().contains('.'));
    let list: u64 = lines.map(|line| count(&format!("{line}\n"))).sum();
    let chosen = planned.iter().sum::<u64>() + list;
    assert_eq!(plan["tokens"]["chosen"], chosen);
    if let Some(figure) = plan["tokens"].get(mode) {
        assert_eq!(figure, &json!(chosen));
    }
}

fn count(text: &str) -> u64 {
    o200k_base_singleton().count_ordinary(text) as u64
}

#[tokio::test]
async fn what_each_mode_sends() {
    for (mode, is_native) in
        [("direct", false), ("compact", true), ("discovery", true), ("discovery", false), ("mixed", true)]
    {
        let (dir, server, output) = desk(mode, is_native).run(turns(is_native, mode)).await;
        output.expect(0);
        let name = format!("{mode}_{}", if is_native { "native" } else { "text" });
        let sent = transcript(&server.requests());
        dir.snapshot_settings().bind(|| insta::assert_snapshot!(name, sent));
    }
}

#[tokio::test]
async fn a_tool_that_was_only_found_runs_when_it_is_called_by_its_own_name() {
    for name in ["shop__price", "shop.price", "price"] {
        let turns = [Turn::call(name, &json!({"item": "lamp"})), Turn::text("3 euro.")];
        let (dir, _, output) = desk("discovery", true).run(turns).await;
        let report = output.expect(0).json();
        assert_eq!(
            (&report["calls"][0]["name"], &report["calls"][0]["ok"]),
            (&json!("shop::price"), &json!(true))
        );
        assert_eq!(dir.read("asked.txt"), "lamp\n");
    }
}

#[tokio::test]
async fn the_mode_changes_exactly_where_the_tools_no_longer_fit_the_budget() {
    let server = ModelServer::start([]).await.unwrap();
    // Seven tools of 200 tokens, a fifth of the window.
    for (context_window, mode) in [(7_000, "direct"), (6_999, "discovery")] {
        let dir =
            AgentApp { context_window, runtime: ", estimate: per_tool", ..AgentApp::default() }.dir(&server);
        let plan = dir.run(["plan", "app.yaml", "--json"]).await.expect(0).json();
        assert_eq!((&plan["mode"], &plan["tokens"]["direct"]), (&json!(mode), &json!(1_400)));
    }
}

#[tokio::test]
async fn the_first_turn_may_be_made_to_call_a_tool_which_the_model_sees_then() {
    for (choice, sent) in [
        ("auto", Value::Null),
        ("none", json!("none")),
        ("required", json!("required")),
        ("shop.price", json!({"type": "function", "function": {"name": "shop__price"}})),
    ] {
        let server =
            ModelServer::start([Turn::call("shop__price", &json!({"item": "lamp"})), Turn::text("3.")]);
        let server = server.await.unwrap();
        let dir = desk("discovery", true).dir(&server);
        let app = dir
            .read("app.yaml")
            .replace("      stream:", &format!("      tool_choice: {choice}\n      stream:"));
        let dir = dir.with_file("app.yaml", &app);
        dir.run(["run", "app.yaml", "Price?", "--json"]).await.expect(0);
        let bodies: Vec<_> = server.requests().iter().map(|request| request.json().unwrap()).collect();
        assert_eq!(bodies[0].get("tool_choice").cloned().unwrap_or_default(), sent, "{choice}");
        assert_eq!(bodies[1].get("tool_choice"), None, "{choice}");
        let is_seen = bodies[0]["tools"].to_string().contains("shop__price");
        assert_eq!(is_seen, choice == "shop.price");
    }
    let dir = AgentApp::default().dir(&ModelServer::start([]).await.unwrap());
    let app = dir.read("app.yaml").replace("      stream:", "      tool_choice: requird\n      stream:");
    let refused = dir.with_file("app.yaml", &app).run(["validate", "app.yaml"]).await.expect(2);
    assert!(
        refused.report().contains("unknown `tool_choice` `requird`; write `auto`"),
        "{}",
        refused.report()
    );
}

#[tokio::test]
async fn a_tool_that_was_looked_at_is_added_behind_the_others_and_nothing_before_it_changes() {
    let desk = AgentApp { runtime: ", tool_injection: discovery, reveal: append", ..desk("discovery", true) };
    let look = |tool: &str| Turn::call("get_tool", &json!({"name": tool}));
    let turns = [
        Turn::call("search_tools", &json!({"query": "what an item costs"})),
        look("shop.price").and_call("get_tool", &json!({"name": "shop::price"})),
        Turn::call("shop__price", &json!({"item": "lamp"})),
        look("filesystem.ls").and_call("get_tool", &json!({"name": "no.such"})),
        Turn::text("3 euro."),
    ];
    let (dir, server, output) = desk.run(turns).await;
    let report = output.expect(0).json();
    assert_eq!((&report["outcome"], dir.read("asked.txt").as_str()), (&json!("completed"), "lamp\n"));

    let bodies: Vec<String> =
        server.requests().iter().map(|request| String::from_utf8(request.body.to_vec()).unwrap()).collect();
    let parts: Vec<(&str, &str)> =
        bodies.iter().map(|body| body.split_once(r#"],"messages":["#).unwrap()).collect();
    for pair in parts.windows(2) {
        assert!(pair[1].0.starts_with(pair[0].0), "the tools begin as before");
        let said = pair[0].1.strip_suffix("]}").unwrap();
        assert!(pair[1].1.starts_with(said), "the conversation begins as before");
    }
    let added: Vec<Vec<String>> =
        parts.windows(2).map(|pair| names_in(&pair[1].0[pair[0].0.len()..])).collect();
    assert_eq!(added, [vec![], vec!["shop__price".to_owned()], vec![], vec!["filesystem__ls".to_owned()]]);
}

/// The names of the functions in a piece of the list of tools.
fn names_in(piece: &str) -> Vec<String> {
    let tools: Vec<Value> = serde_json::from_str(&format!("[{}]", piece.trim_start_matches(','))).unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}
