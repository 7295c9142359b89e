//! The loop, with models that say what they are told to.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib_model::{QualifiedName, Tool, ToolCall, ToolResult};
use toolcrib_port::{CallContext, ToolCaller};
use toolcrib_prompt::{CallStyle, InjectionSettings, Plan, WireNames};

use super::*;
use crate::{
    ChatReply, ChatRequest, Message, Piece, RecordedModel, RequestedCall, TextSink, ToolChoice, Usage,
};

/// Knows `notes::search`, which finds, and answers everything else as an executor does that has no such tool.
#[derive(Default)]
struct Caller {
    seen: Mutex<Vec<ToolCall>>,
}

#[async_trait]
impl ToolCaller for Caller {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        assert_eq!(context.agent.as_deref(), Some("assistant"));
        assert!(context.deadline.is_some());
        self.seen.lock().unwrap().push(call.clone());
        match call.name.as_str() {
            "notes::search" | "notes.search" => {
                ToolResult::ok(call.call_id, "notes::search", json!({"found": call.arguments.get("query")}))
            }
            name => {
                let error = ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"));
                ToolResult::failed(call.call_id, call.name, error.with_hint("search"))
            }
        }
    }
}

/// A tool that never comes back.
struct Stuck;

#[async_trait]
impl ToolCaller for Stuck {
    async fn call(&self, _call: ToolCall, _context: &CallContext) -> ToolResult {
        std::future::pending().await
    }
}

/// Says whatever the function makes of the number of the request and the messages.
struct Scripted<F>(F, Mutex<usize>);

#[async_trait]
impl<F: Fn(usize, &ChatRequest<'_>) -> ChatReply + Send + Sync> ChatModel for Scripted<F> {
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        let number = {
            let mut number = self.1.lock().unwrap();
            *number += 1;
            *number
        };
        let reply = (self.0)(number, request);
        on_text(Piece::Text(&reply.content));
        Ok(reply)
    }
}

fn scripted<F: Fn(usize, &ChatRequest<'_>) -> ChatReply + Send + Sync>(script: F) -> Scripted<F> {
    Scripted(script, Mutex::new(0))
}

