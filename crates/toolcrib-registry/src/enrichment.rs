//! What is worked out over all tools after each load.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{Artifact, Artifacts, Snapshot};

/// Works something out over all tools after each load: vectors, edges, statistics.
#[async_trait]
pub trait Enrichment: Send + Sync {
    /// The key of its artifact.
    fn key(&self) -> &str;

    /// The keys of the artifacts that it reads, which are then there.
    fn depends_on(&self) -> &[&str] {
        &[]
    }

    /// Makes the artifact. An error, which is a text for people, gives the whole refresh up: the old snapshot stays.
    async fn run(&self, tools: &Snapshot, artifacts: &Artifacts) -> Result<Artifact, String>;
}

/// Enrichments that cannot be put in order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnrichmentError {
    /// Two have one key.
    #[error("two enrichments have the key `{key}`; each key is written once")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// One depends on a key that none has.
    #[error("the enrichment `{key}` depends on `{dependency}`, which is not there; add it, there is: {}", known.join(", "))]
    MissingDependency {
        /// The one that depends.
        key: String,
        /// What it depends on.
        dependency: String,
        /// The keys that are there.
        known: Vec<String>,
    },
    /// They depend on each other in a ring.
    #[error("enrichments depend on each other in a ring: {}", keys.join(" -> "))]
    Cycle {
        /// The ring; the first stands again at the end.
        keys: Vec<String>,
    },
}

/// Puts enrichments in an order in which each comes behind what it depends on; of several orders, the given one.
pub(crate) fn in_order(
    enrichments: &[Arc<dyn Enrichment>],
) -> Result<Vec<Arc<dyn Enrichment>>, EnrichmentError> {
    let mut by_key: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, enrichment) in enrichments.iter().enumerate() {
        if by_key.insert(enrichment.key(), at).is_some() {
            return Err(EnrichmentError::DuplicateKey { key: enrichment.key().to_owned() });
        }
    }
    let mut visit = Visit { enrichments, by_key: &by_key, path: Vec::new(), order: Vec::new() };
    for at in 0..enrichments.len() {
        visit.visit(at)?;
    }
    Ok(visit.order.iter().filter_map(|at| enrichments.get(*at).cloned()).collect())
}

struct Visit<'a> {
    enrichments: &'a [Arc<dyn Enrichment>],
    by_key: &'a BTreeMap<&'a str, usize>,
    /// The ones that wait for each other, the first that was asked for first.
    path: Vec<usize>,
    order: Vec<usize>,
}

impl Visit<'_> {
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
