//! The speed of data generation: the dataflow between tools, and samples.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_bench::catalogue;
use toolcrib_bench::report::{Part, Row, run, title};
use toolcrib_datagen::sampler::{Catalogue, SampleRequest, Samplers};
use toolcrib_datagen::seed::Random;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{LoadOutcome, ToolLoader};
use toolcrib_registry::enrichment::DataflowEnrichment;
use toolcrib_registry::{Enrichment, ToolRegistry};

/// The number of tools, as in the labelled sets of search.
const TOOLS: usize = 8_618;

/// The number of samples that are timed.
const SAMPLES: u64 = 10_000;

/// The number of tools of a sample.
const LENGTH: usize = 5;

const BOUND_OF_DATAFLOW: Duration = Duration::from_secs(20);
const BOUND_OF_CHAINS: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    run(&[Part { name: "samples", run: samples }])
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

fn samples() -> Result<(), Box<dyn Error>> {
    title(&format!("{TOOLS} tools, each with a result; {SAMPLES} samples of {LENGTH}"));
    let loader = Arc::new(Fixed(tools()?));
    let plain = refresh(&ToolRegistry::new(), Arc::clone(&loader))?;
    let dataflow: Vec<Arc<dyn Enrichment>> = vec![Arc::new(DataflowEnrichment::default())];
    let registry = ToolRegistry::new().with_enrichments(dataflow)?;
    let enriched = refresh(&registry, loader)?;
    Row::new("dataflow by names, cold", enriched.saturating_sub(plain)).at_most(BOUND_OF_DATAFLOW).print();

    let catalogue = Catalogue::new(&registry.snapshot());
    for (kind, bound) in [
        ("chain", Some(BOUND_OF_CHAINS)),
        ("random", None),
        ("fan_out", None),
        ("fan_in", None),
        ("dag", None),
    ] {
        let sampler = Samplers::default().build(&json!({"type": kind}), &catalogue)?;
        let start = Instant::now();
        for seed in 0..SAMPLES {
            let sample = sampler.sample(&SampleRequest::new(LENGTH, seed))?;
            if sample.tools.len() != LENGTH {
                return Err(format!("{kind}, seed {seed}: {} tools", sample.tools.len()).into());
            }
        }
        let row = Row::new(kind, start.elapsed());
        bound.map_or_else(|| Row::new(kind, start.elapsed()), |bound| row.at_most(bound)).print();
    }
    Ok(())
}

fn refresh(registry: &ToolRegistry, loader: Arc<Fixed>) -> Result<Duration, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    registry.add_loader(loader);
    let start = Instant::now();
    runtime.block_on(registry.refresh())?;
    Ok(start.elapsed())
}

/// Returns the tools of the generated catalogue. Those without a result get one of two arguments of other tools.
fn tools() -> Result<Vec<Tool>, Box<dyn Error>> {
    let definitions = catalogue::tools(TOOLS);
    let mut random = Random::new(1);
    let argument = |random: &mut Random| {
        let schema = definitions.get(random.below(TOOLS))?.pointer("/parameters/properties")?.as_object()?;
        schema.iter().nth(random.below(schema.len())).map(|(name, schema)| (name.clone(), schema.clone()))
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
