//! The section `generate` of a task file.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::JsonObject;

use crate::Kind;
use crate::hygiene::DEFAULT_SIMILARITY;
use crate::writer::{Format, NameStyle};

/// The most tools of one conversation.
pub const MAX_TOOLS: usize = 64;

/// The most conversations that are generated at the same time.
pub const MAX_PARALLEL: usize = 256;

/// The most turns of one conversation.
pub const MAX_TURNS: u32 = 20;

/// `generate`: a task of data generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GenerateSettings {
    /// The subject of the conversations, which the prompts repeat.
    pub description: String,
    /// The number of conversations.
    pub num_outputs: NonZeroU32,
    /// The seed of all random choices. Equal tasks with equal seeds choose equal tools and kinds.
    pub seed: u64,
    /// The id of the agent whose model runs the stages that name no other; by default the first agent.
    pub model: Option<String>,
    /// The kinds of conversations with their weights; by default only `single`.
    pub kinds: BTreeMap<Kind, KindSettings>,
    /// The number of tools that a conversation is about, at most 64. Fewer if the app has fewer.
    pub tools: NonZeroUsize,
    /// The samplers that choose the tools of conversations, each `{type: …}` with its settings, and their weights; by
    /// default `{type: random}`.
    pub samplers: Vec<SamplerSettings>,
    /// The smallest number of turns of a conversation.
    pub min_turns: NonZeroU32,
    /// The largest number of turns of a conversation of the kind `multi_turn`, at most 20.
    pub max_turns: NonZeroU32,
    /// The stages in their order; by default `persona`, `scenario`, `plan`, `utterance`, `verify`, `search`,
    /// `clarify`, `error_turn`, `execute`, `answer`, `filter`.
    pub stages: Vec<StageSettings>,
    /// The number of conversations that are generated at the same time, at most 256.
    pub parallel: NonZeroUsize,
    /// The number of replies that a stage asks a model for until one can be used.
    pub attempts: NonZeroU32,
    /// The number of conversations that may be started for each one that is needed.
    pub starts_per_output: NonZeroU32,
    /// The form of a reply that models are asked for by `response_format`.
    pub response_format: ReplyForm,
    /// The longest time that a model may take for one reply, in seconds.
    pub reply_timeout_seconds: NonZeroU32,
    /// The limits on what the models may use.
    pub budget: BudgetSettings,
    /// The file that the conversations are written to, relative to the task file.
    pub output: Option<String>,
    /// The format of the file.
    pub format: Format,
    /// The spelling of tool names; by default that of the format.
    pub names: Option<NameStyle>,
    /// The conversations that are left out of the file.
    pub hygiene: HygieneSettings,
    /// The licences of sources for the data card, by the names of the sources in `toolcrib tools --json`.
    pub licences: BTreeMap<String, String>,
}

impl Default for GenerateSettings {
    fn default() -> Self {
        let number = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let size = |size: usize| NonZeroUsize::new(size).unwrap_or(NonZeroUsize::MIN);
        Self {
            description: String::new(),
            num_outputs: number(20),
            seed: 0,
            model: None,
            kinds: BTreeMap::new(),
            tools: size(4),
            samplers: Vec::new(),
            min_turns: number(1),
            max_turns: number(3),
            stages: Vec::new(),
            parallel: size(4),
            attempts: number(3),
            starts_per_output: number(10),
            response_format: ReplyForm::default(),
            reply_timeout_seconds: number(120),
            budget: BudgetSettings::default(),
            output: None,
            format: Format::default(),
            names: None,
            hygiene: HygieneSettings::default(),
            licences: BTreeMap::new(),
        }
    }
}

impl GenerateSettings {
    /// Returns the kinds with their weights and tools.
    pub fn kinds(&self) -> BTreeMap<Kind, KindSettings> {
        if self.kinds.is_empty() {
            return BTreeMap::from([(Kind::Single, KindSettings::Weight(1.0))]);
        }
        self.kinds.clone()
    }

