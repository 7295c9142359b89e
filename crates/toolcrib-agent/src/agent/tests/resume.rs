//! Going on after a crash.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;
use toolcrib_model::{ErrorKind, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, Catalogue, ToolCaller};

use super::super::{Conversation, Limit, Outcome, RunLimits, RunReport};
use super::{agent, call, calls, limited, results, says, scripted};
use crate::journal::Entry;
use crate::limits::STOP_AFTER_REPEATS;
use crate::{Error, Journal, Message};

/// Keeps entries in memory, until there is no more room.
struct Memory {
    entries: Mutex<Vec<(Entry, bool)>>,
    room: usize,
}

#[async_trait]
impl Journal for Memory {
    async fn write(&self, entries: &[Entry], lasts: bool) -> io::Result<()> {
        let mut kept = self.entries.lock();
        for entry in entries {
            if kept.len() == self.room {
                return Err(io::ErrorKind::StorageFull.into());
            }
            kept.push((entry.clone(), lasts));
        }
        Ok(())
    }
}

fn memory(room: usize) -> Arc<Memory> {
    Arc::new(Memory { entries: Mutex::default(), room })
}

/// Runs everything, and tells what it ran. What begins with `read` may be repeated, and what begins with `fail` fails.
#[derive(Default)]
struct World(Mutex<Vec<String>>);