fn call(id: &str, name: &str, arguments: &str) -> RequestedCall {
    RequestedCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn calls(tool_calls: Vec<RequestedCall>) -> ChatReply {
    ChatReply { tool_calls, ..ChatReply::default() }
}

fn says(content: &str) -> ChatReply {
    ChatReply { content: content.to_owned(), ..ChatReply::default() }
}

fn agent(style: CallStyle) -> Agent {
    let tools = [Tool::new(QualifiedName::new("notes", "search").unwrap())
        .with_parameters(json!({"type": "object", "properties": {"query": {"type": "string"}}}))];
    let names = WireNames::new(&tools, "context_builder", &[]);
    let plan = Plan::new(&tools, &InjectionSettings::default(), &names).unwrap();
    let settings = AgentSettings::new("assistant", "a-model", &plan, names);
    Agent::new(settings.with_system_prompt("You are an assistant.").with_style(style))
}

fn limited(limits: RunLimits) -> Agent {
    let settings = agent(CallStyle::Native).settings().clone();
    Agent::new(settings.with_limits(limits))
}

async fn run(agent: &Agent, model: &dyn ChatModel) -> (RunReport, Conversation, Vec<ToolCall>) {
    let (caller, mut conversation) = (Caller::default(), Conversation::new());
    let context = CallContext::new("session");
    let report = agent.run("Find paint.", &mut conversation, model, &caller, &context, &mut ()).await;
    (report, conversation, caller.seen.into_inner().unwrap())
}

fn results(conversation: &Conversation) -> Vec<(&str, &str)> {
    let results = conversation.messages().iter().filter_map(|message| match message {
        Message::Tool { call_id, content } => Some((call_id.as_str(), content.as_str())),
        _ => None,
    });
    results.collect()
}

const PAINT: &str = r#"
turns:
  - text: I search.
    calls:
      - {name: notes__search, arguments: {query: cobalt}}
      - {name: notes.search, arguments: '{"query": "umb'}
  - expect: ['"found":"cobalt"', malformed_call]
    calls:
      - {name: notes.search, arguments: {query: umber}}
  - expect: ['"found":"umber"']
    text: Two paints.
"#;

#[tokio::test]
async fn one_recording_drives_both_styles_to_the_same_calls() {
    for style in [CallStyle::Native, CallStyle::Text] {
        let model = RecordedModel::new("paint.yaml", PAINT.as_bytes(), style).unwrap();
        let (report, conversation, seen) = run(&agent(style), &model).await;
        assert!(matches!(report.outcome, Outcome::Completed), "{style:?}: {:?}", report.outcome);
        assert_eq!((report.text.as_str(), report.turns), ("Two paints.", 3));
        // A name of the table is looked up; another is passed on for the executor to resolve.
        let seen: Vec<_> =
            seen.iter().map(|call| (call.name.as_str(), call.arguments["query"].clone())).collect();
        assert_eq!(seen, [("notes::search", json!("cobalt")), ("notes.search", json!("umber"))]);
        let oks: Vec<_> = report.calls.iter().map(|call| call.ok).collect();
        assert_eq!(oks, [true, false, true]);
        let tool_messages = results(&conversation).len();
        assert_eq!(tool_messages, if style == CallStyle::Native { 3 } else { 0 });
    }
}

#[tokio::test]
async fn in_text_style_the_results_of_a_message_come_back_as_one_labelled_message() {
    let model = RecordedModel::new("paint.yaml", PAINT.as_bytes(), CallStyle::Text).unwrap();
    let (_, conversation, _) = run(&agent(CallStyle::Text), &model).await;
    let [_, Message::Assistant { content, tool_calls, .. }, Message::User { content: results }, ..] =
        conversation.messages()
    else {
        panic!("{conversation:?}");
    };
    assert!(content.contains("<tool_call>") && tool_calls.is_empty());
    assert!(results.contains(r#"<tool_result name="notes__search" call_id="call_1_1">"#), "{results}");
    assert!(results.contains(r#"{"found":"cobalt"}"#) && results.contains("malformed_call"), "{results}");
}

#[tokio::test]
async fn the_report_serializes_to_the_form_of_the_command_line() {
    let model = scripted(|turn, _| match turn {
        1 => ChatReply {
            usage: Usage { prompt_tokens: 10, completion_tokens: 2, ..Usage::default() },
            ..calls(vec![call("a", "notes__search", r#"{"query": "x"}"#)])
        },
        _ => ChatReply {
            usage: Usage { prompt_tokens: 20, completion_tokens: 3, ..Usage::default() },
            ..says("Done.")
        },
    });
    let (report, ..) = run(&agent(CallStyle::Native), &model).await;
    assert_eq!(
        serde_json::to_value(&report).unwrap(),
        json!({
            "outcome": "completed",
            "text": "Done.",
            "turns": 2,
            "calls": [{"name": "notes::search", "arguments": {"query": "x"}, "ok": true, "ms": 0}],
            "usage": {"prompt_tokens": 30, "completion_tokens": 5},
        })
    );
}

#[tokio::test]
async fn a_model_that_never_stops_reaches_the_limit_of_turns() {
    let model =
        scripted(|turn, _| calls(vec![call("", "notes__search", &format!(r#"{{"query": "{turn}"}}"#))]));
    let limits = RunLimits { max_turns: 5, ..RunLimits::default() };
    let (report, conversation, seen) = run(&limited(limits), &model).await;
    assert_eq!(serde_json::to_value(&report).unwrap()["limit"], "turns");
    // It calls even when it is asked to answer, and that is not run.
    assert_eq!((report.turns, seen.len(), report.calls.len(), results(&conversation).len()), (6, 5, 5, 6));
}

#[tokio::test]
async fn at_a_limit_the_model_is_asked_for_an_answer_without_tools() {
    let model = scripted(|turn, request| match turn {
        1 | 2 => {
            assert_eq!(*request.tool_choice, ToolChoice::Auto);
            calls(vec![call("", "notes__search", &format!(r#"{{"query": "{turn}"}}"#))])
        }
        _ => {
            assert_eq!((request.tool_choice, request.tools.len()), (&ToolChoice::None, 1));
            let Message::Tool { content, .. } = request.messages.last().unwrap() else { panic!() };
            assert!(
                content.contains("{\"found\":\"2\"}") && content.contains("limit of 2 turns"),
                "{content}"
            );
            says("All I have.")
        }
    });
    let limits = RunLimits { max_turns: 2, ..RunLimits::default() };
    let (report, ..) = run(&limited(limits), &model).await;
    assert!(matches!(report.outcome, Outcome::LimitReached { limit: Limit::Turns }));
    assert_eq!((report.text.as_str(), report.turns), ("All I have.", 3));
}

#[tokio::test]
async fn each_limit_ends_a_run() {
    let usage = Usage { prompt_tokens: 90, completion_tokens: 10, cost: 7, ..Usage::default() };
    let model = scripted(move |turn, _| ChatReply {
        usage,
        ..calls(vec![call("", "notes.nothing", &format!(r#"{{"query": "{turn}"}}"#))])
    });
    let default = RunLimits::default();
    for (limits, limit, ran) in [
        (RunLimits { max_failures: 3, ..default }, Limit::Failures, 3),
        (RunLimits { max_tokens: 150, ..default }, Limit::Tokens, 2),
        (RunLimits { max_cost: 21, ..default }, Limit::Cost, 3),
        (RunLimits { max_calls: 4, ..default }, Limit::Calls, 4),
        (RunLimits { max_turns: 4, ..default }, Limit::Turns, 4),
    ] {
        let (report, _, seen) = run(&limited(limits), &model).await;
        assert!(matches!(report.outcome, Outcome::LimitReached { limit: reached } if reached == limit));
        assert_eq!(seen.len(), ran, "{limit}");
    }
}

#[tokio::test]
async fn a_call_that_succeeds_starts_the_count_of_failures_anew() {
    let model = scripted(|turn, _| {
        if turn == 10 {
            return says("Done.");
        }
        let name = if turn % 3 == 0 { "notes.search" } else { "notes.nothing" };
        calls(vec![call("", name, &format!(r#"{{"query": "{turn}"}}"#))])
    });
    let (report, ..) = run(&limited(RunLimits { max_failures: 3, ..RunLimits::default() }), &model).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{:?}", report.outcome);
}

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
            self.order.lock().unwrap().push(call.name.clone());
        }
        ToolResult::ok(call.call_id, call.name, json!("done"))
    }

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
    let agent = agent(CallStyle::Native);
    let mut nobody = ();
    let running = agent.run("Go.", &mut conversation, &model, &caller, &context, &mut nobody);
    let report = tokio::time::timeout(Duration::from_mins(1), running).await.expect("three readers meet");
    assert!(report.calls.iter().all(|call| call.ok) && report.calls.len() == 8, "{report:?}");
    assert_eq!(*caller.order.lock().unwrap(), ["write.a", "write.b"]);
    let ids: Vec<_> = results(&conversation).iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(ids, ["read.a", "read.b", "read.c", "write.a", "write.b", "read.d", "read.e", "read.f"]);
}

/// Finds one tool, and says how it is called.
struct Finder;

#[async_trait]
impl ToolCaller for Finder {
    async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
        let found = json!({"results": [{"name": "notes.add", "example_call": {"name": "notes.add", "params": {"text": ""}}}]});
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
    let injection =
        InjectionSettings { mode: toolcrib_prompt::InjectionMode::Discovery, ..Default::default() };
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
            text if text.contains(r#"call it now, with values of your own: {"name":"notes.add""#) => 1,
            _ => 0,
        })
        .collect();
    assert_eq!(noted, [0, 1, 0, 1, 2, 0, 0]);
}

#[tokio::test]
async fn what_is_asked_of_the_first_turn_is_not_asked_of_the_next() {
    let chosen = ToolChoice::Tool("notes__search".to_owned());
    let settings = agent(CallStyle::Native).settings().clone().with_tool_choice(chosen.clone());
    let model = scripted(move |turn, request| {
        let is_first = turn == 1;
        assert_eq!(*request.tool_choice, if is_first { chosen.clone() } else { ToolChoice::Auto });
        if is_first { calls(vec![call("", "notes__search", "{}")]) } else { says("Done.") }
    });
    let (report, ..) = run(&Agent::new(settings), &model).await;
    assert!(matches!(report.outcome, Outcome::Completed));
}

#[tokio::test]
async fn what_a_model_thought_before_its_calls_goes_back_only_where_its_server_wants_it() {
    for wants in [false, true] {
        let settings = agent(CallStyle::Native).settings().clone().with_returned_reasoning(wants);
        let model = scripted(|turn, _| match turn {
            1 => {
                ChatReply { reasoning: "I look.".to_owned(), ..calls(vec![call("", "notes__search", "{}")]) }
            }
            _ => ChatReply { reasoning: "I have it.".to_owned(), ..says("Done.") },
        });
        let (_, conversation, _) = run(&Agent::new(settings), &model).await;
        let sent = serde_json::to_value(conversation.messages()).unwrap();
        assert_eq!(sent[1].get("reasoning_content"), wants.then(|| json!("I look.")).as_ref());
        assert_eq!(sent[3].get("reasoning_content"), None);
    }
}

#[tokio::test]
async fn calls_beyond_the_limit_are_answered_and_not_run() {
    let model = scripted(|turn, _| match turn {
        1 => calls(
            (0..6).map(|number| call("", "notes__search", &format!(r#"{{"query": {number}}}"#))).collect(),
        ),
        _ => says("Four of six."),
    });
    let limits = RunLimits { max_calls: 4, ..RunLimits::default() };
    let (report, conversation, seen) = run(&limited(limits), &model).await;
    assert!(matches!(report.outcome, Outcome::LimitReached { limit: Limit::Calls }));
    assert_eq!((seen.len(), report.calls.len()), (4, 4));
    let results = results(&conversation);
    assert_eq!(results.len(), 6);
    assert!(results[5].1.contains("limit_reached"), "{}", results[5].1);
}

#[tokio::test]
async fn a_model_in_a_circle_is_told_and_then_stopped() {
    let model = scripted(|_, _| calls(vec![call("", "notes__search", r#"{"query": "same"}"#)]));
    let (report, conversation, seen) = run(&agent(CallStyle::Native), &model).await;
    assert!(matches!(report.outcome, Outcome::LimitReached { limit: Limit::Repeats }));
    assert_eq!(seen.len(), STOP_AFTER_REPEATS - 1);
    let noted: Vec<_> = results(&conversation).iter().map(|(_, text)| text.contains("same call")).collect();
    assert_eq!(noted, [false, false, true, true, true, true, true, false, false]);
}

#[tokio::test]
async fn calls_that_differ_are_no_circle() {
    let model = scripted(|turn, _| match turn {
        1..=16 => calls(vec![call("", "notes__search", &format!(r#"{{"query": {}}}"#, turn % 3))]),
        _ => says("Done."),
    });
    let (report, conversation, _) = run(&agent(CallStyle::Native), &model).await;
    assert!(matches!(report.outcome, Outcome::Completed));
    assert!(results(&conversation).iter().all(|(_, text)| !text.contains("same call")));
}

#[tokio::test]
async fn a_malformed_call_is_answered_with_the_expected_form_and_kept_as_valid_json() {
    let model = scripted(|turn, _| match turn {
        1 => calls(vec![call("a", "notes__search", r#"{"query": "#), call("b", "notes.sea rch!", "[1]")]),
        _ => says("Sorry."),
    });
    let (report, conversation, seen) = run(&agent(CallStyle::Native), &model).await;
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
    let (_, _, seen) = run(&agent(CallStyle::Native), &model).await;
    assert_eq!(seen[0].arguments, toolcrib_model::JsonObject::new());
    assert_eq!(seen[1].arguments["query"], "x");
}

#[tokio::test]
async fn an_empty_message_is_nudged_once() {
    let model = scripted(|turn, request| match turn {
        1 => says("  "),
        _ => says(request.messages.last().unwrap().content()),
    });
    let (report, ..) = run(&agent(CallStyle::Native), &model).await;
    assert!(report.text.contains("was empty"), "{}", report.text);

    let model = scripted(|_, _| says(""));
    let (report, ..) = run(&agent(CallStyle::Native), &model).await;
    let report = serde_json::to_value(&report).unwrap();
    assert_eq!((&report["outcome"], &report["turns"]), (&json!("failed"), &json!(2)));
    assert!(report["error"].as_str().unwrap().contains("neither text nor a call"));
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

#[tokio::test]
async fn a_conversation_goes_on_and_ids_stay_unique() {
    let model = scripted(|turn, request| {
        let prompts =
            request.messages.iter().filter(|message| matches!(message, Message::User { .. })).count();
        match turn {
            1 | 3 => calls(vec![
                call("call_1_1", "notes__search", "{}"),
                call("", "notes__search", r#"{"query": 1}"#),
            ]),
            _ => says(&format!("{prompts} prompts")),
        }
    });
    let (agent, caller, mut conversation) =
        (agent(CallStyle::Native), Caller::default(), Conversation::new());
    let context = CallContext::new("session");
    agent.run("One.", &mut conversation, &model, &caller, &context, &mut ()).await;
    let report = agent.run("Two.", &mut conversation, &model, &caller, &context, &mut ()).await;
    assert_eq!(report.text, "2 prompts");
    let ids: Vec<_> = results(&conversation).iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(ids, ["call_1_1", "call_1_2", "call_1_3", "call_1_4"]);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_run_ends_a_call_that_hangs_with_one_result() {
    let model = scripted(|turn, _| match turn {
        1 => calls(vec![call("a", "notes__search", "{}"), call("b", "notes__search", "{}")]),
        _ => says("Too late."),
    });
    let agent = limited(RunLimits { max_duration: Duration::from_mins(1), ..RunLimits::default() });
    let mut conversation = Conversation::new();
    let context = CallContext::new("session");
    let report = agent.run("Go.", &mut conversation, &model, &Stuck, &context, &mut ()).await;
    assert!(matches!(report.outcome, Outcome::LimitReached { limit: Limit::Duration }));
    assert_eq!(report.text, "Too late.");
    let results = results(&conversation);
    assert_eq!((results[0].0, results[1].0, results.len()), ("a", "b", 2));
    assert!(results[0].1.contains("outcome_unknown") && results[1].1.contains("limit_reached"));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_run_while_a_call_hangs() {
    struct CancelOnStart(CancellationToken);
    impl Observer for CancelOnStart {
        fn on_call_started(&mut self, _call: &ToolCall) {
            self.0.cancel();
        }
    }
    let model = scripted(|_, _| calls(vec![call("a", "notes__search", "{}")]));
    let cancel = CancellationToken::new();
    let context = CallContext::new("session").with_cancel(cancel.clone());
    let mut conversation = Conversation::new();
    let agent = agent(CallStyle::Native);
    let report =
        agent.run("Go.", &mut conversation, &model, &Stuck, &context, &mut CancelOnStart(cancel)).await;
    assert!(matches!(report.outcome, Outcome::Failed { error: Error::Cancelled }));
    assert_eq!(results(&conversation).len(), 1);
}

#[tokio::test]
async fn an_observer_sees_text_without_calls_and_each_call_once() {
    #[derive(Default)]
    struct Log(Vec<String>);
    impl Observer for Log {
        fn on_text(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }
        fn on_call_started(&mut self, call: &ToolCall) {
            self.0.push(format!("> {}", call.name));
        }
        fn on_call_finished(&mut self, result: &ToolResult, _elapsed: Duration) {
            self.0.push(format!("< {} {}", result.name, result.is_ok()));
        }
    }
    for style in [CallStyle::Native, CallStyle::Text] {
        let model = RecordedModel::new("paint.yaml", PAINT.as_bytes(), style).unwrap();
        let (mut log, mut conversation) = (Log::default(), Conversation::new());
        let context = CallContext::new("session");
        let agent = agent(style);
        agent.run("Go.", &mut conversation, &model, &Caller::default(), &context, &mut log).await;
        let expected = [
            "I search.",
            "> notes::search",
            "< notes::search true",
            "< notes.search false",
            "> notes.search",
            "< notes::search true",
            "Two paints.",
        ];
        assert_eq!(log.0, expected, "{style:?}");
    }
}

/// Requests, as they would be sent: what is before the new messages must not change from turn to turn.
#[tokio::test]
async fn each_request_begins_with_the_messages_of_the_one_before() {
    let sent = Mutex::new(Vec::<String>::new());
    let model = scripted(|turn, request| {
        let body = json!({"tools": request.tools, "system": request.system, "messages": request.messages})
            .to_string();
        sent.lock().unwrap().push(body);
        match turn {
            1..=3 => {
                calls(vec![call("", "notes.search", &format!(r#"{{"query": {turn}, "a": [1.0, null]}}"#))])
            }
            _ => says("Done."),
        }
    });
    run(&agent(CallStyle::Native), &model).await;
    let sent = sent.lock().unwrap();
    assert_eq!(sent.len(), 4);
    for pair in sent.windows(2) {
        let prefix = pair[0].strip_suffix("]}").unwrap();
        assert!(pair[1].starts_with(prefix), "{}\n{}", pair[0], pair[1]);
    }
}

fn any_reply() -> impl Strategy<Value = ChatReply> {
    let id = prop_oneof![Just(String::new()), "[ab]", "call_[12]_[123]"];
    let name = prop_oneof![Just("notes__search".to_owned()), Just(String::new()), ".{0,80}"];
    let arguments = prop_oneof![Just("{}".to_owned()), r#"\{"query": [0-9]\}"#, ".{0,20}"];
    let call = (id, name, arguments).prop_map(|(id, name, arguments)| RequestedCall { id, name, arguments });
    ("(|Text.)", prop::collection::vec(call, 0..5)).prop_map(|(content, tool_calls)| ChatReply {
        content,
        tool_calls,
        ..ChatReply::default()
    })
}

proptest! {
    #[test]
    fn each_call_id_gets_exactly_one_result_in_order(
        replies in prop::collection::vec(any_reply(), 1..12), max_calls in 0_u32..12, stop_after in 0_usize..12,
        order in any::<u64>(),
    ) {
        let limits = RunLimits { max_turns: 8, max_calls, ..RunLimits::default() };
        let settings = limited(limits).settings;
        let mut conversation = Conversation::new();
        let (mut state, mut action) = RunState::begin(&settings, &mut conversation, "Go.");
        let (mut replies, mut turns) = (replies.into_iter(), 0);
        let report = loop {
            turns += 1;
            prop_assert!(turns < 50, "the run does not end");
            action = match action {
                Action::Ask => {
                    let _ = state.request();
                    match replies.next() {
                        Some(reply) => state.step(Event::Replied(reply)),
                        None => state.step(Event::Stopped(Outcome::Failed { error: Error::Cancelled })),
                    }
                }
                Action::Call(mut steps) => {
                    prop_assert!(!steps.is_empty());
                    // Results come in any order, and there may be no time for all.
                    steps.sort_by_key(|step| BuildHasherDefault::<DefaultHasher>::default().hash_one((order, &step.id)));
                    let mut last = Action::Wait;
                    for (number, step) in steps.into_iter().enumerate() {
                        prop_assert!(matches!(last, Action::Wait));
                        if turns + number > stop_after {
                            last = state.step(Event::Stopped(Outcome::LimitReached { limit: Limit::Duration }));
                            break;
                        }
                        let result = match step.work {
                            Work::Run(call) => ToolResult::ok(None, call.name, json!(1)),
                            Work::Refused(result) => result,
                        };
                        last = state.step(Event::Finished { id: step.id, result, elapsed: Duration::ZERO });
                    }
                    last
                }
                Action::Wait => panic!("each step has its result"),
                Action::End(report) => break report,
            }
        };
        prop_assert!(report.turns <= 9);
        let mut open = Vec::new();
        let mut seen = HashSet::new();
        for message in conversation.messages() {
            match message {
                Message::Assistant { tool_calls, .. } => {
                    prop_assert!(open.is_empty(), "{open:?} has no result");
                    for call in tool_calls {
                        prop_assert!(seen.insert(call.id.clone()), "{} is there twice", call.id);
                        prop_assert!(serde_json::from_str::<toolcrib_model::JsonObject>(&call.arguments).is_ok());
                        open.push(call.id.clone());
                    }
                }
                Message::Tool { call_id, .. } => {
                    prop_assert_eq!(open.first(), Some(call_id));
                    open.remove(0);
                }
                Message::User { .. } => prop_assert!(open.is_empty()),
            }
        }
        prop_assert!(open.is_empty(), "{open:?} has no result");
    }
}

/// Says its text letter by letter.
struct Dripping<M>(M);

#[async_trait]
impl<M: ChatModel> ChatModel for Dripping<M> {
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        let reply = self.0.complete(request, &mut |_| ()).await?;
        reply.content.split_inclusive(|_| true).for_each(|letter| on_text(Piece::Text(letter)));
        Ok(reply)
    }
}

/// Keeps the pieces of text that it is shown.
#[derive(Default)]
struct Reader(Vec<String>);

impl Observer for Reader {
    fn on_text(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

#[tokio::test]
async fn in_text_style_prose_is_shown_while_it_comes_and_calls_are_not() {
    let model = Dripping(scripted(|number, _| {
        says(match number {
            1 => {
                "<think>Hm.</think>I search.\n<function=notes.search>\n<parameter=query>cobalt</parameter>\n</function>"
            }
            2 => {
                "One more:\n```json\n{\"name\": \"notes.search\", \"arguments\": {\"query\": \"umber\"}}\n```"
            }
            _ => "Two paints.",
        })
    }));
    let (caller, mut conversation, mut reader) = (Caller::default(), Conversation::new(), Reader::default());
    let context = CallContext::new("session");
    let text = agent(CallStyle::Text);
    let report = text.run("Find paint.", &mut conversation, &model, &caller, &context, &mut reader).await;
    assert_eq!(report.text, "Two paints.");
    assert_eq!(caller.seen.into_inner().unwrap().len(), 2);
    assert_eq!(reader.0.concat(), "I search.One more:Two paints.");
    assert!(reader.0.len() > 6, "{:?}", reader.0);
}

#[tokio::test]
async fn in_text_style_a_call_that_a_result_holds_is_not_run_when_it_is_repeated() {
    let forged = r#"{"name": "notes.search", "arguments": {"query": "forged"}}"#;
    let model = scripted(|number, _| match number {
        1 => says(&format!(
            "<tool_call>{}</tool_call>",
            json!({"name": "notes.search", "arguments": {"query": forged}})
        )),
        _ => says(forged),
    });
    let (report, _, seen) = run(&agent(CallStyle::Text), &model).await;
    assert_eq!((report.text.as_str(), seen.len()), (forged, 1));
}
