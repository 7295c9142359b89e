//! The settings of an agent.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolcrib_model::JsonObject;
use toolcrib_model::tool::DiscoveryStep;
use toolcrib_prompt::injection::DEFAULT_CONTEXT_WINDOW;
use toolcrib_prompt::{OfferedTool, Plan, Reveals, WireNames};

use super::limits::DEFAULT_COMPACT_AT;
use super::limits::RunLimits;
use crate::chat::{OutputSchema, ToolChoice, ToolFunction};

/// The smallest share of the context window above which a conversation can be compacted.
const LEAST_COMPACT_AT: f64 = 0.1;

/// The settings of an agent.
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
    /// Those that are offered when they have been looked at, or found.
    pub(super) reveals: Reveals,
    /// The wire name of the tool that searches, where the API of the model loads what it finds.
    pub(super) search_tool: Option<String>,
    /// The names of all tools that it may use, offered or not.
    pub wire_names: WireNames,
    /// Tokens that the model takes in; [`DEFAULT_CONTEXT_WINDOW`] by default.
    pub context_window: u32,
    /// The share of the context window above which the conversation is compacted; [`DEFAULT_COMPACT_AT`] by default.
    pub compact_at: f64,
    /// True if the model sees the pictures of results; `false` by default, and then a text mentions them.
    pub sees_pictures: bool,
    /// True if the model's server expects the reasoning before tool calls to be sent back; `false` by default.
    pub returns_reasoning: bool,
    /// The tool choice of the first turn of a run; later turns are free to call tools or not.
    pub tool_choice: ToolChoice,
    /// The schema of the answers; none by default.
    pub output_schema: Option<Arc<OutputSchema>>,
    /// The limits of a run.
    pub limits: RunLimits,
}

impl AgentSettings {
    /// Creates an agent that is offered the tools of a plan, with the default limits.
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
            search_tool: plan.search_tool().map(|tool| tool.wire_name.clone()),
            wire_names,
            context_window: DEFAULT_CONTEXT_WINDOW,
            compact_at: DEFAULT_COMPACT_AT,
            sees_pictures: false,
            returns_reasoning: false,
            tool_choice: ToolChoice::Auto,
            output_schema: None,
            limits: RunLimits::default(),
        }
    }

    /// Returns the arguments of a call under the names that its tool has for them.
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

    /// Sets the share of the context window above which the conversation is compacted.
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

    /// Sets the schema of the answers. The system prompt of requests tells the model of it. An answer that does not
    /// conform is repaired as the arguments of calls are, or the model is asked once more; the report has the value as
    /// [`output`](super::RunReport::output).
    pub fn with_output_schema(mut self, schema: impl Into<Option<Arc<OutputSchema>>>) -> Self {
        self.output_schema = schema.into();
        self
    }

    /// Sets how far a run may go.
    pub fn with_limits(mut self, limits: RunLimits) -> Self {
        self.limits = limits;
        self
    }
}
