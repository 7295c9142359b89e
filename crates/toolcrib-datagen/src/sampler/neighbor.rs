//! The samplers `neighbor` and `conflict`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_registry::enrichment::ToolKey;
use toolcrib_search::embedding::Neighbors;

use super::catalogue::{Catalogue, Edge, MissingArtifact, ToolIndex, Within};
use super::{Sample, SampleRequest, Sampler, SamplingError};
use crate::seed::Random;

/// The default temperature of the choice among similar tools.
const DEFAULT_TEMPERATURE: f64 = 0.1;

/// The lowest temperature: below it, the most similar tool is always chosen.
const MIN_TEMPERATURE: f64 = 1e-3;

/// The settings of `type: neighbor`: tools that are similar to one another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct NeighborSettings {
    /// The namespaces that tools are taken from; all by default.
    pub namespaces: Vec<String>,
    /// The temperature of the softmax over similarities: near 0 the most similar tool is chosen, and the higher, the
    /// less similarity matters.
    pub temperature: f64,
}

impl Default for NeighborSettings {
    fn default() -> Self {
        Self { namespaces: Vec::new(), temperature: DEFAULT_TEMPERATURE }
    }
}

/// The settings of `type: conflict`: tools that are near duplicates of one another, directly or over others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ConflictSettings {
    /// The namespaces that tools are taken from; all by default.
    pub namespaces: Vec<String>,
}

/// The neighbours of each tool, by index; with near duplicates alone for `conflict`.
struct Similar {
    catalogue: Catalogue,
    edges: Vec<Vec<Edge>>,
}

impl Similar {
    fn new(sampler: &str, catalogue: &Catalogue, only_duplicates: bool) -> Result<Self, MissingArtifact> {
        let neighbors = catalogue.artifact::<Neighbors>(Neighbors::KEY, sampler)?;
        let edges = catalogue.tools().iter().map(|entry| {
            let similar = neighbors.of(&ToolKey::of(entry)).iter();
            let similar = similar.filter(|neighbor| neighbor.is_near_duplicate || !only_duplicates);
            similar
                .filter_map(|neighbor| {
                    Some(Edge { tool: catalogue.index(&neighbor.tool)?, score: neighbor.similarity })
                })
                .collect()
        });
        Ok(Self { edges: edges.collect(), catalogue: catalogue.clone() })
    }

    /// Starts at random tools until one has enough others around it; `choose` picks the next of its neighbours.
    fn sample(
        &self,
        request: &SampleRequest,
        namespaces: &[String],
        choose: impl Fn(&[Edge], &mut Random) -> Option<usize>,
    ) -> Result<Sample, SamplingError> {
        let within = self.catalogue.within(namespaces);
        let mut random = Random::new(request.seed);
        let mut starts = within.tools();
        random.shuffle(&mut starts);
        if request.count == 0 {
            return Ok(Sample::default());
        }
        for start in &starts {
            let chosen = self.grow(*start, request.count, &within, &mut random, &choose);
            if chosen.len() == request.count {
                return Ok(Sample { tools: self.catalogue.entries(&chosen), ..Sample::default() });
            }
        }
        Err(SamplingError::new("no tools are similar enough", request.count, starts.len()))
    }

    fn grow(
        &self,
        start: ToolIndex,
        count: usize,
        within: &Within<'_>,
        random: &mut Random,
        choose: &impl Fn(&[Edge], &mut Random) -> Option<usize>,
    ) -> Vec<ToolIndex> {
        let mut chosen = vec![start];
        let mut frontier: Vec<Edge> = Vec::new();
        let mut last = start;
        while chosen.len() < count {
            frontier.extend(self.edges.get(last as usize).into_iter().flatten());
            frontier.retain(|edge| within.has(edge.tool) && !chosen.contains(&edge.tool));
            let Some(next) = choose(&frontier, random).and_then(|at| frontier.get(at)) else { break };
            last = next.tool;
            chosen.push(last);
        }
        chosen
    }
}

pub(super) struct NeighborSampler {
    settings: NeighborSettings,
    similar: Similar,
}

impl NeighborSampler {
    pub(super) fn new(settings: NeighborSettings, catalogue: &Catalogue) -> Result<Self, MissingArtifact> {
        Ok(Self { settings, similar: Similar::new("neighbor", catalogue, false)? })
    }
}

impl Sampler for NeighborSampler {
    fn sample(&self, request: &SampleRequest) -> Result<Sample, SamplingError> {
        let namespaces = request.namespaces.as_deref().unwrap_or(&self.settings.namespaces);
        let temperature = request.temperature.unwrap_or(self.settings.temperature).max(MIN_TEMPERATURE);
        self.similar.sample(request, namespaces, |frontier, random| {
            let best = frontier.iter().map(|edge| edge.score).fold(f64::NEG_INFINITY, f64::max);
            // The best is subtracted, so that no power overflows.
            let weight = |edge: &Edge| ((edge.score - best) / temperature).exp();
            random.weighted(&frontier.iter().map(weight).collect::<Vec<_>>())
        })
    }
}

pub(super) struct ConflictSampler {
    settings: ConflictSettings,
    similar: Similar,
}

impl ConflictSampler {
    pub(super) fn new(settings: ConflictSettings, catalogue: &Catalogue) -> Result<Self, MissingArtifact> {
        Ok(Self { settings, similar: Similar::new("conflict", catalogue, true)? })
    }
}

impl Sampler for ConflictSampler {
    fn sample(&self, request: &SampleRequest) -> Result<Sample, SamplingError> {
        let namespaces = request.namespaces.as_deref().unwrap_or(&self.settings.namespaces);
        self.similar.sample(request, namespaces, |frontier, random| {
            (!frontier.is_empty()).then(|| random.below(frontier.len()))
        })
    }
}