    /// Returns true if a kind has samplers.
    pub(crate) fn has_samplers(&self) -> bool {
        !self.samplers.is_empty() || self.kinds.values().any(|kind| !kind.samplers().is_empty())
    }

    /// Returns the stages in their order.
    pub fn stages(&self) -> Vec<StageSettings> {
        if self.stages.is_empty() {
            return DEFAULT_STAGES.into_iter().map(StageSettings::new).collect();
        }
        self.stages.clone()
    }

    /// Returns the maximum number of conversations that a run starts.
    pub(crate) fn max_starts(&self) -> u64 {
        u64::from(self.num_outputs.get()).saturating_mul(self.starts_per_output.get().into())
    }

    /// Returns the part of the settings that decides about the content of conversations. A run can be resumed as long as
    /// it is equal.
    pub(crate) fn content(&self) -> String {
        let mut content = self.clone();
        let limits = Self::default();
        content.num_outputs = limits.num_outputs;
        content.parallel = limits.parallel;
        content.starts_per_output = limits.starts_per_output;
        content.reply_timeout_seconds = limits.reply_timeout_seconds;
        content.budget = limits.budget;
        content.output = None;
        content.format = limits.format;
        content.names = limits.names;
        content.hygiene = limits.hygiene;
        content.licences = limits.licences;
        serde_json::json!(content).to_string()
    }

    /// Returns the first key whose value cannot be used, and what is wrong with it.
    pub fn problem(&self) -> Option<(&'static str, String)> {
        let too_many = |key, value: usize, most: usize| {
            (value > most).then(|| (key, format!("`{key}` is {value}; it may be {most} at most")))
        };
        let stages = self.stages();
        let has = |kind| stages.iter().any(|stage| stage.kind == kind);
        let lacking = [StageKind::Plan, StageKind::Utterance, StageKind::Execute, StageKind::Answer]
            .into_iter()
            .find(|kind| !has(*kind))
            .map(|kind| ("stages", format!("the stage `{}` is missing", kind.name())));
        let kinds = self.kinds();
        let needs = |kind: Kind| kinds.get(&kind).is_some_and(|settings| settings.weight() > 0.0);
        let lacking_of_kind =
            STAGES_OF_KINDS.iter().find(|(kind, stage)| needs(*kind) && !has(*stage)).map(|(kind, stage)| {
                ("stages", format!("the kind `{}` needs the stage `{}`", kind.name(), stage.name()))
            });
        let lacking_of_format = (self.format == Format::Preferences && !has(StageKind::Preference))
            .then(|| ("stages", "the format `preferences` needs the stage `preference`".to_owned()));
        let weights = kinds.values().map(KindSettings::weight).collect::<Vec<_>>();
        let is_usable = |weight: &f64| weight.is_finite() && *weight >= 0.0;
        let weightless = (!weights.iter().all(is_usable) || weights.iter().sum::<f64>() <= 0.0)
            .then(|| ("kinds", "weights are numbers from 0, and one of them is positive".to_owned()));
        let mixes = std::iter::once(&self.samplers[..]).chain(kinds.values().map(KindSettings::samplers));
        let has_no_weight = |mix: &[SamplerSettings]| {
            let weights = mix.iter().map(|sampler| sampler.weight);
            !mix.is_empty()
                && (!weights.clone().all(|weight| is_usable(&weight)) || weights.sum::<f64>() <= 0.0)
        };
        let weightless_samplers = mixes
            .clone()
            .any(has_no_weight)
            .then(|| ("samplers", "weights are numbers from 0, and one of them is positive".to_owned()));
        let counts = mixes.flatten().filter_map(|sampler| sampler.count);
        let order = (self.min_turns > self.max_turns)
            .then(|| ("min_turns", "`min_turns` is larger than `max_turns`".to_owned()));
        let turns = usize::try_from(self.max_turns.get()).unwrap_or(usize::MAX);
        too_many("tools", self.tools.get(), MAX_TOOLS)
            .or_else(|| {
                too_many("samplers", counts.map(NonZeroUsize::get).max().unwrap_or_default(), MAX_TOOLS)
            })
            .or(weightless_samplers)
            .or_else(|| too_many("parallel", self.parallel.get(), MAX_PARALLEL))
            .or_else(|| too_many("max_turns", turns, MAX_TURNS as usize))
            .or(lacking)
            .or(lacking_of_kind)
            .or(lacking_of_format)
            .or(weightless)
            .or(order)
    }
}

