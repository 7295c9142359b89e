//! The tools of a run: those that conversations offer, and those that a policy denies.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolcrib_meta::names::{EXECUTE_TOOL, SEARCH_TOOLS};
use toolcrib_model::name::{NAMESPACE_SEPARATOR, RUNTIME_NAMESPACE};
use toolcrib_model::{Fingerprint, QualifiedName, Tool};
use toolcrib_registry::enrichment::ToolKey;
use toolcrib_results::READ_RESULT;

use super::error::PipelineError;
use super::item::{Dropped, Item, ItemOutcome};
use super::mix::{Mixes, SampledTools};
use super::settings::{GenerateSettings, KindSettings, StageKind};
use crate::Kind;
use crate::conversation::{Conversation, ConversationTool, Provenance};
use crate::sampler::{Catalogue, Samplers};
use crate::seed::Random;
use crate::session::SessionState;

/// Returns the qualified name of a tool of the runtime.
pub(crate) fn runtime_tool(name: &str) -> String {
    format!("{RUNTIME_NAMESPACE}{NAMESPACE_SEPARATOR}{name}")
}

/// The tools of a run.
#[derive(Clone, Debug, Default)]
pub struct ToolPool {
    /// The tools that calls may use, without those of the runtime.
    pub usable: Vec<Arc<Tool>>,
    /// The tools whose calls the policy denies.
    pub denied: Vec<Arc<Tool>>,
    /// The tools of the runtime, such as `search_tools`.
    pub runtime: Vec<Arc<Tool>>,
    /// The samplers that a task may name, and the tools that they choose from.
    samplers: Option<(Samplers, Catalogue)>,
    mixes: Mixes,
}

