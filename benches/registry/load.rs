//! Loading: from a tool file to a snapshot that is ready.

use std::error::Error;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_bench::{catalogue, memory, processor};
use toolcrib_loader_file::FileLoader;
use toolcrib_port::ToolLoader;
use toolcrib_registry::ToolRegistry;

const TOOLS: usize = 10_000;

/// The time limit on two cores.
const BOUND: Duration = Duration::from_millis(250);

const ROUNDS: u32 = 15;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tools.json");
    let text = serde_json::to_vec(&catalogue::tools(TOOLS))?;
    fs::write(&path, &text)?;
    let bytes = text.len();
    title(&format!("{TOOLS} tools from one JSON file of {} KiB into a ready snapshot", bytes / 1024));

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    let loader: Arc<dyn ToolLoader> = Arc::new(FileLoader::new(path));
    let load = || runtime.block_on(ToolRegistry::from_loaders([Arc::clone(&loader)]));
    let (registry, peak) = memory::peak_of(load);
    let snapshot = registry.snapshot();
    if snapshot.iter().len() != TOOLS {
        return Err(
            format!("{} tools loaded, rejected: {:?}", snapshot.iter().len(), snapshot.rejected()).into()
        );
    }

    let (mut peer, mut file, mut whole, mut again) = <(Timings, Timings, Timings, Timings)>::default();
    // In sequence, so that each starts with the memory that it left itself.
    let ((), processors) = processor::time_of(|| (0..ROUNDS).for_each(|_| drop(whole.time(load))));
    let ((), processors_of_file) =
        processor::time_of(|| (0..ROUNDS).for_each(|_| drop(file.time(|| runtime.block_on(loader.load())))));
    for _ in 0..ROUNDS {
        again.time(|| runtime.block_on(registry.refresh()))?;
    }
    for _ in 0..ROUNDS {
        // The lower bound of loading, on one core: parse the text and compile each schema.
        peer.time(|| -> Result<_, Box<dyn Error>> {
            let tools: Vec<serde_json::Value> = serde_json::from_slice(&text)?;
            let schemas = tools.iter().filter_map(|tool| tool.get("parameters"));
            Ok(schemas.map(jsonschema::validator_for).collect::<Result<Vec<_>, _>>()?.len())
        })?;
    }
    Row::new("serde_json and jsonschema alone, on one core", peer.median()).print();
    Row::new("of it: the file read into tools", file.median()).print();
    Row::new("all of it", whole.median()).at_most(BOUND).print();
    Row::new("beside serde_json and jsonschema alone", whole.median()).beside(peer.median()).print();
    Row::new("a refresh of the same file, whose tools are all there", again.median()).print();
    for (what, taken) in [
        ("processor time of it, both cores, the end of the tools included", processors),
        ("processor time of reading the file", processors_of_file),
    ] {
        if let Some(taken) = taken {
            Row::new(what, taken / ROUNDS).print();
        }
    }
    if let Some(peak) = peak {
        Row::new("memory at the peak of the first load", toolcrib_bench::report::Figure::Bytes(peak)).print();
    }
    Ok(())
}