#[async_trait]
impl ToolCaller for World {
    async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
        self.0.lock().push(call.name.clone());
        if call.name.starts_with("fail") {
            let error = ToolError::new(ErrorKind::ToolFailed, "no");
            return ToolResult::failed(call.call_id, call.name, error);
        }
        ToolResult::ok(call.call_id, call.name, json!("done"))
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for World {
    fn may_repeat(&self, call: &ToolCall, _context: &CallContext) -> bool {
        call.name.starts_with("read")
    }
}

/// Three calls, of which the last may be repeated, and an answer. Keeps no more than so many entries.
async fn broken_off(room: usize) -> (RunReport, Vec<Entry>, Vec<String>) {
    let model = scripted(|turn, _| match turn {
        1 => calls(["write.a", "write.b", "read.c"].map(|name| call(name, name, r#"{"n": 1}"#)).into()),
        _ => says("Done."),
    });
    let (journal, world) = (memory(room), World::default());
    let agent = agent().with_journal(journal.clone());
    let mut conversation = Conversation::new();
    let context = CallContext::new("session");
    let report = agent.run("Go.", &mut conversation, &model, &world, &context, &mut ()).await;
    let entries = journal.entries.lock().iter().map(|(entry, _)| entry.clone()).collect();
    (report, entries, world.0.into_inner())
}

#[tokio::test]
async fn what_a_turn_cost_that_said_nothing_is_known_after_a_crash() {
    let mut silent = says("");
    silent.usage.prompt_tokens = 70;
    let model = scripted(move |_, _| silent.clone());
    // Began, said, nothing said, and no room for the note about that.
    let journal = memory(3);
    let (kept, mut conversation) = (agent().with_journal(journal.clone()), Conversation::new());
    let context = CallContext::new("session");
    kept.run("Go.", &mut conversation, &model, &World::default(), &context, &mut ()).await;
    let entries: Vec<_> = journal.entries.lock().iter().map(|(entry, _)| entry.clone()).collect();
    let mut conversation = Conversation::restore(entries);
    let report = agent().resume(&mut conversation, &model, &World::default(), &context, &mut ()).await;
    assert!(matches!(report.outcome, Outcome::Failed { error: Error::EmptyReply { .. } }), "{report:?}");
    assert_eq!((report.turns, report.usage.prompt_tokens), (2, 140));
}

#[tokio::test]
async fn the_id_of_a_call_that_was_folded_away_is_not_given_again() {
    let began = Entry::Began { prompt: "Go.".to_owned() };
    let prompt = || vec![Message::user("Go.")];
    let made = call("call_1_1", "read.a", "{}");
    let entries = [
        began,
        Entry::Said { messages: prompt() },
        Entry::Replied {
            message: Message::Assistant {
                content: String::new(),
                tool_calls: vec![made.clone()],
                reasoning: String::new(),
                written: None,
                provider_items: None,
            },
            calls: vec![made.clone()],
            usage: crate::chat::Usage::default(),
            model: None,
        },
        Entry::Begun { call_id: made.id.clone() },
        Entry::Finished {
            call_id: made.id,
            ok: true,
            answer: "done".to_owned(),
            note: String::new(),
            loads: Vec::new(),
            pictures: Vec::new(),
            ms: None,
        },
        Entry::Said { messages: vec![Message::tool("call_1_1", "read.a", "done")] },
        Entry::Compacted { messages: prompt(), prompt_at: 0, usage: crate::chat::Usage::default() },
    ];
    let model = scripted(|turn, _| match turn {
        1 => calls(vec![call("call_1_1", "read.b", "{}")]),
        _ => says("Done."),
    });
    let mut conversation = Conversation::restore(entries);
    let context = CallContext::new("session");
    agent().resume(&mut conversation, &model, &World::default(), &context, &mut ()).await;
    let [(id, "done")] = results(&conversation)[..] else { panic!("{conversation:?}") };
    assert_ne!(id, "call_1_1");
}

#[tokio::test]
async fn wherever_a_run_breaks_off_no_side_effect_happens_twice() {
    // Began, said, replied, then begun and finished for each of three, said, replied, ended.
    let (_, all, _) = broken_off(usize::MAX).await;
    assert_eq!(all.len(), 12);
    for crash in 2..all.len() {
        let mut before = World::default();
        let begun = all[..crash].iter().filter_map(|entry| match entry {
            Entry::Begun { call_id } => Some(call_id.clone()),
            _ => None,
        });
        // The worst that may be: what was begun has happened.
        before.0.get_mut().extend(begun);
        let mut conversation = Conversation::restore(all[..crash].to_vec());
        assert!(conversation.is_open(), "{crash}");
        let model = scripted(move |turn, request| {
            let asked = request.messages.iter().any(|message| matches!(message, Message::Assistant { .. }));
            if turn == 1 && !asked {
                return calls(
                    ["write.a", "write.b", "read.c"].map(|name| call(name, name, r#"{"n": 1}"#)).into(),
                );
            }
            says("Done.")
        });
        let context = CallContext::new("session");
        let report = agent().resume(&mut conversation, &model, &before, &context, &mut ()).await;
        assert!(matches!(report.outcome, Outcome::Completed), "{crash}: {:?}", report.outcome);
        assert_eq!((report.text.as_str(), results(&conversation).len()), ("Done.", 3), "{crash}");
        let ran = before.0.into_inner();
        for write in ["write.a", "write.b"] {
            assert_eq!(ran.iter().filter(|name| *name == write).count(), 1, "{crash}: {ran:?}");
        }
        assert!(ran.iter().any(|name| name == "read.c"), "{crash}: {ran:?}");
        let unknown =
            results(&conversation).iter().filter(|(_, text)| text.contains("outcome_unknown")).count();
        let is_between = matches!(&all[crash - 1], Entry::Begun { call_id } if call_id.starts_with("write"));
        assert_eq!(unknown, usize::from(is_between), "{crash}");
    }
}

#[tokio::test]
async fn what_cannot_be_kept_is_not_begun() {
    // There is no room for the beginning of the second call.
    let (report, _, ran) = broken_off(5).await;
    assert!(matches!(report.outcome, Outcome::Failed { error: Error::SessionFailed { .. } }));
    assert_eq!(ran, ["write.a"]);
}

#[tokio::test]
async fn what_cannot_be_done_again_is_kept_for_good_before_it_begins() {
    let model = scripted(|turn, _| match turn {
        1 => calls(vec![call("a", "write.a", "{}")]),
        _ => says("Done."),
    });
    let (journal, mut conversation) = (memory(usize::MAX), Conversation::new());
    let agent = agent().with_journal(journal.clone());
    let context = CallContext::new("session");
    agent.run("Go.", &mut conversation, &model, &World::default(), &context, &mut ()).await;
    let entries = journal.entries.lock();
    let lasting = entries.iter().filter(|(_, lasts)| *lasts).map(|(entry, _)| match entry {
        Entry::Begun { .. } => "begun",
        Entry::Finished { .. } => "finished",
        Entry::Said { .. } => "said",
        Entry::Replied { .. } => "replied",
        Entry::Ended => "ended",
        other => panic!("{other:?}"),
    });
    assert_eq!(lasting.collect::<Vec<_>>(), ["begun", "finished", "said", "replied", "ended"]);
}

#[tokio::test]
async fn a_run_that_failed_goes_on_where_it_was() {
    let journal = memory(usize::MAX);
    let mut conversation = Conversation::new();
    let context = CallContext::new("session");
    context.cancel.cancel();
    let model = scripted(|_, _| says("Here."));
    let keeping = agent().with_journal(journal.clone());
    let report = keeping.run("Go.", &mut conversation, &model, &World::default(), &context, &mut ()).await;
    assert!(matches!(report.outcome, Outcome::Failed { error: Error::Cancelled }));
    let entries: Vec<_> = journal.entries.lock().iter().map(|(entry, _)| entry.clone()).collect();
    let mut conversation = Conversation::restore(entries);
    let context = CallContext::new("session");
    let report = agent().resume(&mut conversation, &model, &World::default(), &context, &mut ()).await;
    assert_eq!((report.text.as_str(), conversation.messages().len()), ("Here.", 2));
}

/// A run that calls the same tool in each turn, broken off wherever it can be and gone on with. Where each ended.
async fn resumed_everywhere(name: &'static str, limits: RunLimits) -> Vec<(Option<Limit>, usize)> {
    let again = || scripted(move |turn, _| calls(vec![call(&format!("c{turn}"), name, r#"{"n": 1}"#)]));
    let journal = memory(usize::MAX);
    let run = limited(limits).with_journal(journal.clone());
    let (context, mut conversation) = (CallContext::new("session"), Conversation::new());
    run.run("Go.", &mut conversation, &again(), &World::default(), &context, &mut ()).await;
    let all: Vec<_> = journal.entries.lock().iter().map(|(entry, _)| entry.clone()).collect();
    let mut ends = Vec::new();
    for crash in 2..all.len() {
        let is_finished = |entry: &&Entry| matches!(entry, Entry::Finished { .. });
        let before = all[..crash].iter().filter(is_finished).count();
        let (world, mut conversation) = (World::default(), Conversation::restore(all[..crash].to_vec()));
        let report = limited(limits).resume(&mut conversation, &again(), &world, &context, &mut ()).await;
        let limit = match report.outcome {
            Outcome::LimitReached { limit } => Some(limit),
            _ => None,
        };
        ends.push((limit, before + world.0.into_inner().len()));
    }
    ends
}

#[tokio::test]
async fn what_was_counted_before_a_crash_is_counted_on() {
    let limits = RunLimits { max_failures: 4, ..RunLimits::default() };
    let ends = resumed_everywhere("fail.a", limits).await;
    // A call of which nothing is known has failed for its model, and did not run again.
    assert!(
        ends.iter().all(|(limit, ran)| *limit == Some(Limit::Failures) && (3..=4).contains(ran)),
        "{ends:?}"
    );
    let ends = resumed_everywhere("read.a", RunLimits::default()).await;
    let most = STOP_AFTER_REPEATS - 1;
    assert!(ends.iter().all(|(limit, ran)| *limit == Some(Limit::Repeats) && *ran == most), "{ends:?}");
}
