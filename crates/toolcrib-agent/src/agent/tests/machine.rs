//! The state machine by itself, with anything that may happen, also a crash.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use toolcrib_model::{JsonObject, ToolResult};

use super::super::state::{Action, Event, RunState, Work};
use super::super::{AgentSettings, Conversation, Limit, Outcome, RunLimits, RunReport};
use super::limited;
use crate::chat::{ChatReply, RequestedCall, Usage};
use crate::journal::Entry;
use crate::{Budget, Error, Message};

fn budget(settings: &AgentSettings) -> Budget {
    Budget::new(settings.limits.most())
}

/// More steps than any run takes.
const MAX_STEPS: usize = 400;

/// What happens to a run.
#[derive(Clone, Debug)]
struct Fate {
    replies: Vec<ChatReply>,
    max_calls: u32,
    window: u32,
    stop_after: usize,
    crash_at: usize,
    /// From which everything else is drawn.
    seed: u64,
}

fn any_fate() -> impl Strategy<Value = Fate> {
    let replies = prop::collection::vec(any_reply(), 1..12);
    let window = prop_oneof![Just(131_072), 500_u32..4_000];
    (replies, 0_u32..12, window, 0_usize..40, 0_usize..40, any::<u64>()).prop_map(
        |(replies, max_calls, window, stop_after, crash_at, seed)| Fate {
            replies,
            max_calls,
            window,
            stop_after,
            crash_at,
            seed,
        },
    )
}

fn any_reply() -> impl Strategy<Value = ChatReply> {
    let id = prop_oneof![Just(String::new()), "[ab]", "call_[12]_[123]"];
    let name = prop_oneof![Just("notes__search".to_owned()), Just(String::new()), ".{0,80}"];
    let arguments = prop_oneof![Just("{}".to_owned()), r#"\{"query": [0-9]\}"#, ".{0,20}"];
    let call = (id, name, arguments).prop_map(|(id, name, arguments)| RequestedCall {
        id,
        name,
        arguments,
        ..RequestedCall::default()
    });
    ("(|Text.)", prop::collection::vec(call, 0..5), 0_u64..2_000).prop_map(|(content, tool_calls, tokens)| {
        let usage = Usage { prompt_tokens: tokens, ..Usage::default() };
        ChatReply { content, tool_calls, usage, ..ChatReply::default() }
    })
}

/// A run, and what is known of it outside.
struct World {
    fate: Fate,
    steps: usize,
    asked: usize,
    entries: Vec<Entry>,
    begun: HashMap<String, u32>,
}

impl World {
    fn draw(&self, what: impl std::hash::Hash) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one((self.fate.seed, self.steps, what))
    }

    /// What happened is kept as it would be in a file.
    fn keep(&mut self, state: &mut RunState<'_>) {
        let lines = state.take_entries().into_iter().map(|entry| serde_json::to_string(&entry).unwrap());
        self.entries.extend(lines.map(|line| serde_json::from_str::<Entry>(&line).unwrap()));
    }

    /// `None` where the process dies on the way.
    fn drive(&mut self, mut state: RunState<'_>, mut action: Action) -> Option<RunReport> {
        loop {
            self.keep(&mut state);
            self.steps += 1;
            assert!(self.steps < MAX_STEPS, "the run does not end");
            if self.steps == self.fate.crash_at {
                return None;
            }
            action = match action {
                Action::Ask => {
                    self.asked += 1;
                    assert_sound(state.request().messages, "Go.");
                    if self.draw("overflow").is_multiple_of(5) {
                        let (url, message) = (String::new(), String::new());
                        state.step(Event::Overflowed(Error::ContextOverflow { url, message }))
                    } else if self.draw("told").is_multiple_of(7) {
                        state.step(Event::Notifications(vec!["The lamp has come.".to_owned()]))
                    } else if self.draw("exhausted").is_multiple_of(11) {
                        state.step(Event::Exhausted(Limit::Tokens))
                    } else {
                        match self.fate.replies.get(self.asked) {
                            Some(reply) => state.step(Event::Replied(reply.clone())),
                            None => state.step(Event::Stopped(Outcome::Failed { error: Error::Cancelled })),
                        }
                    }
                }
                Action::Keep(offloaded) => {
                    assert!(!offloaded.is_empty());
                    let hint = |number| self.draw(number).is_multiple_of(2).then(|| "read on".to_owned());
                    state.step(Event::Kept((0..offloaded.len()).map(hint).collect()))
                }
                Action::Summarize(request) => {
                    assert!(request.len() < 300_000);
                    if self.draw("exhausted").is_multiple_of(3) {
                        action = state.step(Event::Exhausted(Limit::Cost));
                        continue;
                    }
                    let summary = self.draw("summary").is_multiple_of(2).then(|| "Much was said.".to_owned());
                    state.step(Event::Summarized(summary, Usage::default()))
                }
                Action::Call(mut steps) => {
                    assert!(!steps.is_empty());
                    // Results come in any order, and there may be no time for all.
                    steps.sort_by_key(|step| self.draw(&step.id));
                    let mut last = Action::Wait;
                    for step in steps {
                        assert!(matches!(last, Action::Wait));
                        if self.steps > self.fate.stop_after {
                            let outcome = Outcome::LimitReached { limit: Limit::Duration };
                            last = state.step(Event::Stopped(outcome));
                            break;
                        }
                        let result = match step.work {
                            Work::Run(call) => {
                                self.entries.push(Entry::Begun { call_id: step.id.clone() });
                                *self.begun.entry(step.id.clone()).or_default() += 1;
                                let bytes = usize::try_from(self.draw("size") % 3_000).unwrap();
                                ToolResult::ok(None, call.name, json!("x".repeat(bytes)))
                            }
                            Work::Refused { result, .. } => *result,
                        };
                        self.steps += 1;
                        if self.steps == self.fate.crash_at {
                            return None;
                        }
                        let (id, elapsed, pictures) = (step.id, Duration::ZERO, Vec::new());
                        last = state.step(Event::Finished { id, result, elapsed, pictures });
                        self.keep(&mut state);
                    }
                    last
                }
                Action::Wait => panic!("each step has its result"),
                Action::End(report) => return Some(*report),
            }
        }
    }
}

