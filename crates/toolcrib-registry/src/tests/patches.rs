//! Changes of tools by enrichments.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{LoadOutcome, ToolLoader};

use super::{tool, with_properties};
use crate::enrichment::{Dataflow, DataflowEnrichment, ToolKey, ToolPatch};
use crate::{Artifacts, Enriched, Enrichment, Snapshot, ToolRegistry};

/// A loader of constant tools.
struct Constant(Vec<Tool>);

#[async_trait]
impl ToolLoader for Constant {
    fn source(&self) -> &'static str {
        "constant"
    }

    async fn load(&self) -> LoadOutcome {
        LoadOutcome { tools: self.0.clone(), rejected: Vec::new() }
    }
}

/// An enrichment that gives tools the schemas of their results.
struct Results(Mutex<Vec<ToolPatch>>);

#[async_trait]
impl Enrichment for Results {
    fn key(&self) -> &'static str {
        "results"
    }

    fn patches_tools(&self) -> bool {
        true
    }

    async fn run(&self, _tools: &Snapshot, _artifacts: &Artifacts) -> Result<Enriched, String> {
        Ok(Enriched::new(()).with_patches(self.0.lock().clone()))
    }
}

fn properties(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn patch(tool: &Tool, output: &Value) -> ToolPatch {
    let key = ToolKey { name: tool.name.clone(), fingerprint: tool.fingerprint() };
    ToolPatch::new(key).with_output_parameters(output.clone())
}

#[tokio::test]
async fn all_other_enrichments_and_readers_see_the_patched_tools() {
    let ticket = json!({"ticket": {"type": "string"}});
    let find = tool("crm", "find");
    let overload = with_properties("crm", "find", &json!({"name": {"type": "string"}}));
    let tools = vec![find.clone(), overload.clone(), with_properties("shop", "close", &ticket)];
    let results = Arc::new(Results(Mutex::new(vec![patch(&overload, &properties(&ticket))])));
    let enrichments: [Arc<dyn Enrichment>; 2] = [Arc::new(DataflowEnrichment::default()), results.clone()];
    let registry = ToolRegistry::new().with_enrichments(enrichments).unwrap();
    registry.add_loader(Arc::new(Constant(tools)));
    let snapshot = registry.refresh().await.unwrap();

    let outputs = |snapshot: &Snapshot| {
        let overloads = snapshot.get(&QualifiedName::new("crm", "find").unwrap()).unwrap();
        overloads.iter().map(|entry| entry.tool.output_parameters.root().clone()).collect::<Vec<_>>()
    };
    assert_eq!(outputs(&snapshot), [find.output_parameters.root().clone(), properties(&ticket)]);
    assert_eq!(snapshot.all()[1].tool.output_parameters.root(), &properties(&ticket));
    let dataflow = snapshot.artifacts().get::<Dataflow>(Dataflow::KEY).unwrap();
    let producers = dataflow.producers(&ToolKey::of(&snapshot.all()[2]));
    assert_eq!(*producers[0].producer, ToolKey::of(&snapshot.all()[1]));

    let mut changes = registry.subscribe();
    let again = registry.refresh().await.unwrap();
    assert!(changes.try_recv().is_err(), "the same patches change nothing");
    assert!(Arc::ptr_eq(&again.all()[1], &snapshot.all()[1]));

    results.0.lock().clear();
    let plain = registry.refresh().await.unwrap();
    assert_eq!(outputs(&plain)[1], *overload.output_parameters.root());
    assert_eq!(changes.try_recv().unwrap().changed[0].name, overload.name);
}

#[tokio::test]
async fn an_invalid_patch_keeps_the_tools_as_they_were() {
    let find = tool("crm", "find");
    let fine = patch(&find, &properties(&json!({"id": {}})));
    let results = Arc::new(Results(Mutex::new(vec![fine.clone()])));
    let registry = ToolRegistry::new().with_enrichments([results.clone() as Arc<dyn Enrichment>]).unwrap();
    registry.add_loader(Arc::new(Constant(vec![find.clone()])));
    registry.refresh().await.unwrap();
    let other =
        ToolPatch::new(ToolKey { name: QualifiedName::new("crm", "drop").unwrap(), ..fine.tool.clone() });
    let broken = patch(&find, &json!({"type": "objekt"}));
    let mut told = Vec::new();
    for invalid in [other, broken] {
        *results.0.lock() = vec![fine.clone().with_description("New."), invalid];
        told.push(registry.refresh().await.unwrap_err().to_string());
        let snapshot = registry.snapshot();
        assert_eq!((snapshot.generation(), snapshot.all()[0].tool.description.as_str()), (1, ""));
    }
    assert_eq!(
        told[0],
        "the enrichment `results` failed, so the tools stay as they were: the patched tool `crm.drop` does not exist"
    );
    assert!(told[1].contains("the patch of `crm.find` is invalid: "), "{}", told[1]);
}
