//! From tools to an index that answers.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use toolcrib_bench::memory::peak_of;
use toolcrib_bench::report::{Figure, Row, title};
use toolcrib_model::Tool;
use toolcrib_port::{Loaded, ToolLoader};
use toolcrib_registry::{Artifacts, Enrichment, Snapshot, ToolRegistry};
use toolcrib_search::SearchIndex;
use toolcrib_search::embedding::{BuiltinEmbedder, Embeddings, EmbeddingsEnrichment};

use crate::data;

const TOOLS: usize = 10_000;
const COLD: Duration = Duration::from_millis(600);
const WARM: Duration = Duration::from_millis(150);
const MEMORY: u64 = 100 << 20;

/// Longer than it should ever take.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title(&format!("ready, {TOOLS} tools, words and vectors side by side on two threads"));
    let tools: Vec<Tool> = data::tools(TOOLS)?.into_iter().map(|tool| (*tool).clone()).collect();
    // Some of the sets' schemas are none, which a loader is told and its other tools survive.
    let registry =
        runtime()?.block_on(ToolRegistry::from_loaders([Arc::new(Given(tools)) as Arc<dyn ToolLoader>]));
    let snapshot = registry.snapshot();
    let folder = tempfile::tempdir()?;
    for (what, bound) in [("cold", COLD), ("warm, vectors from the disk", WARM)] {
        let enrichment = EmbeddingsEnrichment::new(Arc::new(BuiltinEmbedder::new()?))
            .with_cache(folder.path())
            .with_patience(PATIENCE);
        let start = Instant::now();
        let (index, memory) = peak_of(|| ready(&snapshot, &enrichment));
        let index = index?;
        Row::new(what, start.elapsed()).at_most(bound).print();
        if let Some(memory) = memory {
            Row::new(format!("{what}: memory"), Figure::Bytes(memory)).at_most(Figure::Bytes(MEMORY)).print();
        }
        black_box(index.len());
    }
    let start = Instant::now();
    black_box(SearchIndex::build(snapshot.iter().map(|entry| entry.tool.as_ref()))?);
    Row::new("the words by themselves", start.elapsed()).print();
    let start = Instant::now();
    black_box(vectors(&snapshot, &EmbeddingsEnrichment::new(Arc::new(BuiltinEmbedder::new()?)))?);
    Row::new("the vectors by themselves", start.elapsed()).print();
    Ok(())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_time().build()
}

/// Gives the tools of the bench.
struct Given(Vec<Tool>);

#[async_trait]
impl ToolLoader for Given {
    fn source(&self) -> &'static str {
        "bench"
    }

    async fn load(&self) -> Loaded {
        Loaded { tools: self.0.clone(), rejected: Vec::new() }
    }
}

fn ready(snapshot: &Snapshot, enrichment: &EmbeddingsEnrichment) -> Result<SearchIndex, Box<dyn Error>> {
    std::thread::scope(|scope| {
        let words = scope.spawn(|| SearchIndex::build(snapshot.iter().map(|entry| entry.tool.as_ref())));
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
        let embeddings = enrichment.run(snapshot, &Artifacts::default()).await?;
        let embeddings = embeddings.downcast::<Embeddings>().map_err(|_| "it is another artifact")?;
        embeddings.finished().await;
        Ok(embeddings)
    })
}
