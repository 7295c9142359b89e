//! Tests of the samplers.

mod shared;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_registry::enrichment::{Dataflow, DataflowEnrichment, ToolKey};
use toolcrib_registry::{Enrichment, Entry, Snapshot, ToolRegistry};
use toolcrib_search::embedding::{BuiltinEmbedder, EmbeddingsEnrichment, Neighbors, NeighborsEnrichment};

use super::{Catalogue, SampleRequest, Sampler, Samplers};

const ALL: [&str; 8] = ["random", "chain", "fan_out", "fan_in", "dag", "sparse", "neighbor", "conflict"];

/// Returns tools of six services, each with a search, details by the key that the search returns, and changes.
fn tools() -> Vec<Tool> {
    let mut tools = Vec::new();
    for service in ["order", "invoice", "customer", "parcel", "ticket", "contract"] {
        let id = format!("{service}_id");
        let tool = |verb: &str, description: String, inputs: &[&str], outputs: &[&str]| {
            let object = |names: &[&str]| {
                let properties: serde_json::Map<String, Value> =
                    names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
                json!({"type": "object", "properties": properties})
            };
            Tool::new(QualifiedName::new(format!("{service}s"), verb).unwrap())
                .with_description(description)
                .with_parameters(object(inputs))
                .with_output_parameters(object(outputs))
        };
        tools.extend([
            tool("search", format!("Find a {service} by words."), &["words"], &[&id, "customer_id"]),
            tool("get", format!("Show a {service}."), &[&id], &["invoice_id", "parcel_id", "note"]),
            tool("fetch", format!("Show the {service}."), &[&id], &["ticket_id"]),
            tool("show", format!("Show one {service}."), &[&id], &["customer_id"]),
            tool("update", format!("Change the note of a {service}."), &[&id, "note"], &["contract_id", &id]),
            tool("remove", format!("Remove a {service} for ever."), &[&id, "reason"], &["order_id"]),
        ]);
    }
    tools
}

/// Tools with what samplers read, and all samplers.
struct World {
    snapshot: Arc<Snapshot>,
    samplers: HashMap<&'static str, Arc<dyn Sampler>>,
}

impl World {
    fn new(tools: Vec<Tool>, kinds: &[&'static str]) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let snapshot = runtime.block_on(async {
            let mut enrichments: Vec<Arc<dyn Enrichment>> = vec![Arc::new(DataflowEnrichment::default())];
            if kinds.contains(&"neighbor") {
                let embedder = Arc::new(BuiltinEmbedder::new().unwrap());
                enrichments.push(Arc::new(NeighborsEnrichment));
                enrichments.push(Arc::new(EmbeddingsEnrichment::new(embedder)));
            }
            let registry = ToolRegistry::new().with_enrichments(enrichments).unwrap();
            registry.add_loader(Arc::new(Fixed(tools)));
            registry.refresh().await.unwrap();
            registry.snapshot()
        });
        let catalogue = Catalogue::new(&snapshot);
        let build = |kind| Samplers::default().build(&json!({"type": kind}), &catalogue).unwrap();
        Self { samplers: kinds.iter().map(|kind| (*kind, build(*kind))).collect(), snapshot }
    }

    /// Returns true if the dataflow has an edge between two tools with at least this score.
    fn flows(&self, producer: &Entry, consumer: &Entry, min_score: f64) -> bool {
        let dataflow = self.snapshot.artifacts().get::<Dataflow>(Dataflow::KEY).unwrap();
        let (producer, consumer) = (ToolKey::of(producer), ToolKey::of(consumer));
        // Each list has the best edges only.
        let mut edges = dataflow.consumers(&producer).iter().chain(dataflow.producers(&consumer));
        edges.any(|edge| *edge.producer == producer && *edge.consumer == consumer && edge.score >= min_score)
    }

    /// Checks a sample of each kind: the number of tools, that there is none twice, the edges, and that equal seeds give
    /// equal samples. Returns the number of kinds that have such a sample.
    fn check(&self, count: usize, seed: u64, min_score: f64) -> Result<usize, TestCaseError> {
        let request = SampleRequest { min_score: Some(min_score), ..SampleRequest::new(count, seed) };
        let mut found = 0;
        for (kind, sampler) in &self.samplers {
            let sample = match sampler.sample(&request) {
                Ok(sample) => sample,
                Err(error) => {
                    prop_assert_eq!(error.requested, count);
                    continue;
                }
            };
            found += 1;
            prop_assert_eq!(sample.tools.len(), count);
            let all = sample.tools.iter().chain(&sample.distractors);
            let keys: HashSet<ToolKey> = all.map(|entry| ToolKey::of(entry)).collect();
            prop_assert_eq!(keys.len(), count + sample.distractors.len());
            prop_assert_eq!(sampler.sample(&request).unwrap().names(), sample.names());
            prop_assert!(self.has_edges(kind, &sample.tools, min_score), "{}: {:?}", kind, sample.names());
        }
        Ok(found)
    }

    /// Returns true if the tools have the edges that a kind promises.
    fn has_edges(&self, kind: &str, tools: &[Arc<Entry>], min_score: f64) -> bool {
        let flows = |producer: &Entry, consumer: &Entry| self.flows(producer, consumer, min_score);
        match (kind, tools) {
            ("chain", _) => tools.windows(2).all(|pair| flows(&pair[0], &pair[1])),
            ("fan_out", [source, others @ ..]) => others.iter().all(|tool| flows(source, tool)),
            ("fan_in", [others @ .., sink]) => others.iter().all(|tool| flows(tool, sink)),
            ("dag", [_, _, ..]) => tools.iter().enumerate().all(|(at, tool)| {
                let before = tools[..at].iter().any(|other| flows(other, tool));
                before || tools[at + 1..].iter().any(|other| flows(tool, other))
            }),
            _ => true,
        }
    }
}

