//! The sampler `dag`.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalogue::{Catalogue, Edges, MissingArtifact, ToolIndex, Within};
use super::chain::DEFAULT_MIN_SCORE;
use super::{Sample, SampleRequest, Sampler, SamplingError};
use crate::seed::Random;

/// The settings of `type: dag`: connected tools, each after a tool whose result it can use or before one that can use
/// its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DagSettings {
    /// The namespaces that tools are taken from; all by default.
    pub namespaces: Vec<String>,
    /// The minimum score of each edge, from 0 to 1.
    pub min_score: f64,
}

impl Default for DagSettings {
    fn default() -> Self {
        Self { namespaces: Vec::new(), min_score: DEFAULT_MIN_SCORE }
    }
}

pub(super) struct DagSampler {
    settings: DagSettings,
    catalogue: Catalogue,
}

impl DagSampler {
    pub(super) fn new(settings: DagSettings, catalogue: &Catalogue) -> Result<Self, MissingArtifact> {
        catalogue.dataflow("dag")?;
        Ok(Self { settings, catalogue: catalogue.clone() })
    }
}

impl Sampler for DagSampler {
    fn sample(&self, request: &SampleRequest) -> Result<Sample, SamplingError> {
        let fail = |message: String, tools| SamplingError::new(message, request.count, tools);
        let edges =
            self.catalogue.dataflow("dag").map_err(|error| fail(error.to_string(), self.catalogue.len()))?;
        let namespaces = request.namespaces.as_deref().unwrap_or(&self.settings.namespaces);
        let within = self.catalogue.within(namespaces);
        let min_score = request.min_score.unwrap_or(self.settings.min_score);
        let mut random = Random::new(request.seed);
        let mut starts = within.tools();
        random.shuffle(&mut starts);
        if request.count == 0 {
            return Ok(Sample::default());
        }
        for start in &starts {
            let order = grow(*start, request.count, edges, &within, min_score, &mut random);
            if order.len() == request.count {
                return Ok(Sample { tools: self.catalogue.entries(&order), ..Sample::default() });
            }
        }
        let message = format!("no tools are connected by edges with a score of at least {min_score}");
        Err(fail(message, starts.len()))
    }
}

/// Adds neighbours of chosen tools until there are enough: consumers at the end and producers at the beginning, so that
/// every edge that was followed points forward.
fn grow(
    start: ToolIndex,
    count: usize,
    edges: &Edges,
    within: &Within<'_>,
    min_score: f64,
    random: &mut Random,
) -> Vec<ToolIndex> {
    let mut order = VecDeque::from([start]);
    while order.len() < count {
        let is_new = |tool: ToolIndex| within.has(tool) && !order.contains(&tool);
        let mut next: Vec<(ToolIndex, bool)> = Vec::new();
        for tool in &order {
            let consumers = edges.consumers(*tool, min_score).iter().map(|edge| (edge.tool, true));
            let producers = edges.producers(*tool, min_score).iter().map(|edge| (edge.tool, false));
            next.extend(consumers.chain(producers).filter(|(tool, _)| is_new(*tool)));
        }
        match random.choose(&next) {
            Some((tool, true)) => order.push_back(*tool),
            Some((tool, false)) => order.push_front(*tool),
            None => break,
        }
    }
    order.into()
}
