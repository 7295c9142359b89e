//! The speed of data generation: the dataflow between tools, and samples.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_bench::catalogue;
use toolcrib_bench::report::{Part, Row, run, title};
use toolcrib_datagen::sampler::{Catalogue, SampleRequest, Samplers};
use toolcrib_datagen::seed::Random;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{LoadOutcome, ToolLoader};
use toolcrib_registry::enrichment::{Dataflow, DataflowEnrichment};
use toolcrib_registry::{Artifacts, Enriched, Enrichment, Snapshot, ToolRegistry};
use toolcrib_search::embedding::{
    BuiltinEmbedder, Embeddings, EmbeddingsEnrichment, NeighborsEnrichment, SimilarDataflowEnrichment,
};

/// The labelled sets of search whose tools are taken if they are there, relative to the shared data.
const SETS: [&str; 4] = ["metatool", "seal_tools", "stabletoolbench", "bfcl"];

/// The number of tools of these sets, and of the catalogue that is generated without them.
const TOOLS: usize = 8_618;

/// The number of samples that are timed.
const SAMPLES: u64 = 10_000;

/// The number of samples of the sampler that searches.
const SEARCHED_SAMPLES: u64 = 200;

/// The number of tools of a sample.
const LENGTH: usize = 5;

const BOUND_OF_DATAFLOW: Duration = Duration::from_secs(20);
const BOUND_OF_CACHED_DATAFLOW: Duration = Duration::from_secs(1);
const BOUND_OF_CHAINS: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    run(&[Part { name: "dataflow", run: dataflow }, Part { name: "samples", run: samples }])
}

struct Fixed(Vec<Tool>);

#[async_trait::async_trait]
impl ToolLoader for Fixed {
    fn source(&self) -> &'static str {
        "bench"
    }

    async fn load(&self) -> LoadOutcome {
        LoadOutcome { tools: self.0.clone(), ..LoadOutcome::default() }
    }
}

/// An enrichment whose own time is measured, without that of the vectors that it waits for.
struct Timed<E> {
    enrichment: E,
    time: Arc<Mutex<Duration>>,
}

#[async_trait::async_trait]
impl<E: Enrichment> Enrichment for Timed<E> {
    fn key(&self) -> &str {
        self.enrichment.key()
    }

    fn depends_on(&self) -> &[&str] {
        self.enrichment.depends_on()
    }

    async fn run(&self, tools: &Snapshot, artifacts: &Artifacts) -> Result<Enriched, String> {
        if self.depends_on().contains(&Embeddings::KEY) {
            Embeddings::finished_in(artifacts).await?;
        }
        let start = Instant::now();
        let enriched = self.enrichment.run(tools, artifacts).await;
        *self.time.lock() = start.elapsed();
        enriched
    }
}

fn dataflow() -> Result<(), Box<dyn Error>> {
    let tools = tools()?;
    title(&format!("the dataflow between {TOOLS} tools, each with a result"));
    let (_, by_names) = refreshed(&tools, DataflowEnrichment::default())?;
    Row::new("by names", by_names).at_most(BOUND_OF_DATAFLOW).print();
    let cache = tempfile::tempdir()?;
    let similar = || SimilarDataflowEnrichment::default().with_cache(cache.path());
    let (cold, time) = refreshed(&tools, similar())?;
    Row::new("by vectors, cold", time).at_most(BOUND_OF_DATAFLOW).print();
    let (cached, time) = refreshed(&tools, similar())?;
    Row::new("by vectors, from the cache", time).at_most(BOUND_OF_CACHED_DATAFLOW).print();
    let bytes = |registry: &ToolRegistry| {
        let dataflow = registry.snapshot().artifacts().get::<Dataflow>(Dataflow::KEY);
        dataflow.map(|dataflow| dataflow.to_bytes()).ok_or("there is no dataflow")
    };
    if bytes(&cold)? != bytes(&cached)? {
        return Err("the cached dataflow is another one".into());
    }
    Ok(())
}

