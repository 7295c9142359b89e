//! The dataflow between tools: an index of the tools whose results can be arguments of others, in both directions.

mod edge;
mod edges;
mod kind;
mod matches;
mod side;
mod stored;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::enriched::Enriched;
use super::tool_key::ToolKey;
use crate::sync::run_blocking;
use crate::{Artifacts, Enrichment, Entry, Snapshot};

pub use edge::{DataflowEdge, ParameterPair};
pub use edges::{MAX_NEIGHBORS, MAX_NEIGHBORS_PER_NAMESPACE};
pub use matches::ParameterSimilarity;

use edges::{Direction, Graph};
use matches::Matches;
use side::{Side, Texts};

/// The edges of every tool in both directions, for each overload.
#[derive(Clone, Default)]
pub struct Dataflow {
    places: HashMap<Arc<ToolKey>, usize>,
    consumers: Vec<Vec<DataflowEdge>>,
    producers: Vec<Vec<DataflowEdge>>,
}

impl Dataflow {
    /// The key of the artifact.
    pub const KEY: &'static str = "dataflow";

    /// Computes the edges by the names of parameters. A property of a result fits an argument of another tool if their
    /// names are equal except for case and separators, or if the name of the argument is that of the property behind a
    /// noun of the producing tool's name (factor 0.9). A name as common as `id` counts within one namespace only.
    ///
    /// The score of the names is multiplied by that of the types: equal types 1.0, integer and number 0.8, objects that
    /// share properties 0.9, opaque objects and values of unknown types 0.7. An array fits an array if its items fit.
    ///
    /// The runtime's own tools, which forward the arguments of others or run the agent, have no edges.
    pub fn between(tools: &Snapshot) -> Self {
        Self::of_named(tools.all())
    }

    /// Computes the edges by the similarity of parameters: that of their names, types and descriptions, multiplied by
    /// the score of the types as in [`between`](Self::between). Similarities below 0.5 do not count.
    pub fn by_similarity(tools: &[Arc<Entry>], similarity: &dyn ParameterSimilarity) -> Result<Self, String> {
        let (results, arguments) = sides(tools, Texts::Descriptions);
        let matches = Matches::by_similarity(&results, &arguments, similarity)?;
        Ok(Self::of_matches(tools, &results, &arguments, &matches))
    }

    /// Returns the edges as bytes, from which [`from_bytes`](Self::from_bytes) restores them.
    pub fn to_bytes(&self) -> Vec<u8> {
        stored::encode(&self.places, &self.consumers, &self.producers)
    }

    /// Restores the edges of the same tools in the same order. Returns `None` if the bytes have another form.
    pub fn from_bytes(bytes: &[u8], tools: &[Arc<Entry>]) -> Option<Self> {
        let keys: Vec<_> = tools.iter().map(|entry| Arc::new(ToolKey::of(entry))).collect();
        let stored::Edges { consumers, producers } = stored::decode(bytes, &keys)?;
        Some(Self { places: places(&keys), consumers, producers })
    }

    fn of_named(entries: &[Arc<Entry>]) -> Self {
        let (results, arguments) = sides(entries, Texts::Names);
        Self::of_matches(entries, &results, &arguments, &Matches::by_name(&results, &arguments))
    }

    fn of_matches(entries: &[Arc<Entry>], results: &Side, arguments: &Side, matches: &Matches) -> Self {
        let tools: Vec<_> = entries.iter().map(|entry| Arc::new(ToolKey::of(entry))).collect();
        let graph = Graph::new(&tools, results, arguments, matches);
        let (consumers, producers) = (graph.edges(Direction::Consumers), graph.edges(Direction::Producers));
        Self { places: places(&tools), consumers, producers }
    }

    /// Returns the edges to the tools that can use the result of a tool, best first: at most
    /// [`MAX_NEIGHBORS_PER_NAMESPACE`] for each namespace, and [`MAX_NEIGHBORS`] in all.
    pub fn consumers(&self, tool: &ToolKey) -> &[DataflowEdge] {
        self.edges(&self.consumers, tool)
    }

    /// Returns the edges from the tools whose results a tool can use, best first: at most
    /// [`MAX_NEIGHBORS_PER_NAMESPACE`] for each namespace, and [`MAX_NEIGHBORS`] in all.
    pub fn producers(&self, tool: &ToolKey) -> &[DataflowEdge] {
        self.edges(&self.producers, tool)
    }

    fn edges<'a>(&self, edges: &'a [Vec<DataflowEdge>], tool: &ToolKey) -> &'a [DataflowEdge] {
        let edges = self.places.get(tool).and_then(|at| edges.get(*at));
        edges.map_or(&[], Vec::as_slice)
    }
}

impl fmt::Debug for Dataflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |edges: &[Vec<_>]| edges.iter().map(Vec::len).sum::<usize>();
        let mut f = f.debug_struct("Dataflow");
        f.field("tools", &self.places.len()).field("consumers", &count(&self.consumers));
        f.field("producers", &count(&self.producers)).finish()
    }
}

/// Returns the positions of tools.
fn places(tools: &[Arc<ToolKey>]) -> HashMap<Arc<ToolKey>, usize> {
    tools.iter().enumerate().map(|(at, tool)| (Arc::clone(tool), at)).collect()
}

fn sides(entries: &[Arc<Entry>], texts: Texts) -> (Side, Side) {
    (Side::of_results(entries, texts), Side::of_arguments(entries, texts))
}

/// The [`Enrichment`] that computes a [`Dataflow`] under [`Dataflow::KEY`], by the names of parameters unless it has a
/// [`ParameterSimilarity`].
#[derive(Clone, Default)]
pub struct DataflowEnrichment {
    similarity: Option<Arc<dyn ParameterSimilarity>>,
}

impl DataflowEnrichment {
    /// Compares parameters by this similarity instead of their names.
    pub fn with_similarity(mut self, similarity: Arc<dyn ParameterSimilarity>) -> Self {
        self.similarity = Some(similarity);
        self
    }
}

#[async_trait]
impl Enrichment for DataflowEnrichment {
    fn key(&self) -> &str {
        Dataflow::KEY
    }

    async fn run(&self, tools: &Snapshot, _artifacts: &Artifacts) -> Result<Enriched, String> {
        let (entries, similarity) = (tools.all().to_vec(), self.similarity.clone());
        let dataflow = run_blocking(move || match similarity {
            Some(similarity) => Dataflow::by_similarity(&entries, similarity.as_ref()),
            None => Ok(Dataflow::of_named(&entries)),
        });
        Ok(Enriched::new(dataflow.await?))
    }
}
