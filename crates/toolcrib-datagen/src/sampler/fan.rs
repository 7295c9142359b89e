//! The samplers `fan_out` and `fan_in`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalogue::{Catalogue, Edge, MissingArtifact, ToolIndex};
use super::chain::DEFAULT_MIN_SCORE;
use super::{Sample, SampleRequest, Sampler, SamplingError};
use crate::seed::Random;

/// The settings of `type: fan_out`, one tool whose result all others can use, and of `type: fan_in`, one tool that can
/// use the results of all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FanSettings {
    /// The namespaces that tools are taken from; all by default.
    pub namespaces: Vec<String>,
    /// The minimum score of each edge, from 0 to 1.
    pub min_score: f64,
}

impl Default for FanSettings {
    fn default() -> Self {
        Self { namespaces: Vec::new(), min_score: DEFAULT_MIN_SCORE }
    }
}

/// The direction of a fan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fan {
    /// The hub comes first.
    Out,
    /// The hub comes last.
    In,
}

pub(super) struct FanSampler {
    fan: Fan,
    settings: FanSettings,
    catalogue: Catalogue,
}

impl FanSampler {
    pub(super) fn new(
        fan: Fan,
        settings: FanSettings,
        catalogue: &Catalogue,
    ) -> Result<Self, MissingArtifact> {
        catalogue.dataflow(fan.name())?;
        Ok(Self { fan, settings, catalogue: catalogue.clone() })
    }
}

impl Fan {
    fn name(self) -> &'static str {
        match self {
            Self::Out => "fan_out",
            Self::In => "fan_in",
        }
    }
}

impl Sampler for FanSampler {
    fn sample(&self, request: &SampleRequest) -> Result<Sample, SamplingError> {
        let fail = |message: String, tools| SamplingError::new(message, request.count, tools);
        let edges = self
            .catalogue
            .dataflow(self.fan.name())
            .map_err(|error| fail(error.to_string(), self.catalogue.len()))?;
        let namespaces = request.namespaces.as_deref().unwrap_or(&self.settings.namespaces);
        let within = self.catalogue.within(namespaces);
        let min_score = request.min_score.unwrap_or(self.settings.min_score);
        let mut random = Random::new(request.seed);
        if request.count == 0 {
            return Ok(Sample::default());
        }
        let around = |hub: ToolIndex| -> Vec<ToolIndex> {
            let edges = match self.fan {
                Fan::Out => edges.consumers(hub, min_score),
                Fan::In => edges.producers(hub, min_score),
            };
            edges
                .iter()
                .map(|edge: &Edge| edge.tool)
                .filter(|tool| *tool != hub && within.has(*tool))
                .collect()
        };
        let mut hubs = within.tools();
        random.shuffle(&mut hubs);
        for hub in &hubs {
            let others = around(*hub);
            if others.len() + 1 < request.count {
                continue;
            }
            let chosen = random.distinct(request.count - 1, others.len());
            let chosen = chosen.into_iter().filter_map(|at| others.get(at).copied());
            let order: Vec<ToolIndex> = match self.fan {
                Fan::Out => std::iter::once(*hub).chain(chosen).collect(),
                Fan::In => chosen.chain(std::iter::once(*hub)).collect(),
            };
            return Ok(Sample { tools: self.catalogue.entries(&order), ..Sample::default() });
        }
        Err(fail(format!("no tool has enough edges with a score of at least {min_score}"), hubs.len()))
    }
}
