//! Conversations that become longer than the model takes in.

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;
use toolcrib_model::{ToolCall, ToolResult};
use toolcrib_port::{CallContext, Media, ResultStore, ToolCaller};

use super::super::{Agent, Compacted, Conversation, Limit, Observer, Outcome, RunReport};
use super::{agent, call, calls, says, scripted, sent};
use crate::chat::{ChatReply, ChatRequest, TextSink, ToolChoice};
use crate::{ChatModel, Error, Message};

/// Returns long texts, and keeps results or not.
struct Long {
    bytes: usize,
    keeps: bool,
    kept: Mutex<Vec<(String, usize)>>,
}

impl Long {
    fn new(bytes: usize, keeps: bool) -> Self {
        Self { bytes, keeps, kept: Mutex::default() }
    }
}

#[async_trait]
impl ToolCaller for Long {
    async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
        let text = format!("result of {} ", call.arguments["n"]) + &"x".repeat(self.bytes);
        ToolResult::ok(call.call_id, call.name, json!(text))
    }

    fn results(&self) -> &dyn ResultStore {
        self
    }
}

impl ResultStore for Long {
    fn store(&self, tool: &str, result: String, context: &CallContext) -> Option<String> {
        assert_eq!(context.agent.as_deref(), Some("assistant"));
        let mut kept = self.kept.lock();
        kept.push((tool.to_owned(), result.len()));
        self.keeps.then(|| format!("read the rest with handle {}", kept.len()))
    }

    fn media(&self, _handle: &str, _context: &CallContext) -> Option<Media> {
        None
    }
}

/// A server that takes so many bytes and no more.
struct Bounded<M>(M, usize);

#[async_trait]
impl<M: ChatModel> ChatModel for Bounded<M> {
    async fn complete(&self, request: &ChatRequest<'_>, sink: &mut TextSink<'_>) -> Result<ChatReply, Error> {
        if sent(request).len() > self.1 {
            let message = "too long".to_owned();
            return Err(Error::ContextOverflow { url: "http://a".to_owned(), message });
        }
        self.0.complete(request, sink).await
    }
}

#[derive(Default)]
struct Watching(Vec<Compacted>);

impl Observer for Watching {
    fn on_shortened(&mut self, what: Compacted) {
        self.0.push(what);
    }
}

/// Calls so often, and then answers. A request for a summary is answered by what `summary` says.
fn working(turns: usize, summary: &'static str) -> impl ChatModel {
    let number = Mutex::new(0);
    scripted(move |_, request| {
        if request.system.is_empty() {
            assert_eq!((*request.tool_choice == ToolChoice::None, request.tools.len()), (true, 0));
            return says(summary);
        }
        let mut number = number.lock();
        *number += 1;
        if *number > turns {
            return says("Done.");
        }
        calls(vec![call("", "notes__search", &json!({"n": *number}).to_string())])
    })
}

fn windowed(tokens: u32) -> Agent {
    Agent::new(agent().settings().clone().with_context_window(tokens))
}

async fn run(
    agent: &Agent,
    model: &dyn ChatModel,
    caller: &Long,
) -> (RunReport, Conversation, Vec<Compacted>) {
    let (mut conversation, mut watching) = (Conversation::new(), Watching::default());
    let context = CallContext::new("session");
    let report =
        agent.run("Find all paint.", &mut conversation, model, caller, &context, &mut watching).await;
    (report, conversation, watching.0)
}

#[tokio::test]
async fn old_results_make_room_first_and_can_be_read_by_their_handles() {
    let caller = Long::new(4_000, true);
    // 8,000 tokens are some 32,000 bytes, of which three quarters are filled.
    let (report, conversation, shortened) = run(&windowed(8_000), &working(7, "no"), &caller).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report:?}");
    assert_eq!(report.compactions, 1);
    assert!(matches!(shortened[..], [Compacted::Results(3)]), "{shortened:?}");
    assert_eq!(caller.kept.lock().first(), Some(&("notes__search".to_owned(), 4_012)));
    let told: Vec<_> = conversation
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Tool { content, .. } => Some(content.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), 7);
    assert!(told[0].starts_with("result of 1 xxx"), "{}", told[0]);
    assert!(
        told[0].ends_with("[Put aside to make room: 4012 bytes; read the rest with handle 1]"),
        "{}",
        told[0]
    );
    assert!(told[6].len() > 4_000, "the last is whole");
}

