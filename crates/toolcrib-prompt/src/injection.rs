//! How tools are put before a model, as it is wanted and as it is decided.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::QualifiedName;
use toolcrib_schema::Profile;

use crate::{CallStyle, Error, Tokenizer};

/// Tokens that a model takes in where nobody says.
pub const DEFAULT_CONTEXT_WINDOW: u32 = 131_072;

/// The share of the context window, of 1, that tools may take where nobody says.
pub const DEFAULT_TOOL_BUDGET: f64 = 0.2;

/// What a tool is taken to cost, in tokens, where nothing is counted and nobody says.
pub const DEFAULT_TOKENS_PER_TOOL: u32 = 200;

/// The part of the budget that a list of tools may take where it was not asked for: a quarter. A list is read again with
/// each request, whether anything of it is used or not; a search costs only who searches.
const LIST_PART: u64 = 4;

/// The most tokens of the tools that belong to the running of an agent, where not all tools are offered: beyond it, those that
/// are not essential have to be found. In a small window it is the part of the budget that a list may take.
pub const MAX_OPERATIONAL_TOKENS: u64 = 2_000;

/// How tools are to be put before the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum InjectionMode {
    /// What the budget allows, see [`Plan`](crate::Plan).
    #[default]
    Auto,
    /// Direct, however large.
    Direct,
    /// Compact, however large.
    Compact,
    /// Discovery, however small.
    Discovery,
    /// Mixed, however small.
    Mixed,
}

/// The way in which tools are put before the model, as decided. Pinned tools come with their schemas in each, and so do
/// operational tools that are essential or have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Injection {
    /// Each tool with its schema.
    Direct,
    /// Each tool with its name and the first sentence of its description, and the tools by which schemas are read and
    /// calls are made.
    Compact,
    /// The tools by which others are found and run.
    Discovery,
    /// These, and a list of as many tools as there is room for.
    Mixed,
}

/// How sizes are known that the decision depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Estimate {
    /// Counted on what is sent.
    Payload,
    /// So many tokens for each tool. Of the modes only direct and discovery are decided for then.
    PerTool(u32),
}

/// How a tool is called that was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Reveal {
    /// Through the tool that runs others: what stands before the conversation never changes.
    #[default]
    Execute,
    /// Also like the others: when its schema was read, it is added behind the tools that are offered. Only for models that
    /// call through their API.
    Append,
}

/// What the decision depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct InjectionSettings {
    /// What is wanted; `auto` by default.
    pub mode: InjectionMode,
    /// Tokens that the model takes in; [`DEFAULT_CONTEXT_WINDOW`] by default.
    pub context_window: u32,
    /// The share of the window, of 1, that tools may take; [`DEFAULT_TOOL_BUDGET`] by default.
    pub tool_budget: f64,
    /// How sizes are known; counted by default.
    pub estimate: Estimate,
    /// What texts are counted with; an estimate by default.
    pub tokenizer: Tokenizer,
    /// Tools that always come with their schemas.
    pub pinned: BTreeSet<QualifiedName>,
    /// How the model calls tools; through its API by default.
    pub style: CallStyle,
    /// What the API accepts as a schema; anything by default, as in a prompt.
    pub profile: Option<Profile>,
    /// How a tool is called that was found; through the tool that runs others by default.
    pub reveal: Reveal,
    /// True if the tools are for a client with a separate agent, rather than for an agent of the app. Of the operational tools,
    /// it is offered those that make calls and read results.
    pub for_client: bool,
}

impl Default for InjectionSettings {
    fn default() -> Self {
        Self {
            mode: InjectionMode::Auto,
            context_window: DEFAULT_CONTEXT_WINDOW,
            tool_budget: DEFAULT_TOOL_BUDGET,
            estimate: Estimate::Payload,
            tokenizer: Tokenizer::Estimate,
            pinned: BTreeSet::new(),
            style: CallStyle::Native,
            profile: None,
            reveal: Reveal::Execute,
            for_client: false,
        }
    }
}

impl InjectionSettings {
    /// The tokens that tools may take, rounded down.
    pub fn budget_tokens(&self) -> Result<u32, Error> {
        /// Far below a token, and above the error of a product of 32-bit sizes: 0.29 × 100 is 29, not 28.
        const ROUNDING: f64 = 1e-6;
        let share = self.tool_budget;
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::ToolBudget { share });
        }
        let tokens = (f64::from(self.context_window) * share + ROUNDING).floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the window"
        )]
        let tokens = tokens as u32;
        Ok(tokens)
    }
}

/// The tokens that a list of tools may take where it was not asked for.
pub(crate) fn list_budget(budget: u64) -> u64 {
    budget / LIST_PART
}

/// The tokens that the tools may take that belong to the running of an agent.
pub(crate) fn operational_budget(budget: u64) -> u64 {
    list_budget(budget).min(MAX_OPERATIONAL_TOKENS)
}

impl Injection {
    /// `direct`, `compact`, `discovery` or `mixed`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Compact => "compact",
            Self::Discovery => "discovery",
            Self::Mixed => "mixed",
        }
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