/// The form of a reply that models are asked for. The prompts ask for a JSON object too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReplyForm {
    /// JSON that fits the schema of the stage.
    #[default]
    JsonSchema,
    /// A JSON object.
    JsonObject,
    /// Text of any form, for servers that know no `response_format`.
    Text,
}

/// A kind in the mix: its weight, or its weight with the tools that it plans calls of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a weight, or a mapping with `weight`, `tools` and `samplers`")]
#[non_exhaustive]
pub enum KindSettings {
    /// The weight.
    Weight(f64),
    /// The weight and the tools.
    Tools {
        /// The weight.
        weight: f64,
        /// The tools that the conversations are about: `namespace::name`, or `namespace::*` for all of a namespace. By
        /// default all that fit the kind.
        #[serde(default)]
        tools: Vec<String>,
        /// The samplers that choose among these tools; by default those of `generate.samplers`.
        #[serde(default)]
        samplers: Vec<SamplerSettings>,
    },
}

/// A sampler in a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SamplerSettings {
    /// The type: `random`, `chain`, `fan_out`, `fan_in`, `dag`, `neighbor`, `conflict`, `sparse`, or one that an
    /// extension adds.
    #[serde(rename = "type")]
    pub kind: String,
    /// The weight in the mix.
    #[serde(default = "one")]
    pub weight: f64,
    /// The number of tools; by default `generate.tools`. If the app has fewer, that is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<NonZeroUsize>,
    /// The settings of the type.
    #[serde(flatten)]
    pub settings: JsonObject,
}

fn one() -> f64 {
    1.0
}

impl SamplerSettings {
    /// Returns the settings with the type, as [`Samplers::build`](crate::sampler::Samplers::build) reads them.
    pub(crate) fn of_type(&self) -> Value {
        let mut settings = self.settings.clone();
        settings.insert("type".to_owned(), self.kind.as_str().into());
        Value::Object(settings)
    }
}

impl KindSettings {
    /// Returns the weight.
    pub(crate) fn weight(&self) -> f64 {
        match self {
            Self::Weight(weight) | Self::Tools { weight, .. } => *weight,
        }
    }

    /// Returns the samplers; none for those of all kinds.
    pub(crate) fn samplers(&self) -> &[SamplerSettings] {
        match self {
            Self::Weight(_) => &[],
            Self::Tools { samplers, .. } => samplers,
        }
    }

    /// Returns the patterns of the tools; none if all tools fit.
    pub(crate) fn tools(&self) -> &[String] {
        match self {
            Self::Weight(_) => &[],
            Self::Tools { tools, .. } => tools,
        }
    }
}

/// The limits on what the models of a run may use. A run that reaches one stops, and can be resumed with a higher one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BudgetSettings {
    /// The number of tokens, read and written.
    pub tokens: Option<NonZeroU64>,
    /// The cost, in the currency of the prices of the models.
    pub cost: Option<f64>,
}

/// The conversations that are left out of a data set. Others take their place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HygieneSettings {
    /// The similarity from which on a conversation is a near duplicate of an earlier one, from 0 to 1. None is if it is
    /// larger.
    pub near_duplicates: f64,
    /// Files with texts that models are evaluated with, relative to the task file. A conversation that repeats one is
    /// left out. Each line is a text; if it is JSON, each text in it.
    pub decontamination: Vec<String>,
}

