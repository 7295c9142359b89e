//! How tools are put before a model, as it is wanted and as it is decided.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::Error;

/// How tools are to be put before the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum InjectionMode {
    /// Direct while all tools fit the budget, else discovery.
    #[default]
    Auto,
    /// Direct, however large.
    Direct,
    /// Discovery, however small.
    Discovery,
}

/// How tools are put before the model, as decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Injection {
    /// Each tool with its schema.
    Direct,
    /// The tools by which others are found and run, and those that are always shown.
    Discovery,
}

/// What the decision depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InjectionSettings {
    /// What is wanted; `auto` when absent.
    pub mode: InjectionMode,
    /// Tokens that the model takes in; 131,072 when absent.
    pub context_window: u32,
    /// The share of the window, of 1, that tools may take; 0.2 when absent.
    #[serde(deserialize_with = "share")]
    pub tool_budget: f64,
    /// What a tool is taken to cost, in tokens; 200 when absent.
    pub tokens_per_tool: u32,
}

impl Default for InjectionSettings {
    fn default() -> Self {
        Self { mode: InjectionMode::Auto, context_window: 131_072, tool_budget: 0.2, tokens_per_tool: 200 }
    }
}

impl InjectionSettings {
    /// The tokens that tools may take, rounded down.
    pub fn budget_tokens(&self) -> Result<u32, Error> {
        /// Far below a token, and above the error of a product of 32-bit sizes: 0.29 × 100 is 29, not 28.
        const ROUNDING: f64 = 1e-6;
        let share = checked_share(self.tool_budget)?;
        let tokens = (f64::from(self.context_window) * share + ROUNDING).floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the window"
        )]
        let tokens = tokens as u32;
        Ok(tokens)
    }

    /// What so many tools are taken to cost, in tokens.
    pub fn tokens_of(&self, tools: usize) -> u64 {
        per_tool(tools, self.tokens_per_tool)
    }

    /// How so many tools are put before the model: directly when they are taken to cost no more than the budget.
    pub fn decide(&self, tools: usize) -> Result<Injection, Error> {
        let budget = self.budget_tokens()?;
        Ok(match self.mode {
            InjectionMode::Direct => Injection::Direct,
            InjectionMode::Auto if self.tokens_of(tools) <= u64::from(budget) => Injection::Direct,
            InjectionMode::Auto | InjectionMode::Discovery => Injection::Discovery,
        })
    }
}

impl Injection {
    /// `direct` or `discovery`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Discovery => "discovery",
        }
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

pub(crate) fn per_tool(tools: usize, tokens: u32) -> u64 {
    u64::try_from(tools).unwrap_or(u64::MAX).saturating_mul(tokens.into())
}

fn checked_share(share: f64) -> Result<f64, Error> {
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(Error::ToolBudget { share }) }
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    checked_share(f64::deserialize(deserializer)?).map_err(de::Error::custom)
}