fn samples() -> Result<(), Box<dyn Error>> {
    title(&format!("{SAMPLES} samples of {LENGTH} of {TOOLS} tools"));
    let (registry, _) = refreshed(&tools()?, SimilarDataflowEnrichment::default())?;
    let snapshot = registry.snapshot();
    let catalogue = Catalogue::new(&snapshot);
    // One tool of the labelled sets has a type that does not exist.
    if catalogue.len() + snapshot.rejected().len() != TOOLS {
        return Err(format!("there are {} tools instead of {TOOLS}", catalogue.len()).into());
    }
    let timed = |kind: &str, samples: u64| {
        let sampler = Samplers::default().build(&json!({"type": kind}), &catalogue)?;
        let start = Instant::now();
        for seed in 0..samples {
            let sample = sampler.sample(&SampleRequest::new(LENGTH, seed))?;
            if sample.tools.len() != LENGTH {
                return Err(format!("{kind}, seed {seed}: {} tools", sample.tools.len()).into());
            }
        }
        Ok::<_, Box<dyn Error>>(start.elapsed())
    };
    Row::new("chain", timed("chain", SAMPLES)?).at_most(BOUND_OF_CHAINS).print();
    for kind in ["random", "fan_out", "fan_in", "dag", "neighbor"] {
        Row::new(kind, timed(kind, SAMPLES)?).print();
    }
    Row::new(format!("sparse, {SEARCHED_SAMPLES}"), timed("sparse", SEARCHED_SAMPLES)?).print();
    Ok(())
}

/// Returns a registry of the tools with their vectors, neighbours, and an enrichment, and the time that this one took.
fn refreshed(
    tools: &[Tool],
    enrichment: impl Enrichment + 'static,
) -> Result<(ToolRegistry, Duration), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let time = Arc::new(Mutex::new(Duration::ZERO));
    let enrichments: Vec<Arc<dyn Enrichment>> = vec![
        Arc::new(EmbeddingsEnrichment::new(Arc::new(BuiltinEmbedder::new()?))),
        Arc::new(NeighborsEnrichment),
        Arc::new(Timed { enrichment, time: Arc::clone(&time) }),
    ];
    let registry = ToolRegistry::new().with_enrichments(enrichments)?;
    registry.add_loader(Arc::new(Fixed(tools.to_vec())));
    runtime.block_on(registry.refresh())?;
    let time = *time.lock();
    Ok((registry, time))
}

/// Returns the definitions of the labelled sets, or generated ones where the sets are not there.
fn definitions() -> Result<Vec<Value>, Box<dyn Error>> {
    let Some(shared) = std::env::var_os("TOOLCRIB_SHARED").map(PathBuf::from) else {
        return Ok(catalogue::tools(TOOLS));
    };
    let mut definitions = Vec::new();
    for set in SETS {
        let file = shared.join("data/retrieval").join(set).join("tools.json");
        definitions.extend(serde_json::from_slice::<Vec<Value>>(&fs::read(file)?)?);
    }
    Ok(definitions)
}

/// Returns the tools. Those without a result get one of two arguments of other tools.
fn tools() -> Result<Vec<Tool>, Box<dyn Error>> {
    let definitions = definitions()?;
    let mut random = Random::new(1);
    let argument = |random: &mut Random| {
        let number = random.below(definitions.len());
        let schema = definitions.get(number)?.pointer("/parameters/properties")?.as_object()?;
        schema
            .iter()
            .nth(random.below(schema.len().max(1)))
            .map(|(name, schema)| (name.clone(), schema.clone()))
    };
    let tool = |definition: &Value| {
        let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = QualifiedName::new(text("namespace"), text("name"))?;
        let output = definition.get("output_parameters").cloned().unwrap_or_else(|| {
            let properties: serde_json::Map<String, Value> =
                (0..2).filter_map(|_| argument(&mut random)).collect();
            json!({"type": "object", "properties": properties})
        });
        let parameters = definition.get("parameters").cloned().unwrap_or_default();
        Ok(Tool::new(name)
            .with_description(text("description"))
            .with_parameters(parameters)
            .with_output_parameters(output))
    };
    definitions.iter().map(tool).collect()
}