struct Fixed(Vec<Tool>);

#[async_trait::async_trait]
impl toolcrib_port::ToolLoader for Fixed {
    fn source(&self) -> &'static str {
        "fixed"
    }

    async fn load(&self) -> toolcrib_port::LoadOutcome {
        toolcrib_port::LoadOutcome { tools: self.0.clone(), ..toolcrib_port::LoadOutcome::default() }
    }
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| World::new(tools(), &ALL))
}

fn snapshot() -> Arc<Snapshot> {
    Arc::clone(&world().snapshot)
}

fn sampler(settings: &Value) -> Arc<dyn Sampler> {
    Samplers::default().build(settings, &Catalogue::new(&snapshot())).unwrap()
}

/// Returns the minimum scores that samples are checked with.
fn scores() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.5), Just(0.8), Just(0.95)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_sample_has_exactly_the_requested_tools_with_the_promised_edges(
        count in 0_usize..8,
        seed in any::<u64>(),
        min_score in scores(),
    ) {
        world().check(count, seed, min_score)?;
    }
}

#[test]
fn each_kind_finds_a_sample_of_three() {
    for kind in ALL {
        let sample = sampler(&json!({"type": format!("tc/{kind}")})).sample(&SampleRequest::new(3, 11));
        assert!(sample.is_ok(), "{kind}: {sample:?}");
    }
}

#[test]
fn tools_come_from_the_requested_namespaces() {
    for kind in ALL {
        let namespaces = vec!["orders".to_owned(), "invoices".to_owned()];
        let request = SampleRequest { namespaces: Some(namespaces.clone()), ..SampleRequest::new(2, 5) };
        let sample = sampler(&json!({"type": kind})).sample(&request).unwrap();
        let is_wanted =
            |entry: &Arc<Entry>| namespaces.iter().any(|name| name == entry.tool.name.namespace());
        assert!(sample.tools.iter().all(is_wanted), "{kind}: {:?}", sample.names());
    }
}

#[test]
fn a_missing_artifact_is_named_when_the_sampler_is_built() {
    let registry = ToolRegistry::from_tools("plain", tools()).unwrap();
    let catalogue = Catalogue::new(&registry.snapshot());
    let error =
        |kind: &str| Samplers::default().build(&json!({"type": kind}), &catalogue).err().unwrap().to_string();
    insta::assert_snapshot!(error("chain"), @"the sampler `chain` needs the artifact of the enrichment `dataflow`; add this enrichment");
    insta::assert_snapshot!(error("conflict"), @"the sampler `conflict` needs the artifact of the enrichment `neighbors`; add this enrichment");
    insta::assert_snapshot!(error("chian"), @"there is no sampler `chian`; there is: chain, conflict, dag, fan_in, fan_out, neighbor, random, sparse");
}

#[test]
fn settings_that_a_sampler_does_not_know_are_refused() {
    let settings = json!({"type": "chain", "min_scor": 0.5});
    let error = Samplers::default().build(&settings, &Catalogue::new(&snapshot())).err().unwrap();
    insta::assert_snapshot!(error, @"the settings of the sampler `chain` are invalid: unknown field `min_scor`, expected `namespaces` or `min_score`");
}

#[test]
fn more_tools_than_there_are_is_an_error_with_both_numbers() {
    for kind in ALL {
        let error = sampler(&json!({"type": kind})).sample(&SampleRequest::new(37, 1)).unwrap_err();
        assert_eq!((error.requested, error.tools), (37, 36), "{kind}");
    }
}

#[test]
fn near_duplicates_are_near_duplicates() {
    let snapshot = snapshot();
    let neighbors = snapshot.artifacts().get::<Neighbors>(Neighbors::KEY).unwrap();
    for seed in 0..50 {
        let sample = sampler(&json!({"type": "conflict"})).sample(&SampleRequest::new(2, seed)).unwrap();
        let near = neighbors.of(&ToolKey::of(&sample.tools[0]));
        let other = ToolKey::of(&sample.tools[1]);
        assert!(near.iter().any(|neighbor| *neighbor.tool == other && neighbor.is_near_duplicate));
    }
}

#[test]
fn a_sampler_of_an_embedder_is_found_by_its_name() {
    struct First(Catalogue);
    impl Sampler for First {
        fn sample(&self, request: &SampleRequest) -> Result<super::Sample, super::SamplingError> {
            let tools = self.0.tools().iter().take(request.count).cloned().collect();
            Ok(super::Sample { tools, ..super::Sample::default() })
        }
    }
    let samplers = Samplers::default()
        .with("first", |_: serde_json::Map<String, Value>, catalogue| Ok(Arc::new(First(catalogue.clone()))));
    let sampler = samplers.build(&json!({"type": "first"}), &Catalogue::new(&snapshot())).unwrap();
    assert_eq!(sampler.sample(&SampleRequest::new(2, 0)).unwrap().names(), ["orders::search", "orders::get"]);
}
