//! Reads during refreshes.
//!
//! A read takes the current snapshot and resolves a call. Sixty-four readers do a few reads, pause, and continue, as
//! agents do. Readers without pauses would leave a writer hardly any time on two cores, and would mostly measure each
//! other. One run has three phases:
//!
//! 1. no writer;
//! 2. a writer refreshes a registry *without readers*, so that the readers share the cores and their caches with
//!    the same work;
//! 3. the writer refreshes the registry that they read.
//!
//! The ratio of the third to the second is the cost of swapping snapshots. The ratio of the third to the first is what
//! a user notices.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{hint, thread};

use async_trait::async_trait;
use parking_lot::Mutex;
use toolcrib_bench::catalogue;
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_model::{JsonObject, Tool, ToolCall};
use toolcrib_port::{LoadOutcome, ToolLoader};
use toolcrib_registry::ToolRegistry;

const READERS: usize = 64;
const REFRESHES: usize = 1_000;
const TOOLS: usize = 1_000;

/// The number of tools that each refresh changes.
const CHANGED: usize = 10;

/// The number of reads without a pause, and the pause.
const BURST: usize = 20;
const PAUSE: Duration = Duration::from_millis(2);

/// The duration of the phase without a writer.
const ALONE: Duration = Duration::from_secs(4);

/// The maximum ratio of the 99th percentile of reads with a writer to that without.
const BOUND: f64 = 2.0;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title(&format!("{READERS} readers of {TOOLS} tools, and a writer that refreshes {REFRESHES} times"));
    let read = registry()?;
    let other = registry()?;
    let calls: Vec<_> =
        read.snapshot().tool_names().map(|name| ToolCall::new(name.to_string(), JsonObject::new())).collect();

    let alone = reads_during(&read, &calls, || {
        thread::sleep(ALONE);
        Ok(())
    })?;
    let beside = reads_during(&read, &calls, || refresh(&other))?;
    let during = reads_during(&read, &calls, || refresh(&read))?;
    let generation = read.snapshot().generation();
    if generation < REFRESHES as u64 {
        return Err(format!("only {generation} refreshes took place").into());
    }

    for (what, stretch) in [
        ("nobody writes", &alone),
        ("a registry beside is refreshed", &beside),
        ("theirs is refreshed", &during),
    ] {
        let Stretch { reads, taken } = stretch;
        Row::new(
            format!("p50, {what} ({} reads in {:.1} s)", reads.len(), taken.as_secs_f64()),
            reads.median(),
        )
        .print();
        Row::new(format!("p99, {what}"), reads.percentile(99.0)).print();
    }
    let p99 = during.reads.percentile(99.0);
    Row::new("p99 with a writer, against one beside", p99)
        .at_most_times(BOUND, beside.reads.percentile(99.0))
        .print();
    Row::new("p99 with a writer, against none", p99)
        .at_most_times(BOUND, alone.reads.percentile(99.0))
        .print();
    Ok(())
}

/// The measurements of the readers in one phase.
struct Stretch {
    reads: Timings,
    taken: Duration,
}

fn reads_during(
    registry: &ToolRegistry,
    calls: &[ToolCall],
    work: impl FnOnce() -> Result<(), Box<dyn Error>>,
) -> Result<Stretch, Box<dyn Error>> {
    let is_over = AtomicBool::new(false);
    let all = Mutex::new(Timings::default());
    let start = Instant::now();
    thread::scope(|scope| {
        for reader in 0..READERS {
            let (is_over, all) = (&is_over, &all);
            scope.spawn(move || {
                let reads = read_until(is_over, registry, calls, reader);
                all.lock().merge(&reads);
            });
        }
        let outcome = work();
        is_over.store(true, Ordering::Relaxed);
        outcome
    })?;
    let reads = all.into_inner();
    Ok(Stretch { reads, taken: start.elapsed() })
}

fn read_until(is_over: &AtomicBool, registry: &ToolRegistry, calls: &[ToolCall], reader: usize) -> Timings {
    let mut reads = Timings::default();
    let mut calls = calls.iter().cycle().skip(reader * TOOLS / READERS);
    while !is_over.load(Ordering::Relaxed) {
        for call in calls.by_ref().take(BURST) {
            reads.time(|| {
                let snapshot = registry.snapshot();
                let _ = hint::black_box(snapshot.resolve(call, |_| true));
            });
        }
        thread::sleep(PAUSE);
    }
    reads
}

fn refresh(registry: &ToolRegistry) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    for _ in 0..REFRESHES {
        runtime.block_on(registry.refresh())?;
    }
    Ok(())
}

fn registry() -> Result<ToolRegistry, Box<dyn Error>> {
    let tools: Vec<Tool> =
        catalogue::tools(TOOLS).into_iter().map(serde_json::from_value).collect::<Result<_, _>>()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    let loader = Arc::new(Changing { tools, loads: AtomicUsize::new(0) });
    Ok(runtime.block_on(ToolRegistry::from_loaders([loader as Arc<dyn ToolLoader>])))
}

/// A source with a few tools that have another schema at each load.
struct Changing {
    tools: Vec<Tool>,
    loads: AtomicUsize,
}

#[async_trait]
impl ToolLoader for Changing {
    fn source(&self) -> &'static str {
        "bench"
    }

    async fn load(&self) -> LoadOutcome {
        let load = self.loads.fetch_add(1, Ordering::Relaxed);
        let mut tools = self.tools.clone();
        let first = load * CHANGED % TOOLS;
        for (position, tool) in tools.iter_mut().skip(first).take(CHANGED).enumerate() {
            tool.parameters = catalogue::schema(TOOLS + load * CHANGED + position, 6).into();
        }
        LoadOutcome { tools, rejected: Vec::new() }
    }
}
