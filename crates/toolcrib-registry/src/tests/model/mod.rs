//! The registry, run in many of the orders that its threads can take.
//!
//! `registry.rs` is compiled here a second time, upon a `sync` whose every step lets other threads in. Each test is run
//! in hundreds of orders: some by chance, some with few switches at chosen places.

mod sync;

#[expect(clippy::duplicate_mod, reason = "the same code runs on the model and on the real thing")]
#[path = "../../registry.rs"]
#[expect(dead_code, unreachable_pub, reason = "the model calls only what it is about")]
mod registry;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use shuttle::future::{block_on, spawn_local, yield_now};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};
use toolcrib_model::QualifiedName;
use toolcrib_port::{LoadOutcome, ToolLoader};

use self::registry::ToolRegistry;
use super::tool;
use crate::{Artifacts, Change, Enriched, Enrichment, Snapshot};

/// In how many orders each test is run by chance, and in how many with few switches.
const ORDERS: usize = 300;

/// How many switches are few.
const SWITCHES: usize = 3;

fn in_many_orders(model: fn()) {
    let run = |scheduler: Box<dyn Scheduler + Send>| Runner::new(scheduler, Config::new()).run(model);
    run(Box::new(RandomScheduler::new(ORDERS)));
    run(Box::new(PctScheduler::new(SWITCHES, ORDERS)));
}

/// A source whose tools all say at which load they were read. It has one of two names in turn, so that each load adds a
/// name and removes one.
struct Counting {
    source: &'static str,
    loads: AtomicU64,
    panics: AtomicBool,
}

impl Counting {
    fn new(source: &'static str) -> Arc<Self> {
        Arc::new(Self { source, loads: AtomicU64::new(0), panics: AtomicBool::new(false) })
    }

