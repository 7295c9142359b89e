//! The samplers of a task, built for the tools of each kind.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use toolcrib_registry::Entry;
use toolcrib_registry::enrichment::ToolKey;

use super::error::PipelineError;
use super::settings::{GenerateSettings, KindSettings, MAX_TOOLS, SamplerSettings};
use crate::Kind;
use crate::conversation::ConversationTool;
use crate::sampler::{Catalogue, SampleRequest, Sampler, Samplers, SamplingError};
use crate::seed::Random;

/// The part of the seed of a conversation that its sample derives from.
const SAMPLE_PART: u64 = u64::from_be_bytes(*b"sample\0\0");

/// The samplers by kind. A kind without an entry has the default choice.
#[derive(Clone, Default)]
pub(crate) struct Mixes {
    by_kind: BTreeMap<Kind, Arc<Mix>>,
}

/// The samplers of a kind, with their weights.
struct Mix {
    weights: Vec<f64>,
    samplers: Vec<(Arc<dyn Sampler>, usize)>,
    /// The number of tools that they choose from.
    tools: usize,
}

impl fmt::Debug for Mixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_kind.keys()).finish()
    }
}

/// The chosen tools of a conversation.
#[derive(Default)]
pub(crate) struct SampledTools {
    /// The tools that a plan may call.
    pub(crate) plannable: Vec<ConversationTool>,
    /// All tools that the conversation offers.
    pub(crate) offered: Vec<ConversationTool>,
}

impl Mixes {
    /// Builds the samplers that the settings name. `candidates` returns the tools that fit a kind.
    ///
    /// # Errors
    ///
    /// Returns an error that names the setting of a sampler that cannot be built.
    pub(crate) fn new(
        settings: &GenerateSettings,
        known: &Samplers,
        catalogue: &Catalogue,
        candidates: impl Fn(Kind, &KindSettings) -> HashSet<ToolKey>,
    ) -> Result<Self, PipelineError> {
        // A sampler may compute much from its tools, and most kinds have the same.
        let mut built: Vec<(HashSet<ToolKey>, Vec<SamplerSettings>, Arc<Mix>)> = Vec::new();
        let mut by_kind = BTreeMap::new();
        for (kind, of_kind) in settings.kinds() {
            if of_kind.weight() <= 0.0 {
                continue;
            }
            let tools = candidates(kind, &of_kind);
            let (key, samplers, most) = match of_kind.samplers() {
                // A kind may have fewer tools than the samplers of all kinds take.
                [] => ("samplers".to_owned(), &settings.samplers[..], catalogue.len()),
                own => (format!("kinds.{}.samplers", kind.name()), own, tools.len()),
            };
            if samplers.is_empty() {
                continue;
            }
            check_counts(samplers, most, &key)?;
            let same = built.iter().find(|(other, settings, _)| *other == tools && settings == samplers);
            let mix = if let Some((_, _, mix)) = same {
                Arc::clone(mix)
            } else {
                let part = catalogue.filtered(|entry| tools.contains(&ToolKey::of(entry)));
                let mix = Arc::new(Mix::new(samplers, settings.tools.get(), known, &part, &key)?);
                built.push((tools, samplers.to_vec(), Arc::clone(&mix)));
                mix
            };
            by_kind.insert(kind, mix);
        }
        Ok(Self { by_kind })
    }

    /// Chooses the tools of a conversation; `None` if its kind has no sampler.
    pub(crate) fn sample(&self, kind: Kind, seed: u64) -> Option<Result<SampledTools, SamplingError>> {
        Some(self.by_kind.get(&kind)?.sample(seed))
    }
}

/// Checks that there are as many tools as each sampler is to choose.
fn check_counts(samplers: &[SamplerSettings], tools: usize, key: &str) -> Result<(), PipelineError> {
    let mut counts = samplers.iter().enumerate().filter_map(|(at, sampler)| Some((at, sampler.count?.get())));
    match counts.find(|(_, count)| *count > tools) {
        None => Ok(()),
        Some((at, count)) => Err(PipelineError::Setting {
            key: format!("{key}[{at}].count"),
            message: SamplingError::new("the catalogue is too small", count, tools).to_string(),
        }),
    }
}

impl Mix {
    fn new(
        samplers: &[SamplerSettings],
        count: usize,
        known: &Samplers,
        catalogue: &Catalogue,
        key: &str,
    ) -> Result<Self, PipelineError> {
        let build = |(at, settings): (usize, &SamplerSettings)| {
            let sampler = known.build(&settings.of_type(), catalogue).map_err(|error| {
                PipelineError::Setting { key: format!("{key}[{at}]"), message: error.to_string() }
            })?;
            Ok((sampler, settings.count.map_or(count, std::num::NonZero::get)))
        };
        Ok(Self {
            weights: samplers.iter().map(|sampler| sampler.weight).collect(),
            samplers: samplers.iter().enumerate().map(build).collect::<Result<_, PipelineError>>()?,
            tools: catalogue.len(),
        })
    }

    fn sample(&self, seed: u64) -> Result<SampledTools, SamplingError> {
        let mut random = Random::new(Random::derive(seed, SAMPLE_PART));
        let chosen = random.weighted(&self.weights).and_then(|at| self.samplers.get(at));
        let Some((sampler, count)) = chosen else {
            return Err(SamplingError::new("no sampler has a weight", 0, self.tools));
        };
        let request = SampleRequest::new((*count).min(self.tools), Random::derive(seed, SAMPLE_PART + 1));
        let sample = sampler.sample(&request)?;
        let tools = |entries: &[Arc<Entry>]| {
            let tools = entries.iter().map(|entry| ConversationTool::from(entry.tool.as_ref()));
            tools.collect::<Vec<_>>()
        };
        let plannable = tools(&sample.tools);
        let mut offered = plannable.clone();
        offered.extend(tools(&sample.distractors));
        offered.truncate(MAX_TOOLS);
        if !sample.distractors.is_empty() {
            // The place of a tool must not tell that it is needed.
            random.shuffle(&mut offered);
        }
        Ok(SampledTools { plannable, offered })
    }
}
