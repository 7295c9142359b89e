//! What becomes of calls.

use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_model::{QualifiedName, Tool, ToolCall, ToolResult};
use toolcrib_port::{CallContext, Catalogue, ToolCaller};
use toolcrib_prompt::{InjectionSettings, Plan, WireNames};

use super::super::{Agent, AgentSettings, Conversation, Observer, Outcome, RunLimits};
use super::{Caller, agent, call, calls, limited, results, run, says, scripted};
use crate::Message;
use crate::chat::ToolChoice;

/// Runs what begins with `read` when three of them are there, and notes the order of all.
struct Meeting {
    readers: tokio::sync::Barrier,
    order: Mutex<Vec<String>>,
}

#[async_trait]
impl ToolCaller for Meeting {
    async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
        if call.name.starts_with("read") {
            self.readers.wait().await;
        } else {
            self.order.lock().push(call.name.clone());
        }
        ToolResult::ok(call.call_id, call.name, json!("done"))
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for Meeting {
    fn only_reads(&self, call: &ToolCall, _context: &CallContext) -> bool {
        call.name.starts_with("read")
    }
}

#[tokio::test]
async fn neighbours_that_only_read_run_side_by_side_and_others_in_order() {
    let model = scripted(|turn, _| match turn {
        1 => {
            let names = ["read.a", "read.b", "read.c", "write.a", "write.b", "read.d", "read.e", "read.f"];
            calls(names.map(|name| call(name, name, "{}")).into())
        }
        _ => says("Done."),
    });
    let caller = Meeting { readers: tokio::sync::Barrier::new(3), order: Mutex::default() };
    let mut conversation = Conversation::new();
    let context = CallContext::new("session");
    let agent = agent();
    let mut nobody = ();
    let running = agent.run("Go.", &mut conversation, &model, &caller, &context, &mut nobody);
    let report = tokio::time::timeout(Duration::from_mins(1), running).await.expect("three readers meet");
    assert!(report.calls.iter().all(|call| call.ok) && report.calls.len() == 8, "{report:?}");
    assert_eq!(*caller.order.lock(), ["write.a", "write.b"]);
    let ids: Vec<_> = results(&conversation).iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(ids, ["read.a", "read.b", "read.c", "write.a", "write.b", "read.d", "read.e", "read.f"]);
}

/// Finds one tool, and says how it is called.
struct Finder;

#[async_trait]
impl ToolCaller for Finder {
    async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
        let found = json!({"results": ["notes.add(text: str) — Adds a note."]});
        ToolResult::ok(call.call_id, call.name, found)
    }
}

