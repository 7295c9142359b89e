//! The tools that samplers choose from, with the edges between them.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use toolcrib_registry::enrichment::{Dataflow, DataflowEdge, ToolKey};
use toolcrib_registry::{Artifacts, Entry, Snapshot};

/// The error of a sampler that needs an artifact which the snapshot does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sampler `{sampler}` needs the artifact of the enrichment `{enrichment}`; add this enrichment")]
pub struct MissingArtifact {
    /// The sampler.
    pub sampler: String,
    /// The enrichment that computes the artifact.
    pub enrichment: String,
}

/// The index of a tool in a [`Catalogue`].
pub(super) type ToolIndex = u32;

/// The tools of a snapshot that conversations can be about: all but those of the runtime itself. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    tools: Vec<Arc<Entry>>,
    keys: HashMap<ToolKey, ToolIndex>,
    /// The tools of each namespace, namespaces in alphabetical order.
    namespaces: Vec<(String, Vec<ToolIndex>)>,
    dataflow: Option<Edges>,
    artifacts: Artifacts,
}

/// The edges of the dataflow by the indexes of tools, best first.
#[derive(Debug)]
pub(super) struct Edges {
    pub(super) consumers: Vec<Vec<Edge>>,
    pub(super) producers: Vec<Vec<Edge>>,
}

/// An edge to another tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edge {
    pub(super) tool: ToolIndex,
    pub(super) score: f64,
}

impl Catalogue {
    /// Creates the catalogue of a snapshot with its artifacts.
    pub fn new(snapshot: &Snapshot) -> Self {
        let is_of_runtime = |entry: &Entry| {
            let traits = entry.tool.traits();
            traits.operational || traits.discovery || entry.tool.name.is_of_runtime()
        };
        let tools = snapshot.iter().filter(|entry| !is_of_runtime(entry)).cloned().collect();
        Self::with_tools(tools, snapshot.artifacts().clone())
    }

    /// Returns the catalogue of some of the tools, with the edges between these.
    pub fn filtered(&self, keep: impl Fn(&Entry) -> bool) -> Self {
        let tools = self.tools().iter().filter(|entry| keep(entry)).cloned().collect();
        Self::with_tools(tools, self.shared.artifacts.clone())
    }

    fn with_tools(tools: Vec<Arc<Entry>>, artifacts: Artifacts) -> Self {
        let keys: HashMap<ToolKey, ToolIndex> =
            (0..).zip(&tools).map(|(at, entry)| (ToolKey::of(entry), at)).collect();
        let mut by_namespace: BTreeMap<&str, Vec<ToolIndex>> = BTreeMap::new();
        for (at, entry) in (0..).zip(&tools) {
            by_namespace.entry(entry.tool.name.namespace()).or_default().push(at);
        }
        let namespaces = by_namespace.into_iter().map(|(name, tools)| (name.to_owned(), tools)).collect();
        let dataflow = artifacts.get::<Dataflow>(Dataflow::KEY);
        let dataflow = dataflow.map(|dataflow| Edges::new(&tools, &keys, &dataflow));
        Self { shared: Arc::new(Shared { tools, keys, namespaces, dataflow, artifacts }) }
    }

    /// Returns the tools, in the order of the snapshot.
    pub fn tools(&self) -> &[Arc<Entry>] {
        &self.shared.tools
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.shared.tools.len()
    }

    /// Returns true without tools.
    pub fn is_empty(&self) -> bool {
        self.shared.tools.is_empty()
    }

    /// Returns the entry of a tool.
    pub fn get(&self, key: &ToolKey) -> Option<&Arc<Entry>> {
        self.entry(*self.shared.keys.get(key)?)
    }

    pub(super) fn index(&self, key: &ToolKey) -> Option<ToolIndex> {
        self.shared.keys.get(key).copied()
    }

    pub(super) fn entry(&self, index: ToolIndex) -> Option<&Arc<Entry>> {
        self.shared.tools.get(index as usize)
    }

    pub(super) fn entries(&self, indexes: &[ToolIndex]) -> Vec<Arc<Entry>> {
        indexes.iter().filter_map(|index| self.entry(*index).cloned()).collect()
    }