/// Fails unless each call has exactly one result, in order, and the prompt is there.
fn assert_sound(messages: &[Message], prompt: &str) {
    let (mut open, mut seen) = (Vec::new(), HashSet::new());
    let mut is_prompted = false;
    for message in messages {
        match message {
            Message::Assistant { tool_calls, .. } => {
                assert!(open.is_empty(), "{open:?} has no result");
                for call in tool_calls {
                    assert!(seen.insert(call.id.clone()), "{} is there twice", call.id);
                    assert!(serde_json::from_str::<JsonObject>(&call.arguments).is_ok());
                    open.push(call.id.clone());
                }
            }
            Message::Tool { call_id, .. } => {
                assert_eq!(open.first(), Some(call_id));
                open.remove(0);
            }
            Message::User { content } => {
                assert!(open.is_empty());
                is_prompted |= content.contains(prompt);
            }
            Message::Pictures { .. } => {}
        }
    }
    assert!(open.is_empty(), "{open:?} has no result");
    assert!(is_prompted, "{messages:?}");
}

fn settings(fate: &Fate) -> AgentSettings {
    let limits = RunLimits { max_turns: 8, max_calls: fate.max_calls, ..RunLimits::default() };
    limited(limits).settings().clone().with_context_window(fate.window)
}

proptest! {
    #[test]
    fn each_call_id_gets_exactly_one_result_in_order_whatever_happens(fate in any_fate()) {
        let settings = settings(&fate);
        let mut world = World { fate, steps: 0, asked: 0, entries: Vec::new(), begun: HashMap::new() };
        let mut conversation = Conversation::new();
        let (state, action) = RunState::begin(&settings, &mut conversation, "Go.", budget(&settings));
        let mut report = world.drive(state, action);
        let has_crashed = report.is_none();
        if has_crashed {
            conversation = Conversation::restore(world.entries.clone());
            let (state, action) = RunState::resume(&settings, &mut conversation, &|_| false, budget(&settings));
            report = world.drive(state, action);
        }
        let report = report.unwrap();
        // Each time, it is asked once more for its last answer.
        let most = if has_crashed { 10 } else { 9 };
        prop_assert!(report.turns <= most);
        assert_sound(conversation.messages(), "Go.");
        prop_assert!(world.begun.values().all(|times| *times == 1), "{:?}", world.begun);
        // What was kept is what there is.
        let restored = Conversation::restore(world.entries);
        prop_assert_eq!(restored.messages(), conversation.messages());
        prop_assert_eq!(restored.is_open(), matches!(report.outcome, Outcome::Failed { .. }));
    }

    #[test]
    fn a_new_prompt_answers_what_was_left_open(fate in any_fate()) {
        let settings = settings(&fate);
        let mut world = World { fate, steps: 0, asked: 0, entries: Vec::new(), begun: HashMap::new() };
        let mut first = Conversation::new();
        let (state, action) = RunState::begin(&settings, &mut first, "Go.", budget(&settings));
        world.drive(state, action);
        let mut conversation = Conversation::restore(world.entries.clone());
        let (state, action) = RunState::begin(&settings, &mut conversation, "Go. Again.", budget(&settings));
        (world.steps, world.fate.crash_at) = (0, 0);
        world.drive(state, action).unwrap();
        assert_sound(conversation.messages(), "Go. Again.");
        let restored = Conversation::restore(world.entries);
        prop_assert_eq!(restored.messages(), conversation.messages());
    }
}