impl Default for HygieneSettings {
    fn default() -> Self {
        Self { near_duplicates: DEFAULT_SIMILARITY, decontamination: Vec::new() }
    }
}

/// A stage of the pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StageSettings {
    /// The type of the stage.
    #[serde(rename = "type")]
    pub kind: StageKind,
    /// The file of its prompt, relative to the task file; by default the built-in prompt.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The id of the agent whose model it asks.
    #[serde(default)]
    pub model: Option<String>,
    /// The number of judges of the stage `filter`, all of whom must accept; by default none.
    #[serde(default)]
    pub votes: u32,
}

impl StageSettings {
    /// Creates a stage with the built-in prompt.
    pub fn new(kind: StageKind) -> Self {
        Self { kind, prompt: None, model: None, votes: 0 }
    }
}

/// The types of stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StageKind {
    /// Describes the user.
    Persona,
    /// Describes the situation of the user.
    Scenario,
    /// Plans the calls of a turn.
    Plan,
    /// Writes the message of the user.
    Utterance,
    /// Plans again from the message of the user, and compares.
    Verify,
    /// Writes the words by which the assistant searches for the planned tool.
    Search,
    /// Asks the user for what the message lacks.
    Clarify,
    /// Adds a wrong call whose result says how to correct it.
    ErrorTurn,
    /// Makes the planned calls.
    Execute,
    /// Writes the answer of the assistant.
    Answer,
    /// Validates the conversation, and lets judges vote.
    Filter,
    /// Adds a worse answer for a preference pair.
    Preference,
}

const DEFAULT_STAGES: [StageKind; 11] = [
    StageKind::Persona,
    StageKind::Scenario,
    StageKind::Plan,
    StageKind::Utterance,
    StageKind::Verify,
    StageKind::Search,
    StageKind::Clarify,
    StageKind::ErrorTurn,
    StageKind::Execute,
    StageKind::Answer,
    StageKind::Filter,
];

/// The stages that single kinds need.
const STAGES_OF_KINDS: [(Kind, StageKind); 4] = [
    (Kind::MissingParameter, StageKind::Clarify),
    (Kind::Ambiguous, StageKind::Clarify),
    (Kind::ErrorRecovery, StageKind::ErrorTurn),
    (Kind::Discovery, StageKind::Search),
];

impl StageKind {
    /// Returns the name in task files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::Scenario => "scenario",
            Self::Plan => "plan",
            Self::Utterance => "utterance",
            Self::Verify => "verify",
            Self::Search => "search",
            Self::Clarify => "clarify",
            Self::ErrorTurn => "error_turn",
            Self::Execute => "execute",
            Self::Answer => "answer",
            Self::Filter => "filter",
            Self::Preference => "preference",
        }
    }

    /// Returns true for the stages that each turn of a conversation repeats.
    pub(crate) fn is_of_turn(self) -> bool {
        !matches!(self, Self::Persona | Self::Scenario | Self::Filter | Self::Preference)
    }

    /// Returns the built-in prompt; `None` for a stage that asks no model.
    pub(crate) fn prompt(self) -> Option<&'static str> {
        Some(match self {
            Self::Persona => include_str!("prompts/persona.md"),
            Self::Scenario => include_str!("prompts/scenario.md"),
            Self::Plan => include_str!("prompts/plan.md"),
            Self::Utterance => include_str!("prompts/utterance.md"),
            Self::Verify => include_str!("prompts/verify.md"),
            Self::Search => include_str!("prompts/search.md"),
            Self::Clarify => include_str!("prompts/clarify.md"),
            Self::ErrorTurn => include_str!("prompts/error_turn.md"),
            Self::Answer => include_str!("prompts/answer.md"),
            Self::Filter => include_str!("prompts/filter.md"),
            Self::Preference => include_str!("prompts/preference.md"),
            Self::Execute => return None,
        })
    }
}
