//! Enrichments: computations over all tools after each load.

mod artifacts;
mod dataflow;
mod enriched;
mod parameters;
mod suppliers;
mod tool_key;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::Snapshot;

pub use artifacts::{Artifact, Artifacts};
pub use dataflow::{
    Dataflow, DataflowEdge, DataflowEnrichment, MAX_NEIGHBORS, MAX_NEIGHBORS_PER_NAMESPACE, ParameterPair,
    ParameterSimilarity,
};
pub use enriched::{Enriched, ToolPatch};
pub use suppliers::{Supplier, Suppliers, SuppliersEnrichment};
pub use tool_key::ToolKey;

/// A computation over all tools after each load, such as vectors, edges or statistics.
#[async_trait]
pub trait Enrichment: Send + Sync {
    /// Returns the key of the artifact.
    fn key(&self) -> &str;

    /// Returns the keys of the artifacts that this enrichment reads. They exist when it runs.
    fn depends_on(&self) -> &[&str] {
        &[]
    }

    /// Returns true if it changes tools. It then runs before all others that it does not depend on, so that these see
    /// the changed tools.
    fn patches_tools(&self) -> bool {
        false
    }

    /// Computes the artifact, and changes of tools if there are any. An error, a text for people, aborts the whole
    /// refresh: the old snapshot stays.
    async fn run(&self, tools: &Snapshot, artifacts: &Artifacts) -> Result<Enriched, String>;
}

/// The error for enrichments that cannot be ordered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnrichmentError {
    /// Two enrichments have the same key.
    #[error("two enrichments have the key `{key}`; each key is written once")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// An enrichment depends on a key that no enrichment has.
    #[error("the enrichment `{key}` depends on `{dependency}`, which is not there; add it, there is: {}", known.join(", "))]
    MissingDependency {
        /// The enrichment with the dependency.
        key: String,
        /// The missing key.
        dependency: String,
        /// The keys of the given enrichments.
        known: Vec<String>,
    },
    /// Enrichments depend on each other in a cycle.
    #[error("enrichments depend on each other in a ring: {}", keys.join(" -> "))]
    Cycle {
        /// The cycle; its first key is repeated at the end.
        keys: Vec<String>,
    },
}

impl EnrichmentError {
    /// Returns the key of the enrichment that the error is about; of a cycle, the first.
    pub fn key(&self) -> &str {
        match self {
            Self::DuplicateKey { key } | Self::MissingDependency { key, .. } => key,
            Self::Cycle { keys } => keys.first().map(String::as_str).unwrap_or_default(),
        }
    }
}

/// Checks that enrichments have different keys, and that their dependencies exist and have no cycle.
pub fn check(enrichments: &[Arc<dyn Enrichment>]) -> Result<(), EnrichmentError> {
    sort_by_dependencies(enrichments).map(drop)
}

/// Orders enrichments so that each follows its dependencies, those that change tools come first, and the given order is
/// kept otherwise.
pub(crate) fn sort_by_dependencies(
    enrichments: &[Arc<dyn Enrichment>],
) -> Result<Vec<Arc<dyn Enrichment>>, EnrichmentError> {
    let mut by_key: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, enrichment) in enrichments.iter().enumerate() {
        if by_key.insert(enrichment.key(), at).is_some() {
            return Err(EnrichmentError::DuplicateKey { key: enrichment.key().to_owned() });
        }
    }
    let mut sort = DependencySort { enrichments, by_key: &by_key, path: Vec::new(), order: Vec::new() };
    let (patching, others): (Vec<usize>, Vec<usize>) = (0..enrichments.len())
        .partition(|at| enrichments.get(*at).is_some_and(|enrichment| enrichment.patches_tools()));
    for at in patching.into_iter().chain(others) {
        sort.visit(at)?;
    }
    Ok(sort.order.iter().filter_map(|at| enrichments.get(*at).cloned()).collect())
}

struct DependencySort<'a> {
    enrichments: &'a [Arc<dyn Enrichment>],
    by_key: &'a BTreeMap<&'a str, usize>,
    /// The chain of dependents from the first visited enrichment to the current one.
    path: Vec<usize>,
    order: Vec<usize>,
}

impl DependencySort<'_> {
    fn visit(&mut self, at: usize) -> Result<(), EnrichmentError> {
        if self.order.contains(&at) {
            return Ok(());
        }
        let Some(enrichment) = self.enrichments.get(at) else { return Ok(()) };
        if let Some(start) = self.path.iter().position(|waiting| *waiting == at) {
            let ring = self.path.iter().skip(start).chain([&at]);
            let keys = ring.filter_map(|at| Some(self.enrichments.get(*at)?.key().to_owned())).collect();
            return Err(EnrichmentError::Cycle { keys });
        }
        self.path.push(at);
        for dependency in enrichment.depends_on() {
            let Some(needed) = self.by_key.get(dependency) else {
                return Err(EnrichmentError::MissingDependency {
                    key: enrichment.key().to_owned(),
                    dependency: (*dependency).to_owned(),
                    known: self.by_key.keys().map(|key| (*key).to_owned()).collect(),
                });
            };
            self.visit(*needed)?;
        }
        self.path.pop();
        self.order.push(at);
        Ok(())
    }
}
