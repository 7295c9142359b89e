//! The sampler `chain`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalogue::{Catalogue, Edges, MissingArtifact, ToolIndex, Within};
use super::{Sample, SampleRequest, Sampler, SamplingError};
use crate::seed::Random;

/// The default of `min_score` of all samplers that follow the dataflow.
pub(super) const DEFAULT_MIN_SCORE: f64 = 0.5;

/// The maximum number of tools that are looked at for one sample.
const MAX_STEPS: usize = 100_000;

/// The settings of `type: chain`: each tool can use the result of the one before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ChainSettings {
    /// The namespaces that tools are taken from; all by default.
    pub namespaces: Vec<String>,
    /// The minimum score of each edge, from 0 to 1.
    pub min_score: f64,
}

impl Default for ChainSettings {
    fn default() -> Self {
        Self { namespaces: Vec::new(), min_score: DEFAULT_MIN_SCORE }
    }
}

pub(super) struct ChainSampler {
    settings: ChainSettings,
    catalogue: Catalogue,
}

impl ChainSampler {
    pub(super) fn new(settings: ChainSettings, catalogue: &Catalogue) -> Result<Self, MissingArtifact> {
        catalogue.dataflow("chain")?;
        Ok(Self { settings, catalogue: catalogue.clone() })
    }
}

impl Sampler for ChainSampler {
    fn sample(&self, request: &SampleRequest) -> Result<Sample, SamplingError> {
        let namespaces = request.namespaces.as_deref().unwrap_or(&self.settings.namespaces);
        let within = self.catalogue.within(namespaces);
        let edges = self
            .catalogue
            .dataflow("chain")
            .map_err(|error| SamplingError::new(error.to_string(), request.count, self.catalogue.len()))?;
        let mut walk = Walk {
            edges,
            within: &within,
            min_score: request.min_score.unwrap_or(self.settings.min_score),
            random: Random::new(request.seed),
            path: Vec::with_capacity(request.count),
            steps: 0,
        };
        if request.count == 0 || walk.run(self.catalogue.len(), request.count) {
            return Ok(Sample { tools: self.catalogue.entries(&walk.path), ..Sample::default() });
        }
        let message = format!("no chain of edges with a score of at least {} was found", walk.min_score);
        Err(SamplingError::new(message, request.count, within.tools().len()))
    }
}

/// A depth-first search in random order.
struct Walk<'a> {
    edges: &'a Edges,
    within: &'a Within<'a>,
    min_score: f64,
    random: Random,
    path: Vec<ToolIndex>,
    steps: usize,
}

impl Walk<'_> {
    /// Searches from random tools, then from all others.
    fn run(&mut self, tools: usize, count: usize) -> bool {
        /// The number of random tools to start from, before all tools are tried in random order: a list of all is long.
        const QUICK_STARTS: usize = 64;
        for _ in 0..QUICK_STARTS.min(tools) {
            let start = self.random.below(tools);
            if self.from(start, count) {
                return true;
            }
        }
        let starts = self.random.distinct(tools, tools);
        starts.into_iter().any(|start| self.from(start, count))
    }

    fn from(&mut self, start: usize, count: usize) -> bool {
        let Ok(start) = ToolIndex::try_from(start) else { return false };
        self.path.clear();
        self.within.has(start) && self.extend(start, count)
    }

    fn extend(&mut self, tool: ToolIndex, count: usize) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return false;
        }
        self.path.push(tool);
        if self.path.len() == count {
            return true;
        }
        let next = self.edges.consumers(tool, self.min_score);
        for at in self.random.distinct(next.len(), next.len()) {
            let Some(edge) = next.get(at) else { continue };
            if self.within.has(edge.tool) && !self.path.contains(&edge.tool) && self.extend(edge.tool, count)
            {
                return true;
            }
        }
        self.path.pop();
        false
    }
}