    fn loads(&self) -> u64 {
        self.loads.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl ToolLoader for Counting {
    fn source(&self) -> &str {
        self.source
    }

    async fn load(&self) -> LoadOutcome {
        yield_now().await;
        if self.panics.load(Ordering::SeqCst) {
            // Without the hook, which would write a page for each of thousands.
            std::panic::resume_unwind(Box::new("the loader breaks"));
        }
        let load = self.loads.fetch_add(1, Ordering::SeqCst) + 1;
        yield_now().await;
        let named = |name: &str| tool(self.source, name).with_description(load.to_string());
        LoadOutcome {
            tools: vec![named("always"), named(["even", "odd"][usize::from(load % 2 == 1)])],
            rejected: vec![],
        }
    }
}

/// Writes down which tools it was given.
struct Mirror;

#[async_trait]
impl Enrichment for Mirror {
    fn key(&self) -> &'static str {
        "mirror"
    }

    async fn run(&self, tools: &Snapshot, _artifacts: &Artifacts) -> Result<Enriched, String> {
        yield_now().await;
        Ok(Enriched::new(told(tools)))
    }
}

/// Names and descriptions.
fn told(snapshot: &Snapshot) -> Vec<String> {
    snapshot.iter().map(|entry| format!("{} {}", entry.tool.name, entry.tool.description)).collect()
}

fn names(snapshot: &Snapshot) -> BTreeSet<QualifiedName> {
    snapshot.tool_names().cloned().collect()
}

/// At which load the tools of a source were read; one number, unless it is half of one load and half of another.
fn load_of(snapshot: &Snapshot, source: &str) -> u64 {
    let loads: BTreeSet<&str> = snapshot
        .iter()
        .filter(|entry| entry.tool.name.namespace() == source)
        .map(|entry| entry.tool.description.as_str())
        .collect();
    assert!(loads.len() <= 1, "half of one load and half of another: {:?}", told(snapshot));
    loads.first().map_or(0, |load| load.parse().unwrap())
}

fn registry(loaders: &[&Arc<Counting>]) -> Arc<ToolRegistry> {
    let registry = ToolRegistry::new().with_enrichments([Arc::new(Mirror) as Arc<dyn Enrichment>]).unwrap();
    for loader in loaders {
        registry.add_loader(Arc::clone(loader) as Arc<dyn ToolLoader>);
    }
    Arc::new(registry)
}

/// Refreshes from a thread of its own.
fn refresher(registry: &Arc<ToolRegistry>) -> thread::JoinHandle<()> {
    let registry = Arc::clone(registry);
    thread::spawn(move || drop(block_on(registry.refresh()).unwrap()))
}

#[test]
fn readers_never_see_half_of_a_refresh() {
    in_many_orders(|| {
        let (one, two) = (Counting::new("one"), Counting::new("two"));
        let registry = registry(&[&one, &two]);
        let writers = [refresher(&registry), refresher(&registry)];
        let mut last = 0;
        for _ in 0..3 {
            let snapshot = registry.snapshot();
            assert!(snapshot.generation() >= last, "what was seen once is not taken back");
            last = snapshot.generation();
            // Each refresh loads both sources once, so a whole one has the same number of both.
            let loads = (load_of(&snapshot, "one"), load_of(&snapshot, "two"));
            assert_eq!(loads, (last, last));
            let mirrored = snapshot.artifacts().get::<Vec<String>>("mirror");
            assert_eq!(mirrored.as_deref(), (last > 0).then(|| told(&snapshot)).as_ref());
        }
        for writer in writers {
            writer.join().unwrap();
        }
        assert_eq!(registry.snapshot().generation(), 2);
    });
}

#[test]
fn a_subscriber_gets_the_differences_in_order_and_none_before_it_holds() {
    in_many_orders(|| {
        let loader = Counting::new("one");
        let registry = registry(&[&loader]);
        let changes = registry.subscribe();
        let writers = [refresher(&registry), refresher(&registry)];
        let mut known = BTreeSet::new();
        for generation in 1..=2 {
            let change: Arc<Change> = changes.recv().unwrap();
            assert_eq!(change.generation, generation);
            assert!(registry.snapshot().generation() >= generation, "told before it holds");
            for name in &change.removed {
                assert!(known.remove(name), "removed before it was added");
            }
            for name in &change.added {
                assert!(known.insert(name.clone()), "added twice");
            }
            assert!(change.changed.iter().all(|changed| known.contains(&changed.name)));
        }
        for writer in writers {
            writer.join().unwrap();
        }
        assert_eq!(known, names(&registry.snapshot()), "the differences add up to what is there");
    });
}

#[test]
fn no_refresh_undoes_another() {
    in_many_orders(|| {
        let (one, two) = (Counting::new("one"), Counting::new("two"));
        let registry = registry(&[&one, &two]);
        let all = refresher(&registry);
        let of_one = {
            let registry = Arc::clone(&registry);
            thread::spawn(move || {
                let snapshot = block_on(registry.refresh_source("one")).unwrap();
                load_of(&snapshot, "one")
            })
        };
        let loaded = of_one.join().unwrap();
        all.join().unwrap();
        let snapshot = registry.snapshot();
        assert_eq!(snapshot.generation(), 2);
        assert!(load_of(&snapshot, "one") >= loaded);
        // The last load of each source is the one that is there.
        assert_eq!((load_of(&snapshot, "one"), load_of(&snapshot, "two")), (one.loads(), two.loads()));
    });
}

#[test]
fn a_loader_that_panics_takes_nothing_from_anybody() {
    in_many_orders(|| {
        let (one, two) = (Counting::new("one"), Counting::new("two"));
        let registry = registry(&[&one, &two]);
        block_on(registry.refresh()).unwrap();
        let writers = [refresher(&registry), refresher(&registry)];
        one.panics.store(true, Ordering::SeqCst);
        for _ in 0..2 {
            let snapshot = registry.snapshot();
            assert!(load_of(&snapshot, "one") >= 1, "it keeps the tools that it had");
            assert_eq!(load_of(&snapshot, "two"), snapshot.generation());
        }
        for writer in writers {
            writer.join().unwrap();
        }
        let snapshot = registry.snapshot();
        assert_eq!((load_of(&snapshot, "one"), load_of(&snapshot, "two")), (one.loads(), 3));
    });
}

#[test]
fn a_refresh_that_is_dropped_on_its_way_changes_nothing_or_all() {
    in_many_orders(|| {
        let (one, two) = (Counting::new("one"), Counting::new("two"));
        let registry = registry(&[&one, &two]);
        let dropped = {
            let registry = Arc::clone(&registry);
            spawn_local(async move { registry.refresh().await.unwrap() })
        };
        dropped.abort();
        let _ = block_on(dropped);
        let before = registry.snapshot();
        assert_eq!(load_of(&before, "one"), load_of(&before, "two"));
        let after = block_on(registry.refresh()).unwrap();
        assert_eq!(after.generation(), before.generation() + 1, "the lock is free again");
        assert_eq!((load_of(&after, "one"), load_of(&after, "two")), (one.loads(), two.loads()));
    });
}
