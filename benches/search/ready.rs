//! Startup: from tools to an index that answers. Each measurement runs in a separate process that has only read the
//! tools, because memory that the allocator retains from earlier work would hide a part of the usage.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use toolcrib_bench::memory::peak_of;
use toolcrib_bench::report::{Figure, Row, title};
use toolcrib_model::Tool;
use toolcrib_port::{LoadOutcome, ToolLoader};
use toolcrib_registry::{Artifacts, Enrichment, Snapshot, ToolRegistry};
use toolcrib_search::embedding::{BuiltinEmbedder, Embeddings, EmbeddingsEnrichment, OpenedEmbedder};
use toolcrib_search::{SearchIndex, SearchSettings};

use crate::data;
use crate::peers::{Bm25, Finder, Ratel};

const TOOLS: usize = 10_000;
const COLD: Duration = Duration::from_millis(600);
const WARM: Duration = Duration::from_millis(150);
const MEMORY: u64 = 100_000_000;

/// A time limit that no measurement should reach.
const PATIENCE: Duration = Duration::from_mins(1);

/// The argument that requests one measurement, `--ready=WHAT=FOLDER`.
const ARGUMENT: &str = "--ready=";

/// The file of the tools in the folder.
const FILE: &str = "tools.json";

/// The measurements: the name on the command line and in the report, and the time limit.
const MEASURED: [(&str, &str, Option<Duration>); 4] = [
    ("cold", "toolcrib, cold", Some(COLD)),
    ("warm", "toolcrib, warm: words and vectors from the disk", Some(WARM)),
    ("bm25", "bm25", None),
    ("ratel", "ratel-ai-core", None),
];

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title(&format!("ready, {TOOLS} tools; ours with words and vectors side by side on two threads"));
    let folder = tempfile::tempdir()?;
    let tools: Vec<Tool> = data::tools(TOOLS)?.into_iter().map(|tool| (*tool).clone()).collect();
    fs::write(folder.path().join(FILE), serde_json::to_vec(&tools)?)?;
    for (what, told, bound) in MEASURED {
        let (time, memory) = ask(what, folder.path())?;
        let row = Row::new(told, time);
        bound.map_or_else(|| row.clone(), |bound| row.clone().at_most(bound)).print();
        let Some(memory) = memory else { continue };
        let row = Row::new("  memory", Figure::Bytes(memory));
        bound.map_or_else(|| row.clone(), |_| row.clone().at_most(Figure::Bytes(MEMORY))).print();
    }
    Ok(())
}

/// Measures in another process.
fn ask(what: &str, folder: &Path) -> Result<(Duration, Option<u64>), Box<dyn Error>> {
    let mut program = Command::new(std::env::current_exe()?);
    let output =
        program.arg(format!("{ARGUMENT}{what}={}", folder.display())).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    let nanoseconds = numbers.next().ok_or_else(|| format!("{what}: {}", output.status))??;
    Ok((Duration::from_nanos(nanoseconds), numbers.next().transpose()?))
}

/// One measurement.
pub(crate) struct Wanted {
    what: String,
    folder: PathBuf,
}

/// Parses an argument.
pub(crate) fn wanted(argument: &str) -> Option<Wanted> {
    let (what, folder) = argument.strip_prefix(ARGUMENT)?.split_once('=')?;
    Some(Wanted { what: what.to_owned(), folder: folder.into() })
}

/// Measures, and prints nanoseconds and bytes.
pub(crate) fn measure(wanted: &Wanted) -> Result<(), Box<dyn Error>> {
    let tools: Vec<Tool> = serde_json::from_slice(&fs::read(wanted.folder.join(FILE))?)?;
    let (time, memory) = match wanted.what.as_str() {
        "bm25" => built::<Bm25>(tools)?,
        "ratel" => built::<Ratel>(tools)?,
        _ => ours(tools, &wanted.folder.join("cache"))?,
    };
    println!("{} {}", time.as_nanos(), memory.map_or_else(String::new, |bytes| bytes.to_string()));
    Ok(())
}

fn built<F: Finder>(tools: Vec<Tool>) -> Result<(Duration, Option<u64>), Box<dyn Error>> {
    let tools: Vec<Arc<Tool>> = tools.into_iter().map(Arc::new).collect();
    let start = Instant::now();
    let (finder, memory) = peak_of(|| F::build(&tools));
    let time = start.elapsed();
    black_box(finder?.search("", 1));
    Ok((time, memory))
}

fn ours(tools: Vec<Tool>, cache: &Path) -> Result<(Duration, Option<u64>), Box<dyn Error>> {
    // Some schemas of the sets are invalid. A loader rejects those tools and keeps the others.
    let registry =
        runtime()?.block_on(ToolRegistry::from_loaders([Arc::new(Given(tools)) as Arc<dyn ToolLoader>]));
    let snapshot = registry.snapshot();
    let enrichment = EmbeddingsEnrichment::lazy(opened).with_cache(cache).with_wait(PATIENCE);
    let start = Instant::now();
    let (index, memory) = peak_of(|| ready(&snapshot, &enrichment, cache));
    let time = start.elapsed();
    black_box(index?.len());
    Ok((time, memory))
}

/// Opens the table within the measured time, as in an app.
fn opened() -> OpenedEmbedder {
    match BuiltinEmbedder::new() {
        Ok(embedder) => OpenedEmbedder { embedder: Some(Arc::new(embedder)), fault: None },
        Err(error) => OpenedEmbedder { embedder: None, fault: Some(error) },
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_time().build()
}

/// A loader that returns the tools of the bench.
struct Given(Vec<Tool>);

#[async_trait]
impl ToolLoader for Given {
    fn source(&self) -> &'static str {
        "bench"
    }

    async fn load(&self) -> LoadOutcome {
        LoadOutcome { tools: self.0.clone(), rejected: Vec::new() }
    }
}

fn ready(
    snapshot: &Snapshot,
    enrichment: &EmbeddingsEnrichment,
    cache: &Path,
) -> Result<SearchIndex, Box<dyn Error>> {
    let settings = SearchSettings::default();
    std::thread::scope(|scope| {
        let tools = snapshot.iter().map(|entry| entry.tool.as_ref());
        let words = scope.spawn(|| SearchIndex::build_cached(tools, &settings, Some(cache)));
        let embeddings = vectors(snapshot, enrichment)?;
        let index = words.join().map_err(|_| "the index panicked")??;
        index.attach(embeddings.vectors().ok_or("there are no vectors")?);
        Ok(index)
    })
}

fn vectors(
    snapshot: &Snapshot,
    enrichment: &EmbeddingsEnrichment,
) -> Result<Arc<Embeddings>, Box<dyn Error>> {
    runtime()?.block_on(async {
        let enriched = enrichment.run(snapshot, &Artifacts::default()).await?;
        let embeddings = Arc::clone(enriched.artifact()).downcast::<Embeddings>().map_err(|_| "it is another artifact")?;
        embeddings.finished().await;
        Ok(embeddings)
    })
}
