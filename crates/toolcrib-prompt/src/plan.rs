//! The decision what a model is offered, and what it costs.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_model::Tool;
use toolcrib_schema::Profile;

use crate::injection::per_tool;
use crate::offer::Role;
use crate::{Error, Injection, InjectionSettings, OfferedTool, WireNames};

/// What a tool costs, in tokens, when only its name and the first sentence of its description are shown.
pub const COMPACT_TOKENS_PER_TOOL: u32 = 30;

/// What a model is offered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// How tools are put before the model.
    pub mode: Injection,
    /// Tokens that the model takes in.
    pub context_window: u32,
    /// Tokens that tools may take.
    pub budget_tokens: u32,
    /// What the ways of showing the tools cost.
    pub tokens: PlanTokens,
    /// How many visible tools there are, without the runtime's own.
    pub tool_count: usize,
    /// The namespaces of these tools, sorted.
    pub domains: Vec<String>,
    /// The tools that are offered: the runtime's own in the order in which they came, then the others by name. The
    /// order in which sources load makes no difference, so that a request begins as the one before it.
    pub offered: Vec<OfferedTool>,
}

/// Tokens of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlanTokens {
    /// All tools with their schemas: tools × `tokens_per_tool`, the figure of the decision.
    pub direct: u64,
    /// All tools in one line each: tools × [`COMPACT_TOKENS_PER_TOOL`].
    pub compact: u64,
    /// The tools that are offered, estimated on what is sent.
    pub chosen: u64,
}

impl Plan {
    /// Decides for these tools, which are the visible ones and have their wire names.
    pub fn new<'a>(
        tools: impl IntoIterator<Item = &'a Tool>,
        settings: &InjectionSettings,
        wire_names: &WireNames,
    ) -> Result<Self, Error> {
        let (runtime, mut others): (Vec<_>, Vec<_>) =
            tools.into_iter().partition(|tool| wire_names.is_runtime(&tool.name));
        // Stable, so that overloads stay in their order.
        others.sort_by(|a, b| a.name.cmp(&b.name));
        let mode = settings.decide(others.len())?;
        let tool_count = others.len();
        let domains: BTreeSet<_> = others.iter().map(|tool| tool.name.namespace()).collect();
        let domains = domains.into_iter().map(str::to_owned).collect();

        let mut offered = Vec::new();
        for tool in runtime.into_iter().chain(others) {
            let role = Role::of(tool, wire_names.is_runtime(&tool.name));
            let is_offered = match mode {
                Injection::Direct => role != Role::Discovery,
                Injection::Discovery => role != Role::Tool,
            };
            if is_offered {
                let wire_name = wire_names
                    .wire_name_of(tool)
                    .ok_or_else(|| Error::NoWireName { name: tool.name.clone() })?;
                offered.push(OfferedTool::new(tool, wire_name, role));
            }
        }
        Ok(Self {
            mode,
            context_window: settings.context_window,
            budget_tokens: settings.budget_tokens()?,
            tokens: PlanTokens {
                direct: settings.tokens_of(tool_count),
                compact: per_tool(tool_count, COMPACT_TOKENS_PER_TOOL),
                chosen: chosen_tokens(&offered),
            },
            tool_count,
            domains,
            offered,
        })
    }

    /// Rewrites the schemas that are offered as an API accepts them; calls are still checked against the originals.
    /// [`OfferedTool::restore`] turns back what the model calls arguments then.
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.offered.iter_mut().for_each(|tool| tool.fit(profile));
        self.tokens.chosen = chosen_tokens(&self.offered);
        self
    }

    /// The plan as `toolcrib plan --json` prints it: `{"mode", "context_window", "budget_tokens",
    /// "tokens": {"direct", "compact", "chosen"}, "tools": [{"wire_name", "name", "description", "tokens"}],
    /// "system_prompt"}`, names as `namespace.name`.
    pub fn to_json(&self, system_prompt: &str) -> Value {
        let tools: Vec<_> = self
            .offered
            .iter()
            .map(|tool| {
                json!({
                    "wire_name": tool.wire_name,
                    "name": tool.name.dotted(),
                    "description": tool.description,
                    "tokens": tool.tokens(),
                })
            })
            .collect();
        json!({
            "mode": self.mode,
            "context_window": self.context_window,
            "budget_tokens": self.budget_tokens,
            "tokens": self.tokens,
            "tools": tools,
            "system_prompt": system_prompt,
        })
    }
}

fn chosen_tokens(offered: &[OfferedTool]) -> u64 {
    offered.iter().map(|tool| u64::from(tool.tokens())).sum()
}
