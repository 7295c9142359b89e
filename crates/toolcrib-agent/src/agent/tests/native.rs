//! Deferred tools: a search loads them, and only then they can be called.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_model::{QualifiedName, ResultNote, Tool, ToolCall, ToolResult};
use toolcrib_port::{CallContext, ToolCaller};
use toolcrib_prompt::{InjectionMode, InjectionSettings, Plan, WireNames};

use super::super::offered_tools::MAX_LOADED_TOOLS;
use super::{Scripted, call, calls, says, scripted};
use crate::chat::{ChatReply, ChatRequest};
use crate::journal::Entry;
use crate::{Agent, AgentSettings, Conversation, Journal, Message, RunReport};

/// Finds the tools that a query names, and runs all others.
#[derive(Default)]
struct Finder {
    seen: Mutex<Vec<String>>,
}

#[async_trait]
impl ToolCaller for Finder {
    async fn call(&self, call: ToolCall, _: &CallContext) -> ToolResult {
        self.seen.lock().push(call.name.clone());
        let query = call.arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        let found = query.split_whitespace().map(|name| name.parse::<QualifiedName>().unwrap()).collect();
        let result = ToolResult::ok(call.call_id.clone(), call.name.clone(), json!({"results": [query]}));
        if call.name == "own::search_tools" {
            result.with_note(ResultNote::FoundTools(found))
        } else {
            result
        }
    }
}

/// Keeps all entries.
#[derive(Default)]
struct Kept(Mutex<Vec<Entry>>);

#[async_trait]
impl Journal for Kept {
    async fn write(&self, entries: &[Entry], _: bool) -> std::io::Result<()> {
        self.0.lock().extend_from_slice(entries);
        Ok(())
    }
}

fn agent(count: usize) -> Agent {
    let name = |namespace: &str, name: &str| QualifiedName::new(namespace, name).unwrap();
    let search = Tool::new(name("own", "search_tools"))
        .with_metadata("discovery", true)
        .with_metadata("discovery_step", "discover")
        .with_metadata("finds_tools", true);
    let tools: Vec<Tool> = std::iter::once(search)
        .chain((0..count).map(|number| Tool::new(name("shop", &format!("tool_{number}")))))
        .collect();
    let names = WireNames::new(&tools, "own", &[]);
    let mut settings = InjectionSettings::default();
    (settings.mode, settings.defers_tools) = (InjectionMode::Native, true);
    let plan = Plan::new(&tools, &settings, &names).unwrap();
    Agent::new(AgentSettings::new("assistant", "a-model", &plan, names))
}

async fn run<F: Fn(usize, &ChatRequest<'_>) -> ChatReply + Send + Sync>(
    agent: &Agent,
    conversation: &mut Conversation,
    model: &Scripted<F>,
) -> (RunReport, Vec<String>) {
    let (caller, context) = (Finder::default(), CallContext::new("session"));
    let report = agent.run("Go.", conversation, model, &caller, &context, &mut ()).await;
    (report, caller.seen.into_inner())
}

fn loaded(request: &ChatRequest<'_>) -> Vec<String> {
    request.deferred.unwrap().loaded.iter().map(|tool| tool.name.clone()).collect()
}

fn search(id: &str, names: &str) -> ChatReply {
    calls(vec![call(id, "search_tools", &json!({"query": names}).to_string())])
}

