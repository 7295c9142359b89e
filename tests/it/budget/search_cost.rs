//! What is told of tools that are found and looked at, among many selections of tools, without the binary.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_meta::{Discovery, module};
use toolcrib_model::{QualifiedName, Tool, ToolCall};
use toolcrib_policy::Policy;
use toolcrib_port::{CallContext, LoadOutcome, ToolLoader};
use toolcrib_registry::ToolRegistry;

use super::{MAX_SEARCH, TOKENS_PER_MESSAGE, TOOLS, all_tools, asked_of, count, text};
use crate::support::shared;

/// How many selections of the data set are made.
const SELECTIONS: u64 = 12;

/// How many tools of each are looked for.
const LOOKED_FOR: usize = 40;

/// What a search may cost, whatever it finds, and its call.
const MAX_FOUND: u64 = 310;

/// The data set's tools whose own schema leaves no room for a search.
const TOO_LARGE: usize = 2;

/// The share of the found tools whose signatures name all required arguments, in percent.
const CALLABLE_PERCENT: usize = 99;

/// The tools of a selection.
pub(super) struct Selected(pub(super) Vec<Tool>);

#[async_trait]
impl ToolLoader for Selected {
    fn source(&self) -> &'static str {
        "selected"
    }

    async fn load(&self) -> LoadOutcome {
        LoadOutcome { tools: self.0.clone(), rejected: Vec::new() }
    }
}

/// An executor over these tools and the meta-tools.
async fn executor(tools: &[&Value]) -> Arc<Executor> {
    let tools = tools.iter().map(|tool| {
        let name = QualifiedName::new(text(&tool["namespace"]), text(&tool["name"])).unwrap();
        Tool::new(name)
            .with_description(text(&tool["description"]))
            .with_parameters(tool["parameters"].clone())
    });
    let capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    let policy = Arc::new(Policy::new(&capabilities, []).unwrap());
    let registry = Arc::new(ToolRegistry::new());
    let meta = Arc::new(module(Arc::new(Discovery::new(&registry, Arc::clone(&policy)))));
    registry.add_loader(meta.clone());
    registry.add_loader(Arc::new(Selected(tools.collect())));
    registry.refresh().await.unwrap();
    let executor = Executor::new(registry, policy, Arc::new(DenyAll));
    Arc::new(executor.with_engine(meta.source().to_owned(), meta))
}

/// What comes of a call, and what both cost in a conversation.
async fn called(executor: &Arc<Executor>, name: &str, arguments: Value) -> (Value, u64) {
    let asked = count(name) + count(&arguments.to_string());
    let call = ToolCall::new(name, arguments.as_object().unwrap().clone());
    let result = executor.call(call, &CallContext::new("s")).await;
    assert!(result.is_ok(), "{result:?}");
    let cost = asked + count(&result.result.to_string()) + 2 * TOKENS_PER_MESSAGE;
    (result.result, cost)
}

/// Numbers that look like chance, and are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    /// As many different ones of these.
    fn select<'a>(&mut self, all: &'a [Value], count: usize) -> Vec<&'a Value> {
        let mut rest: Vec<&Value> = all.iter().collect();
        (0..count).map(|_| rest.swap_remove(self.below(rest.len()))).collect()
    }
}

#[tokio::test]
async fn a_search_and_one_tool_cost_at_most_900_tokens_in_any_selection_unless_the_tool_alone_is_too_large() {
    let Some(shared) = shared() else { return };
    let all = all_tools(&shared);
    // What looking at a tool costs depends on nothing else.
    let everything = executor(&all.iter().collect::<Vec<_>>()).await;
    let mut looks = BTreeMap::new();
    let snapshot = everything.registry().snapshot();
    let is_sound = |tool: &&Value| {
        let name = QualifiedName::new(text(&tool["namespace"]), text(&tool["name"])).unwrap();
        snapshot.get(&name).is_some()
    };
    let all: Vec<Value> = all.iter().filter(is_sound).cloned().collect();
    for tool in &all {
        let (_, name) = asked_of(tool);
        looks.insert(name.clone(), called(&everything, "get_tool", json!({"name": name})).await.1);
    }
    let (mut searches, mut sums, mut told, mut callable) = (Vec::new(), Vec::new(), 0, 0);
    let mut chance = Chance(1);
    for _ in 0..SELECTIONS {
        let selection = chance.select(&all, TOOLS);
        let executor = executor(&selection).await;
        for tool in selection.iter().take(LOOKED_FOR) {
            let (query, name) = asked_of(tool);
            let (found, search) = called(&executor, "search_tools", json!({"query": query})).await;
            let rows = found["results"].as_array().unwrap();
            // Of each of them it is told what it does and how it is called.
            for row in rows {
                let line = row.as_str().unwrap();
                let (name, rest) = line.split_once('(').unwrap();
                assert!(rest.contains(')'), "{line}");
                let snapshot = executor.registry().snapshot();
                let tools = snapshot.find(name, |_| true).unwrap();
                let schema = &tools.first().unwrap().tool.parameters;
                let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
                callable += usize::from(required.clone().all(|argument| rest.contains(argument)));
                told += 1;
            }
            searches.push(search);
            sums.push(search + looks[&name]);
        }
    }
    let mut sizes: Vec<u64> = looks.values().copied().collect();
    for (what, costs) in [("a look", &mut sizes), ("a search", &mut searches), ("both", &mut sums)] {
        costs.sort_unstable();
        let share = |percent: usize| costs[(costs.len() - 1) * percent / 100];
        let over = costs.iter().filter(|cost| **cost > MAX_SEARCH).count();
        let shares = [50, 90, 99, 100].map(share);
        eprintln!("{what}: {shares:?} at 50, 90, 99 and 100 %, {over} of {} above {MAX_SEARCH}", costs.len());
    }
    let most = *searches.last().unwrap();
    let too_large = sizes.iter().filter(|size| **size + most > MAX_SEARCH).count();
    eprintln!("{callable} of {told} with all required arguments");
    assert!(most <= MAX_FOUND, "{most}");
    assert!(too_large <= TOO_LARGE, "{too_large}");
    assert!(callable * 100 >= told * CALLABLE_PERCENT, "{callable} of {told}");
}
