//! Injection modes: the forms in which tools are presented to a model.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::QualifiedName;
use toolcrib_schema::Profile;

use crate::system_prompt::call_style::CallStyle;
use crate::{Error, Tokenizer};

/// The default size of the context window, in tokens.
pub const DEFAULT_CONTEXT_WINDOW: u32 = 131_072;

/// The default share of the context window, from 0 to 1, that tools may take.
pub const DEFAULT_TOOL_BUDGET: f64 = 0.2;

/// The default cost of a tool, in tokens, if nothing is counted.
pub const DEFAULT_TOKENS_PER_TOOL: u32 = 200;

/// The part of the budget that a list of tools may take if it was not requested: a quarter. A list is read again with
/// each request, used or not; a search costs tokens only when it is made.
const LIST_PART: u64 = 4;

/// The most tokens of operational tools if not all tools are offered. Beyond it, those that are not essential have to
/// be found. In a small window the bound is the part of the budget that a list may take.
const MAX_OPERATIONAL_TOKENS: u64 = 2_000;

/// The injection mode that the settings ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum InjectionMode {
    /// The mode that the budget allows, see [`Plan`](crate::Plan).
    #[default]
    Auto,
    /// Direct, of any size.
    Direct,
    /// Compact, of any size.
    Compact,
    /// Discovery, of any size.
    Discovery,
    /// Mixed, of any size.
    Mixed,
    /// Native, of any size. Only for models whose API defers tools.
    Native,
}

/// The injection mode that was chosen. Each mode includes the schemas of pinned tools, and of operational tools that
/// are essential or fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Injection {
    /// Each tool with its schema.
    Direct,
    /// Each tool with its name and the first sentence of its description, and the tools that read schemas and make
    /// calls.
    Compact,
    /// The tools that find and run others.
    Discovery,
    /// The tools of discovery mode, and a list of the tools that fit.
    Mixed,
    /// The tool that searches. The API of the model loads the tools that it finds, and the model calls them by name.
    Native,
}

/// The source of the sizes that the decision depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Estimate {
    /// Sizes counted on what is sent.
    Payload,
    /// A fixed number of tokens for each tool. Only direct and discovery mode are considered then.
    PerTool(u32),
}

/// The form in which a model calls a tool that it found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Reveal {
    /// Through the tool that runs others: the prompt before the conversation never changes.
    #[default]
    Execute,
    /// Also directly: after its schema was read, the tool is appended to the tools that are offered. Only for models
    /// that call tools through their API.
    Append,
}

/// The settings that the choice of an injection mode depends on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InjectionSettings {
    /// The requested mode; `auto` by default.
    pub mode: InjectionMode,
    /// The context window of the model, in tokens; [`DEFAULT_CONTEXT_WINDOW`] by default.
    pub context_window: u32,
    /// The share of the window, from 0 to 1, that tools may take; [`DEFAULT_TOOL_BUDGET`] by default.
    pub tool_budget: f64,
    /// The source of sizes; counted by default.
    pub estimate: Estimate,
    /// The tokenizer that counts texts; an estimate by default.
    pub tokenizer: Tokenizer,
    /// The tools that are always sent with their schemas.
    pub pinned: BTreeSet<QualifiedName>,
    /// The form in which the model calls tools; through its API by default.
    pub style: CallStyle,
    /// The JSON Schema dialect that the API accepts; unrestricted by default, as in a prompt.
    pub profile: Option<Profile>,
    /// The form in which the model calls a tool that it found; through the tool that runs others by default.
    pub reveal: Reveal,
    /// True if the tools are for a client with a separate agent, rather than for an agent of the app. Such a client is
    /// offered only those operational tools that make calls and read results.
    pub for_client: bool,
    /// True if the API of the model defers tools, so that native mode is possible; false by default.
    pub defers_tools: bool,
    /// True if the model can run scripts. Direct mode then also declares the tools in TypeScript; false by default.
    pub scripts: bool,
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
            defers_tools: false,
            scripts: false,
        }
    }
}

impl InjectionSettings {
    /// Returns the tokens that tools may take, rounded down.
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

/// Returns the tokens that a list of tools may take if it was not requested.
pub(crate) fn list_budget(budget: u64) -> u64 {
    budget / LIST_PART
}

/// Returns the tokens that operational tools may take.
pub(crate) fn operational_budget(budget: u64) -> u64 {
    list_budget(budget).min(MAX_OPERATIONAL_TOKENS)
}

impl Injection {
    /// Returns `direct`, `compact`, `discovery`, `mixed` or `native`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Compact => "compact",
            Self::Discovery => "discovery",
            Self::Mixed => "mixed",
            Self::Native => "native",
        }
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