#[tokio::test]
async fn a_deferred_tool_runs_after_a_search_found_it_and_not_before_in_any_spelling() {
    let model = scripted(|number, request| {
        let names: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["search_tools"], "what stands before the conversation stays as it is");
        match number {
            1 => {
                assert!(loaded(request).is_empty());
                let early = ["shop__tool_1", "shop.tool_1", "shop::tool_1"];
                let early = early.iter().zip(["a", "b", "c"]);
                calls(early.map(|(name, id)| call(id, name, "{}")).collect())
            }
            2 => search("d", "shop::tool_1 shop::tool_2 shop::gone"),
            3 => {
                assert_eq!(loaded(request), ["shop__tool_1", "shop__tool_2"]);
                calls(vec![call("e", "shop__tool_1", "{}"), call("f", "shop__tool_3", "{}")])
            }
            _ => says("Done."),
        }
    });
    let mut conversation = Conversation::new();
    let (report, seen) = run(&agent(5), &mut conversation, &model).await;
    assert_eq!(report.text, "Done.");
    assert_eq!(seen, ["own::search_tools", "shop::tool_1"]);
    let refused: Vec<_> = super::results(&conversation)
        .into_iter()
        .filter(|(_, text)| text.contains("not loaded") && text.contains("find it with `search_tools`"))
        .map(|(id, _)| id)
        .collect();
    assert_eq!(refused, ["a", "b", "c", "f"]);
    let loads = conversation.messages().iter().filter_map(|message| match message {
        Message::Tool { loads, .. } if !loads.is_empty() => Some(loads.join(" ")),
        _ => None,
    });
    assert_eq!(loads.collect::<Vec<_>>(), ["shop__tool_1 shop__tool_2"]);
}

#[tokio::test]
async fn a_conversation_that_is_continued_has_the_tools_that_it_loaded() {
    let kept = Arc::new(Kept::default());
    let agent = agent(3).with_journal(Arc::clone(&kept) as Arc<dyn Journal>);
    let model = scripted(|number, _| if number == 1 { search("a", "shop::tool_2") } else { says("Found.") });
    run(&agent, &mut Conversation::new(), &model).await;

    let entries = kept.0.lock().clone();
    let written: Vec<String> = entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    let read = written.iter().map(|line| serde_json::from_str(line).unwrap());
    let mut conversation = Conversation::restore(read.collect::<Vec<Entry>>());
    let model = scripted(|number, request| {
        assert_eq!(loaded(request), ["shop__tool_2"]);
        if number == 1 { calls(vec![call("b", "shop__tool_2", "{}")]) } else { says("Done.") }
    });
    let (_, seen) = run(&agent, &mut conversation, &model).await;
    assert_eq!(seen, ["shop::tool_2"]);

    // A run that broke off behind the search has them too.
    let cut = entries.iter().position(|entry| matches!(entry, Entry::Finished { .. })).unwrap();
    let mut conversation = Conversation::restore(entries[..=cut].to_vec());
    let (caller, context) = (Finder::default(), CallContext::new("session"));
    let model = scripted(|_, request| {
        let Some(Message::Tool { loads, .. }) = request.messages.last() else { panic!("no result") };
        assert_eq!(loads, &["shop__tool_2"]);
        assert_eq!(loaded(request), ["shop__tool_2"]);
        says("Done.")
    });
    let report = agent.resume(&mut conversation, &model, &caller, &context, &mut ()).await;
    assert_eq!(report.text, "Done.");
}

#[tokio::test]
async fn what_the_runtime_says_of_a_search_stands_behind_the_tools() {
    let model =
        scripted(
            |number, _| {
                if number <= 3 { search(&number.to_string(), "shop::tool_1") } else { says("Done.") }
            },
        );
    let mut conversation = Conversation::new();
    run(&agent(3), &mut conversation, &model).await;
    let notes: Vec<_> = conversation
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Tool { content, note, .. } => Some((content.contains("[This was"), note.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(notes[0], (false, ""));
    assert!(!notes[2].0 && notes[2].1.starts_with("[This "), "{notes:?}");
}

#[tokio::test]
async fn the_tools_that_a_conversation_loads_are_bounded() {
    let count = MAX_LOADED_TOOLS + 10;
    let all: Vec<String> = (0..count).map(|number| format!("shop::tool_{number}")).collect();
    let all = all.join(" ");
    let model = scripted(|number, request| match number {
        1 => search("a", &all),
        2 => {
            assert_eq!(loaded(request).len(), MAX_LOADED_TOOLS);
            calls(vec![call("b", &format!("shop__tool_{}", count - 1), "{}")])
        }
        _ => says("Done."),
    });
    let (report, seen) = run(&agent(count), &mut Conversation::new(), &model).await;
    assert_eq!((report.text.as_str(), seen.len()), ("Done.", 1));
}