#[tokio::test]
async fn what_is_not_kept_says_so() {
    let (_, conversation, _) = run(&windowed(8_000), &working(7, "no"), &Long::new(4_000, false)).await;
    let first = conversation.messages()[2].content();
    assert!(first.ends_with("4012 bytes; the rest is not kept; call again if it is needed]"), "{first}");
}

#[tokio::test]
async fn then_the_older_part_is_a_summary_and_the_prompt_stays() {
    // Results that are too short to be put aside.
    let caller = Long::new(700, true);
    let (report, conversation, shortened) =
        run(&windowed(4_000), &working(20, "Nothing yet."), &caller).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report:?}");
    assert!(shortened.contains(&Compacted::Summarized), "{shortened:?}");
    let Message::User { content } = &conversation.messages()[0] else { panic!() };
    assert!(content.contains("made to make room") || content.contains("taken out to make room"), "{content}");
    assert!(content.contains("Nothing yet.") && content.ends_with("Find all paint."), "{content}");
    assert!(matches!(conversation.messages()[1], Message::Assistant { .. }));
}

#[tokio::test]
async fn without_a_summary_the_oldest_turns_go_with_a_note() {
    let caller = Long::new(700, true);
    let (report, conversation, _) = run(&windowed(4_000), &working(20, " "), &caller).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report:?}");
    let Message::User { content } = &conversation.messages()[0] else { panic!() };
    assert!(content.contains("oldest messages of this conversation were taken out"), "{content}");
    assert!(content.ends_with("Find all paint."), "{content}");
}

#[tokio::test]
async fn a_server_that_takes_less_than_was_said_is_believed() {
    let caller = Long::new(4_000, true);
    let model = Bounded(working(12, "Some."), 16_000);
    let (report, ..) = run(&windowed(131_072), &model, &caller).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report:?}");
    assert_eq!((report.text.as_str(), report.turns, report.calls.len()), ("Done.", 13, 12));
    assert!(report.compactions > 1);
}

#[tokio::test]
async fn what_cannot_be_made_short_enough_ends_the_run_and_says_why() {
    let (report, conversation, _) =
        run(&windowed(131_072), &Bounded(working(3, "no"), 100), &Long::new(10, true)).await;
    assert!(matches!(report.outcome, Outcome::LimitReached { limit: Limit::ContextOverflow }), "{report:?}");
    assert_eq!(serde_json::to_value(&report).unwrap()["limit"], "context_overflow");
    assert_eq!((report.turns, conversation.messages().len()), (0, 1));
}

#[tokio::test]
async fn a_last_result_that_is_too_long_by_itself_makes_room_too() {
    let model = Bounded(working(1, "no"), 20_000);
    let (report, conversation, shortened) = run(&windowed(131_072), &model, &Long::new(60_000, true)).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report:?}");
    assert_eq!(shortened, [Compacted::Results(1)]);
    assert!(conversation.messages()[2].content().len() < 1_000);
}

/// Notes what another model is asked in the conversation.
struct Noting<'a, M>(M, &'a Mutex<Vec<String>>);
#[async_trait]
impl<M: ChatModel> ChatModel for Noting<'_, M> {
    async fn complete(&self, request: &ChatRequest<'_>, sink: &mut TextSink<'_>) -> Result<ChatReply, Error> {
        if !request.system.is_empty() {
            self.1.lock().push(sent(request));
        }
        self.0.complete(request, sink).await
    }
}

#[tokio::test]
async fn between_two_times_that_room_is_made_each_request_begins_with_the_one_before() {
    let bodies = Mutex::new(Vec::<String>::new());
    let model = Noting(working(30, "Some."), &bodies);
    let (report, ..) = run(&windowed(8_000), &model, &Long::new(3_000, true)).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report:?}");
    let bodies = bodies.lock();
    let broken = bodies.windows(2).filter(|pair| !begins_with(&pair[1], &pair[0])).count();
    assert!(broken > 0 && broken == usize::try_from(report.compactions).unwrap(), "{broken}");
    // Not in each turn: what is made is enough for a while.
    assert!(broken * 3 < bodies.len(), "{broken} of {}", bodies.len());
}

/// Whether a request has all messages of another one, and more behind them.
fn begins_with(later: &str, earlier: &str) -> bool {
    let messages = |body: &str| {
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        body["messages"].as_array().unwrap().clone()
    };
    messages(later).starts_with(&messages(earlier))
}
