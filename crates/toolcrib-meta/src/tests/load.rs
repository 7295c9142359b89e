//! Searching while the tools change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{QualifiedName, Tool, ToolCall};
use toolcrib_policy::Policy;
use toolcrib_port::{CallContext, LoadOutcome, ToolLoader};
use toolcrib_registry::ToolRegistry;

use crate::{Discovery, module};

const SEARCHERS: usize = 64;
const ROUNDS: usize = 20;
/// How many generations follow each other at once in a round, so that most come while an index is built.
const GENERATIONS_OF_A_ROUND: usize = 5;
/// The tools of each generation; as many as one answer may show.
const TOOLS: usize = 6;

/// Loads other tools each time: their names say which time it was.
#[derive(Default)]
struct Changing(AtomicUsize);

#[async_trait]
impl ToolLoader for Changing {
    fn source(&self) -> &'static str {
        "changing"
    }

    async fn load(&self) -> LoadOutcome {
        let generation = self.0.fetch_add(1, Ordering::Relaxed);
        let tool = |number| {
            let name = format!("parcels_{number}_of_{generation}");
            Tool::new(QualifiedName::new("depot", name).unwrap()).with_description("Sorts parcels.")
        };
        LoadOutcome { tools: (0..TOOLS).map(tool).collect(), rejected: vec![] }
    }
}

/// The generations of the tools that a search finds, with how many there are of each.
async fn search(executor: &Arc<Executor>) -> Vec<(usize, usize)> {
    let arguments = json!({"query": "sort parcels", "max_results": TOOLS});
    let call = ToolCall::new("search_tools", arguments.as_object().unwrap().clone());
    let found = executor.call(call, &CallContext::new("s")).await;
    assert!(found.error.is_none(), "{:?}", found.error);
    let lines = found.result["results"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
    let names = lines.map(|line| line.split_once('(').unwrap().0);
    let mut generations: Vec<(usize, usize)> = Vec::new();
    for name in names {
        let generation = name.rsplit('_').next().unwrap().parse().unwrap();
        match generations.iter_mut().find(|(known, _)| *known == generation) {
            Some((_, count)) => *count += 1,
            None => generations.push((generation, 1)),
        }
    }
    generations
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_search_while_tools_change_finds_all_tools_of_one_generation() {
    let capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    let policy = Arc::new(Policy::new(&capabilities, []).unwrap());
    let registry = Arc::new(ToolRegistry::new());
    let meta = Arc::new(module(Arc::new(Discovery::new(&registry, Arc::clone(&policy)))));
    registry.add_loader(meta.clone());
    registry.add_loader(Arc::new(Changing::default()));
    registry.refresh().await.unwrap();
    let executor = Executor::new(Arc::clone(&registry), policy, Arc::new(DenyAll));
    let executor = Arc::new(executor.with_engine(meta.source().to_owned(), meta));
    let (is_over, searches) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let searchers: Vec<_> = (0..SEARCHERS)
        .map(|_| {
            let (executor, is_over) = (Arc::clone(&executor), Arc::clone(&is_over));
            let searches = Arc::clone(&searches);
            tokio::spawn(async move {
                let mut last = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let found = search(&executor).await;
                    assert!(matches!(found[..], [(_, TOOLS)]), "{found:?}");
                    assert!(found[0].0 >= last, "generation {} after {last}", found[0].0);
                    last = found[0].0;
                    searches.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for round in 1..=ROUNDS {
        for _ in 0..GENERATIONS_OF_A_ROUND {
            registry.refresh().await.unwrap();
        }
        // Searches go on in each round.
        let goal = searches.load(Ordering::Relaxed) + SEARCHERS / 4;
        while searches.load(Ordering::Relaxed) < goal && searchers.iter().all(|one| !one.is_finished()) {
            tokio::task::yield_now().await;
        }
        assert_eq!(search(&executor).await, [(round * GENERATIONS_OF_A_ROUND, TOOLS)]);
    }
    is_over.store(true, Ordering::Relaxed);
    for searcher in searchers {
        searcher.await.unwrap();
    }
}