    /// Returns the namespaces with their tools; only the given ones if there are any.
    pub(super) fn namespaces<'a>(
        &'a self,
        wanted: &'a [String],
    ) -> impl Iterator<Item = (&'a str, &'a [ToolIndex])> {
        let namespaces = self.shared.namespaces.iter().map(|(name, tools)| (name.as_str(), tools.as_slice()));
        namespaces.filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name))
    }

    /// Returns a set of the tools of these namespaces; of all without any.
    pub(super) fn within(&self, wanted: &[String]) -> Within<'_> {
        let allowed = (!wanted.is_empty()).then(|| {
            let mut allowed = vec![false; self.len()];
            for index in self.namespaces(wanted).flat_map(|(_, tools)| tools) {
                if let Some(slot) = allowed.get_mut(*index as usize) {
                    *slot = true;
                }
            }
            allowed
        });
        Within { catalogue: self, allowed }
    }

    /// Returns the artifact of an enrichment.
    ///
    /// # Errors
    ///
    /// Returns an error if the snapshot has no such artifact.
    pub fn artifact<T: Any + Send + Sync>(
        &self,
        enrichment: &str,
        sampler: &str,
    ) -> Result<Arc<T>, MissingArtifact> {
        self.shared
            .artifacts
            .get(enrichment)
            .ok_or_else(|| MissingArtifact { sampler: sampler.to_owned(), enrichment: enrichment.to_owned() })
    }

    /// Returns the edges of the dataflow.
    pub(super) fn dataflow(&self, sampler: &str) -> Result<&Edges, MissingArtifact> {
        self.shared.dataflow.as_ref().ok_or_else(|| MissingArtifact {
            sampler: sampler.to_owned(),
            enrichment: Dataflow::KEY.to_owned(),
        })
    }
}

/// The tools of some namespaces.
pub(super) struct Within<'a> {
    catalogue: &'a Catalogue,
    /// `None` for all tools.
    allowed: Option<Vec<bool>>,
}

impl Within<'_> {
    pub(super) fn has(&self, tool: ToolIndex) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.get(tool as usize).copied().unwrap_or(false))
    }

    pub(super) fn tools(&self) -> Vec<ToolIndex> {
        (0..).take(self.catalogue.len()).filter(|tool| self.has(*tool)).collect()
    }
}

impl Edges {
    fn new(tools: &[Arc<Entry>], keys: &HashMap<ToolKey, ToolIndex>, dataflow: &Dataflow) -> Self {
        let edges = |edges: &[DataflowEdge], other: fn(&DataflowEdge) -> &ToolKey| {
            let edge = |edge: &DataflowEdge| Some(Edge { tool: *keys.get(other(edge))?, score: edge.score });
            edges.iter().filter_map(edge).collect::<Vec<_>>()
        };
        let of = |entry: &Arc<Entry>| ToolKey::of(entry);
        Self {
            consumers: tools
                .iter()
                .map(|tool| edges(dataflow.consumers(&of(tool)), |edge| &edge.consumer))
                .collect(),
            producers: tools
                .iter()
                .map(|tool| edges(dataflow.producers(&of(tool)), |edge| &edge.producer))
                .collect(),
        }
    }

    /// Returns the tools that consume the result of a tool, with at least a score.
    pub(super) fn consumers(&self, tool: ToolIndex, min_score: f64) -> &[Edge] {
        scored(self.consumers.get(tool as usize), min_score)
    }

    /// Returns the tools whose results a tool consumes, with at least a score.
    pub(super) fn producers(&self, tool: ToolIndex, min_score: f64) -> &[Edge] {
        scored(self.producers.get(tool as usize), min_score)
    }
}

/// Returns the beginning of the edges, which are sorted by score.
fn scored(edges: Option<&Vec<Edge>>, min_score: f64) -> &[Edge] {
    let edges = edges.map(Vec::as_slice).unwrap_or_default();
    let end = edges.partition_point(|edge| edge.score >= min_score);
    edges.get(..end).unwrap_or_default()
}