#[tokio::test]
async fn searching_without_calling_is_answered_with_how_to_call_and_then_with_an_end() {
    let meta = |name: &str, step: &str| {
        let tool = Tool::new(QualifiedName::new("context_builder", name).unwrap());
        tool.with_metadata("discovery", true).with_metadata("discovery_step", step)
    };
    let tools = [meta("find", "discover"), meta("inspect", "inspect"), meta("execute", "execute")];
    let names = WireNames::new(&tools, "context_builder", &["find", "inspect", "execute"]);
    let mut injection = InjectionSettings::default();
    injection.mode = toolcrib_prompt::InjectionMode::Discovery;
    let plan = Plan::new(&tools, &injection, &names).unwrap();
    let agent = Agent::new(AgentSettings::new("assistant", "a-model", &plan, names));
    let called = ["find", "find", "inspect", "find", "find", "execute", "find"];
    let model = scripted(|turn, _| match called.get(turn - 1) {
        Some(name) => calls(vec![call("", name, &format!(r#"{{"query": "{turn}"}}"#))]),
        None => says("Done."),
    });
    let mut conversation = Conversation::new();
    let context = CallContext::new("session");
    agent.run("Go.", &mut conversation, &model, &Finder, &context, &mut ()).await;
    let noted: Vec<_> = results(&conversation)
        .iter()
        .map(|(_, text)| match text {
            text if text.contains("Do not search again") => 2,
            text if text.contains("call it now, with values of your own: notes.add(text: str)") => 1,
            _ => 0,
        })
        .collect();
    assert_eq!(noted, [0, 1, 0, 1, 2, 0, 0]);
}

#[tokio::test]
async fn what_is_asked_of_the_first_turn_is_not_asked_of_the_next() {
    let chosen = ToolChoice::Tool("notes__search".to_owned());
    let settings = agent().settings().clone().with_tool_choice(chosen.clone());
    let model = scripted(move |turn, request| {
        let is_first = turn == 1;
        assert_eq!(*request.tool_choice, if is_first { chosen.clone() } else { ToolChoice::Auto });
        if is_first { calls(vec![call("", "notes__search", "{}")]) } else { says("Done.") }
    });
    let (report, ..) = run(&Agent::new(settings), &model).await;
    assert!(matches!(report.outcome, Outcome::Completed));
}

#[tokio::test]
async fn a_malformed_call_is_answered_with_the_expected_form_and_kept_as_valid_json() {
    let model = scripted(|turn, _| match turn {
        1 => calls(vec![call("a", "notes__search", r#"{"query": "#), call("b", "notes.sea rch!", "[1]")]),
        _ => says("Sorry."),
    });
    let (report, conversation, seen) = run(&agent(), &model).await;
    assert!(seen.is_empty());
    assert_eq!(report.calls[0].arguments, json!(r#"{"query": "#));
    let results = results(&conversation);
    let error: Value = serde_json::from_str(results[0].1).unwrap();
    assert_eq!(error["error"]["kind"], "malformed_call");
    assert!(error["error"]["message"].as_str().unwrap().contains(r#"received: {"query": "#), "{error}");
    assert!(error["error"]["hint"].as_str().unwrap().contains(r#""properties":{"query""#), "{error}");
    assert!(results[1].1.contains("not an object"), "{}", results[1].1);
    let Message::Assistant { tool_calls, .. } = &conversation.messages()[1] else { panic!() };
    assert_eq!(tool_calls[..], [call("a", "notes__search", "{}"), call("b", "notes_sea_rch_", "{}")]);
}

#[tokio::test]
async fn arguments_that_are_empty_or_encoded_twice_are_understood() {
    let model = scripted(|turn, _| match turn {
        1 => {
            calls(vec![call("a", "notes__search", ""), call("b", "notes__search", r#""{\"query\": \"x\"}""#)])
        }
        _ => says("Done."),
    });
    let (_, _, seen) = run(&agent(), &model).await;
    assert_eq!(seen[0].arguments, toolcrib_model::JsonObject::new());
    assert_eq!(seen[1].arguments["query"], "x");
}

#[tokio::test]
async fn a_long_result_is_cut_at_a_character_and_says_so() {
    let long = "ü".repeat(100);
    let model = scripted(move |turn, _| match turn {
        1 => calls(vec![call("a", "notes__search", &json!({"query": long}).to_string())]),
        _ => says("Done."),
    });
    let limits = RunLimits { max_result_bytes: 50, ..RunLimits::default() };
    let (_, conversation, _) = run(&limited(limits), &model).await;
    let text = results(&conversation)[0].1;
    assert!(
        text.starts_with(r#"{"found":"üü"#) && text.contains("[Cut: the first 50 of 212 bytes."),
        "{text}"
    );
}

/// Writes down what it sees of calls.
#[derive(Default)]
struct Lines(Vec<String>);

impl Observer for Lines {
    fn on_call_started(&mut self, call: &ToolCall) {
        self.0.push(format!("run {}", call.name));
    }

    fn on_call_unreadable(&mut self, name: &str, arguments: &str) {
        self.0.push(format!("unreadable {name} {arguments}"));
    }

    fn on_call_finished(&mut self, result: &ToolResult, _elapsed: Duration) {
        self.0.push(format!("{} {}", if result.is_ok() { "ok" } else { "failed" }, result.name));
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_read_is_shown_before_its_result() {
    let model = scripted(|turn, _| match turn {
        1 => {
            calls(vec![call("a", "notes__search", "{oops"), call("b", "notes__search", r#"{"query": "x"}"#)])
        }
        _ => says("Done."),
    });
    let (caller, mut conversation, mut lines) = (Caller::default(), Conversation::new(), Lines::default());
    let context = CallContext::new("session");
    agent().run("Find.", &mut conversation, &model, &caller, &context, &mut lines).await;
    assert_eq!(
        lines.0,
        ["unreadable notes__search {oops", "failed notes::search", "run notes::search", "ok notes::search"]
    );
}