impl ToolPool {
    /// Sorts tools into those that are visible to a caller, those that are not, and those of the runtime.
    pub fn new<'t>(all: impl IntoIterator<Item = &'t Arc<Tool>>, is_visible: impl Fn(&Tool) -> bool) -> Self {
        let mut pool = Self::default();
        for tool in all {
            let tool = Arc::clone(tool);
            if tool.name.is_of_runtime() {
                pool.runtime.push(tool);
            } else if is_visible(&tool) {
                pool.usable.push(tool);
            } else {
                pool.denied.push(tool);
            }
        }
        for tools in [&mut pool.usable, &mut pool.denied, &mut pool.runtime] {
            tools.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.fingerprint().cmp(&b.fingerprint())));
        }
        pool
    }

    /// Adds the samplers that a task may name. They choose from the tools of the catalogue that this pool has too; the
    /// sources of these tools are recorded with conversations.
    pub fn with_samplers(mut self, samplers: Samplers, catalogue: Catalogue) -> Self {
        self.samplers = Some((samplers, catalogue));
        self
    }

    /// Builds the samplers of a task, after the check that there are tools for all kinds.
    pub(crate) fn prepare(mut self, settings: &GenerateSettings) -> Result<Self, PipelineError> {
        self.check(settings)?;
        if let Some((samplers, catalogue)) = &self.samplers {
            self.mixes = Mixes::new(settings, samplers, catalogue, |kind, of_kind| {
                let tools = self.candidates(kind, of_kind).into_iter();
                tools
                    .map(|tool| ToolKey { name: tool.name.clone(), fingerprint: tool.fingerprint() })
                    .collect()
            })?;
        } else if settings.has_samplers() {
            let message =
                "there is no catalogue for samplers; add one by `ToolPool::with_samplers`".to_owned();
            return Err(PipelineError::Setting { key: "samplers".to_owned(), message });
        }
        Ok(self)
    }

    /// Checks that there are tools for all kinds of a mix.
    fn check(&self, settings: &GenerateSettings) -> Result<(), PipelineError> {
        for (kind, weight) in settings.kinds() {
            if weight.weight() <= 0.0 {
                continue;
            }
            let needed = match kind {
                Kind::Denied if self.candidates(kind, &weight).is_empty() => "a tool that the policy denies",
                Kind::Discovery if !self.has_runtime(SEARCH_TOOLS) || !self.has_runtime(EXECUTE_TOOL) => {
                    "the tools `search_tools` and `execute_tool`"
                }
                Kind::LongResult if !self.has_runtime(READ_RESULT) => "the tool `read_result`",
                Kind::Irrelevant => continue,
                _ if self.candidates(kind, &weight).is_empty() => "a tool that fits it",
                _ => continue,
            };
            return Err(PipelineError::NoTools { kind, needed });
        }
        Ok(())
    }

    fn has_runtime(&self, name: &str) -> bool {
        self.runtime.iter().any(|tool| tool.name.name() == name)
    }

    /// Returns the tools that a plan of a kind may call.
    fn candidates(&self, kind: Kind, settings: &KindSettings) -> Vec<&Arc<Tool>> {
        // A tool may be denied for some arguments only; those are named by the task.
        let all = if kind == Kind::Denied && settings.tools().is_empty() {
            self.denied.iter().chain(&[])
        } else if kind == Kind::Denied {
            self.denied.iter().chain(&self.usable)
        } else {
            self.usable.iter().chain(&[])
        };
        all.filter(|tool| fits(settings.tools(), &tool.name)).collect()
    }

    /// Creates an item: its kind, its tools and its number of turns depend on the seed of the run and on its number.
    pub(crate) fn item(&self, index: u64, settings: &GenerateSettings) -> Item {
        let seed = Random::derive(settings.seed, index);
        let mut random = Random::new(seed);
        let (kind, of_kind) = kind(index, settings);
        let sampled = self.mixes.sample(kind, seed).unwrap_or_else(|| {
            let plannable = self.sample(kind, &of_kind, settings.tools.get(), &mut random);
            Ok(SampledTools { offered: plannable.clone(), plannable })
        });
        let (SampledTools { plannable, offered }, outcome) = match sampled {
            Ok(tools) => (tools, None),
            Err(error) => {
                let (stage, reason) = (StageKind::Scenario, "no_sample".to_owned());
                let dropped = Dropped { stage, reason, detail: error.to_string() };
                (SampledTools::default(), Some(ItemOutcome::Dropped(dropped)))
            }
        };
        let runtime = |names: &[&str]| {
            let tools = self.runtime.iter().filter(|tool| names.contains(&tool.name.name()));
            tools.map(|tool| ConversationTool::from(tool.as_ref())).collect::<Vec<_>>()
        };
        let tools = match kind {
            Kind::Discovery => runtime(&[SEARCH_TOOLS, EXECUTE_TOOL]),
            Kind::LongResult => offered.into_iter().chain(runtime(&[READ_RESULT])).collect(),
            _ => offered,
        };
        let turns = match kind {
            Kind::MultiTurn => {
                let least = settings.min_turns.get().max(2);
                let most = settings.max_turns.get().max(least);
                least + u32::try_from(random.below((most - least + 1) as usize)).unwrap_or_default()
            }
            _ => 1,
        };
        let id = format!("{:x}-{index}", settings.seed);
        let provenance = Provenance { sources: self.sources(&plannable), ..Provenance::default() };
        let conversation = Conversation { seed, tools, provenance, ..Conversation::new(id, kind) };
        Item {
            index,
            conversation,
            plannable,
            persona: String::new(),
            scenario: String::new(),
            plan: Vec::new(),
            omitted: None,
            alternative: None,
            query: None,
            turns,
            complete_turns: 0,
            complete_messages: 0,
            session: SessionState::default(),
            next_stage: 0,
            usage: toolcrib_agent::chat::Usage::default(),
            outcome,
        }
    }

    /// Returns the sources of tools, each once.
    fn sources(&self, tools: &[ConversationTool]) -> Vec<String> {
        let Some((_, catalogue)) = &self.samplers else { return Vec::new() };
        let of_tool = |tool: &ConversationTool| {
            let fingerprint = Fingerprint::of(&tool.parameters);
            let entry = catalogue.get(&ToolKey { name: tool.name.clone(), fingerprint })?;
            Some(entry.source.to_string())
        };
        tools.iter().filter_map(of_tool).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Chooses tools with different names: for a kind with a list of tools, only these.
    fn sample(
        &self,
        kind: Kind,
        of_kind: &KindSettings,
        count: usize,
        random: &mut Random,
    ) -> Vec<ConversationTool> {
        let candidates = self.candidates(kind, of_kind);
        let count = count.min(candidates.len());
        let chosen = random.distinct(count, candidates.len());
        let tools = chosen.into_iter().filter_map(|at| candidates.get(at));
        tools.map(|tool| ConversationTool::from(tool.as_ref())).collect()
    }
}

/// Returns the kind of an item. The items of each prefix of a run have the kinds in proportion to their weights, not only
/// on average: their places in the mix are the multiples of the golden ratio, modulo 1, which leave no large gaps (the
/// three-distance theorem).
fn kind(index: u64, settings: &GenerateSettings) -> (Kind, KindSettings) {
    /// The golden ratio without its whole part, as a fraction of 2^64.
    const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
    let place = settings.seed.wrapping_add(index).wrapping_mul(GOLDEN_RATIO);
    let kinds: Vec<_> = settings.kinds().into_iter().collect();
    let weights: Vec<f64> = kinds.iter().map(|(_, settings)| settings.weight()).collect();
    let chosen = crate::seed::weighted_at(place, &weights).and_then(|at| kinds.into_iter().nth(at));
    chosen.unwrap_or((Kind::Single, KindSettings::Weight(1.0)))
}

/// Returns true if a name fits one of the patterns, or there is no pattern.
fn fits(patterns: &[String], name: &QualifiedName) -> bool {
    let fits_one = |pattern: &String| match pattern.strip_suffix("::*") {
        Some(namespace) => namespace == name.namespace(),
        None => *pattern == name.to_string() || *pattern == name.dotted(),
    };
    patterns.is_empty() || patterns.iter().any(fits_one)
}
