//! The sampler `sparse`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::QualifiedName;
use toolcrib_registry::enrichment::ToolKey;
use toolcrib_search::{SearchIndex, SearchOptions};

use super::catalogue::{Catalogue, ToolIndex};
use super::{Sample, SampleRequest, Sampler, SamplingError};
use crate::seed::Random;

/// The default number of distractors.
const DEFAULT_DISTRACTORS: usize = 8;

/// The number of search results for each requested distractor: the sampler chooses among them.
const CANDIDATES_PER_DISTRACTOR: usize = 3;

/// The settings of `type: sparse`: a few tools among distractors that a search finds for the same words, and their own
/// overloads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SparseSettings {
    /// The namespaces that tools are taken from; all by default. Distractors come from everywhere.
    pub namespaces: Vec<String>,
    /// The number of distractors.
    pub distractors: usize,
}

impl Default for SparseSettings {
    fn default() -> Self {
        Self { namespaces: Vec::new(), distractors: DEFAULT_DISTRACTORS }
    }
}

pub(super) struct SparseSampler {
    settings: SparseSettings,
    catalogue: Catalogue,
    index: SearchIndex,
    /// The overloads of each name.
    overloads: HashMap<QualifiedName, Vec<ToolKey>>,
}

impl SparseSampler {
    pub(super) fn new(settings: SparseSettings, catalogue: &Catalogue) -> Result<Self, String> {
        let tools = catalogue.tools().iter().map(|entry| entry.tool.as_ref());
        let index = SearchIndex::build(tools).map_err(|error| error.to_string())?;
        let mut overloads: HashMap<QualifiedName, Vec<ToolKey>> = HashMap::new();
        for entry in catalogue.tools() {
            overloads.entry(entry.tool.name.clone()).or_default().push(ToolKey::of(entry));
        }
        Ok(Self { settings, catalogue: catalogue.clone(), index, overloads })
    }

    /// Returns the tools that a search for a tool finds, and its overloads, without those in `taken`.
    fn similar(&self, tool: &toolcrib_model::Tool, limit: usize, taken: &HashSet<ToolKey>) -> Vec<ToolKey> {
        let query = format!("{} {}", tool.name.name().replace(['_', '-'], " "), tool.description);
        let options = SearchOptions::new(limit);
        let found = self.index.search(&query, &options);
        let names = std::iter::once(&tool.name).chain(found.hits.iter().map(|hit| &hit.name));
        let mut keys = Vec::new();
        for name in names {
            for key in self.overloads.get(name).into_iter().flatten() {
                if !taken.contains(key) && !keys.contains(key) {
                    keys.push(key.clone());
                }
            }
        }
        keys
    }
}

impl Sampler for SparseSampler {
    fn sample(&self, request: &SampleRequest) -> Result<Sample, SamplingError> {
        let namespaces = request.namespaces.as_deref().unwrap_or(&self.settings.namespaces);
        let distractors = request.distractors.unwrap_or(self.settings.distractors);
        let mut random = Random::new(request.seed);
        let all = self.catalogue.within(namespaces).tools();
        if all.len() < request.count || self.catalogue.len() < request.count + distractors {
            let message = format!("the catalogue is too small for {distractors} distractors");
            return Err(SamplingError::new(message, request.count, all.len()));
        }
        let chosen: Vec<ToolIndex> = random
            .distinct(request.count, all.len())
            .into_iter()
            .filter_map(|at| all.get(at).copied())
            .collect();
        let tools = self.catalogue.entries(&chosen);
        let mut taken: HashSet<ToolKey> = tools.iter().map(|entry| ToolKey::of(entry)).collect();
        let mut added = Vec::with_capacity(distractors);
        for (at, entry) in tools.iter().enumerate() {
            // What earlier tools could not provide falls to the later ones.
            let share = (distractors - added.len()) / (tools.len() - at);
            let found = self.similar(&entry.tool, share * CANDIDATES_PER_DISTRACTOR + 1, &taken);
            for place in random.distinct(share, found.len()) {
                if let Some(key) = found.get(place) {
                    taken.insert(key.clone());
                    added.extend(self.catalogue.get(key).cloned());
                }
            }
        }
        // The rest is any tool: a search may find too few.
        let is_short = added.len() < distractors;
        let mut others =
            if is_short { random.distinct(self.catalogue.len(), self.catalogue.len()) } else { Vec::new() };
        while added.len() < distractors {
            let Some(entry) = others.pop().and_then(|at| self.catalogue.tools().get(at)) else { break };
            if taken.insert(ToolKey::of(entry)) {
                added.push(Arc::clone(entry));
            }
        }
        random.shuffle(&mut added);
        Ok(Sample { tools, distractors: added })
    }
}
