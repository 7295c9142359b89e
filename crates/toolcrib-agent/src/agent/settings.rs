//! What an agent is.

use std::collections::BTreeMap;

use toolcrib_model::JsonObject;
use toolcrib_prompt::{DEFAULT_CONTEXT_WINDOW, DiscoveryStep, OfferedTool, Plan, Reveals, WireNames};

use super::limits::RunLimits;
use super::room::DEFAULT_COMPACT_AT;
use crate::{ToolChoice, ToolFunction};

/// The smallest share of the context window from which on room can be made.
const LEAST_COMPACT_AT: f64 = 0.1;

/// What an agent is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentSettings {
    /// Its id.
    pub name: String,
    /// The model's name at its provider.
    pub model: String,
    /// The rendered system prompt.
    pub system_prompt: String,
    /// The tools that the model is offered.
    pub tools: Vec<ToolFunction>,
    /// The same, by their wire names, to turn back the names of arguments.
    offered: BTreeMap<String, OfferedTool>,
    /// Those that are offered when they have been looked at.
    pub(super) reveals: Reveals,
    /// The names of all tools that it may use, offered or not.
    pub wire_names: WireNames,
    /// Tokens that the model takes in; [`DEFAULT_CONTEXT_WINDOW`] by default.
    pub context_window: u32,
    /// The share of them from which on room is made in the conversation; [`DEFAULT_COMPACT_AT`] by default.
    pub compact_at: f64,
    /// Whether the model sees the pictures of results; `false` by default, and then it is told of them.
    pub sees_pictures: bool,
    /// Whether the model's server wants back what the model thought before it called tools; `false` by default.
    pub returns_reasoning: bool,
    /// Whether the first turn of a run may or must call tools; the later ones decide for themselves.
    pub tool_choice: ToolChoice,
    /// How far a run may go.
    pub limits: RunLimits,
}

impl AgentSettings {
    /// An agent that is offered the tools of a plan, with the default limits.
    pub fn new(
        name: impl Into<String>,
        model: impl Into<String>,
        plan: &Plan,
        wire_names: WireNames,
    ) -> Self {
        Self {
            name: name.into(),
            model: model.into(),
            system_prompt: String::new(),
            tools: plan.offered.iter().map(ToolFunction::from).collect(),
            offered: plan.offered.iter().map(|tool| (tool.wire_name.clone(), tool.clone())).collect(),
            reveals: plan.reveals(),
            wire_names,
            context_window: DEFAULT_CONTEXT_WINDOW,
            compact_at: DEFAULT_COMPACT_AT,
            sees_pictures: false,
            returns_reasoning: false,
            tool_choice: ToolChoice::Auto,
            limits: RunLimits::default(),
        }
    }

    /// The arguments of a call under the names that its tool has for them.
    pub(crate) fn restored(&self, wire_name: &str, arguments: JsonObject) -> JsonObject {
        match self.offered.get(wire_name) {
            Some(tool) => tool.restore(arguments),
            None => arguments,
        }
    }

    /// At which step of finding and running others a tool serves, when it is one of those.
    pub(crate) fn step_of(&self, wire_name: &str) -> Option<DiscoveryStep> {
        self.offered.get(wire_name).and_then(|tool| tool.step)
    }

    /// Sets the system prompt.
    pub fn with_system_prompt(mut self, system_prompt: impl Into<String>) -> Self {
        self.system_prompt = system_prompt.into();
        self
    }

    /// Sets how many tokens the model takes in.
    pub fn with_context_window(mut self, context_window: u32) -> Self {
        self.context_window = context_window;
        self
    }

    /// Sets from which share of the context window on room is made in the conversation.
    pub fn with_compact_at(mut self, share: f64) -> Self {
        // What is no number changes nothing.
        if !share.is_nan() {
            self.compact_at = share.clamp(LEAST_COMPACT_AT, 1.0);
        }
        self
    }

    /// Sets whether the model sees the pictures of results.
    pub fn with_pictures(mut self, sees_pictures: bool) -> Self {
        self.sees_pictures = sees_pictures;
        self
    }

    /// Sets whether what the model thought is sent back to it.
    pub fn with_returned_reasoning(mut self, returns_reasoning: bool) -> Self {
        self.returns_reasoning = returns_reasoning;
        self
    }

    /// Sets whether the first turn may or must call tools.
    pub fn with_tool_choice(mut self, tool_choice: ToolChoice) -> Self {
        self.tool_choice = tool_choice;
        self
    }

    /// Sets how far a run may go.
    pub fn with_limits(mut self, limits: RunLimits) -> Self {
        self.limits = limits;
        self
    }
}
