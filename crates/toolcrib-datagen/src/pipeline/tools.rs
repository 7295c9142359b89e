//! The tools of a run: those that conversations offer, and those that a policy denies.

use std::sync::Arc;

use toolcrib_meta::names::{EXECUTE_TOOL, SEARCH_TOOLS};
use toolcrib_model::name::{NAMESPACE_SEPARATOR, RUNTIME_NAMESPACE};
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_results::READ_RESULT;

use super::error::PipelineError;
use super::item::Item;
use super::settings::{GenerateSettings, KindSettings};
use crate::conversation::{Conversation, ConversationTool};
use crate::seed::Random;
use crate::session::SessionState;
use crate::{Kind, conversation};

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

    /// Checks that there are tools for all kinds of a mix.
    pub(crate) fn check(&self, settings: &GenerateSettings) -> Result<(), PipelineError> {
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
        let plannable = self.sample(kind, &of_kind, settings.tools.get(), &mut random);
        let runtime = |names: &[&str]| {
            let tools = self.runtime.iter().filter(|tool| names.contains(&tool.name.name()));
            tools.map(|tool| ConversationTool::from(tool.as_ref())).collect::<Vec<_>>()
        };
        let tools = match kind {
            Kind::Discovery => runtime(&[SEARCH_TOOLS, EXECUTE_TOOL]),
            Kind::LongResult => plannable.iter().cloned().chain(runtime(&[READ_RESULT])).collect(),
            _ => plannable.clone(),
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
        let conversation = Conversation { seed, tools, ..conversation::Conversation::new(id, kind) };
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
            outcome: None,
        }
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
