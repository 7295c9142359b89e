//! The enrichments of an app file.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use toolcrib_registry::{Artifacts, Enriched, Enrichment, Snapshot};

use super::wrong;
use crate::{Blueprint, Extensions};

fn keys(blueprint: &Blueprint) -> Vec<String> {
    blueprint.enrichments().map(|enrichment| enrichment.key().to_owned()).collect()
}

fn listed(entries: &str) -> String {
    format!("tools:\n  enrichments:\n{entries}")
}

#[test]
fn enrichments_are_listed_in_any_order() {
    let text =
        listed("    - {type: neighbors}\n    - {type: dataflow, force: true}\n    - type: embeddings\n");
    let blueprint = Blueprint::from_text("app.yaml", &text).unwrap();
    assert_eq!(keys(&blueprint), ["suppliers", "embeddings", "neighbors", "dataflow"]);
    assert_eq!(
        keys(&Blueprint::from_text("app.yaml", "tools:\n  enrichments:\n").unwrap()),
        ["suppliers", "embeddings"]
    );
}

#[test]
fn a_wrong_enrichment_is_an_error_with_its_place() {
    for (entries, message) in [
        ("    - {type: dataflo}\n", "app.yaml:3:7: unknown enrichment `dataflo`, did you mean `dataflow`?"),
        (
            "    - {force: true}\n",
            "app.yaml:3:7: the enrichment needs a `type`, one of: embeddings, dataflow, neighbors, output_parameters",
        ),
        (
            "    - {type: dataflow, froce: true}\n",
            "app.yaml:3:24: unknown key `froce`, did you mean `force`?",
        ),
        (
            "    - {type: dataflow}\n    - {type: dataflow}\n",
            "app.yaml:4:7: two enrichments have the key `dataflow`; each key is written once",
        ),
        (
            "    - {type: embeddings}\n    - {type: embeddings}\n",
            "app.yaml:4:7: two enrichments have the key `embeddings`; each key is written once",
        ),
        (
            "    - {type: neighbors}\n  search: {tier: keyword}\n",
            "app.yaml:3:7: the enrichment `neighbors` depends on `embeddings`, which is not there; add it, there is: \
             neighbors, suppliers",
        ),
        (
            "    - {type: embeddings}\n  search: {tier: keyword}\n",
            "app.yaml:3:7: `tools.search.tier: keyword` makes no vectors; choose another tier",
        ),
        (
            "    - {type: dataflow, similarity: embeddings}\n  search: {tier: keyword}\n",
            "app.yaml:3:7: the enrichment `dataflow` depends on `embeddings`, which is not there; add it, there is: \
             dataflow, suppliers",
        ),
    ] {
        assert_eq!(wrong(&listed(entries)), message, "{entries}");
    }
}

#[test]
fn without_vectors_the_dataflow_compares_names() {
    let text = listed("    - {type: dataflow}\n  search: {tier: keyword}\n");
    let blueprint = Blueprint::from_text("app.yaml", &text).unwrap();
    assert_eq!(keys(&blueprint), ["suppliers", "dataflow"]);
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepSettings {
    key: String,
    needs: String,
}

/// An enrichment that depends on another one.
struct Step {
    key: String,
    needs: &'static [&'static str],
}

#[async_trait]
impl Enrichment for Step {
    fn key(&self) -> &str {
        &self.key
    }

    fn depends_on(&self) -> &[&str] {
        self.needs
    }

    async fn run(&self, _: &Snapshot, _: &Artifacts) -> Result<Enriched, String> {
        Ok(Enriched::new(()))
    }
}

#[test]
fn a_cycle_of_added_enrichments_is_an_error_with_its_place() {
    let extensions = Extensions::default().with_enrichment_type("step", |settings: StepSettings, _| {
        let needs: &[&str] = match settings.needs.as_str() {
            "a" => &["a"],
            "b" => &["b"],
            other => return Err(format!("there is no `{other}`")),
        };
        Ok(Arc::new(Step { key: settings.key, needs }) as Arc<dyn Enrichment>)
    });
    let told = |entries: &str| {
        let text = listed(entries);
        Blueprint::from_text_with("app.yaml", &text, extensions.clone()).unwrap_err().to_string()
    };
    assert_eq!(
        told("    - {type: step, key: a, needs: b}\n    - {type: step, key: b, needs: a}\n"),
        "app.yaml:3:7: enrichments depend on each other in a ring: a -> b -> a"
    );
    assert_eq!(told("    - {type: step, key: a, needs: x}\n"), "app.yaml:3:7: there is no `x`");
    assert_eq!(
        told("    - {type: step, key: a}\n"),
        "app.yaml:3:7: `tools.enrichments[0]`: missing field `needs`"
    );
}
