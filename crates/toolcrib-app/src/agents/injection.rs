//! The settings of the app file for the injection of tools into an agent's context.

use std::num::NonZeroU32;

use toolcrib_agent::chat::ToolChoice;
use toolcrib_prompt::injection::{DEFAULT_TOKENS_PER_TOOL, Estimate};
use toolcrib_prompt::{InjectionSettings, Tokenizer, WireNames};

use super::caller_view::CallerView;
use crate::sections::agents::{AgentConfig, ToolChoiceConfig};
use crate::sections::runtime::{RuntimeSection, SizeEstimate};

/// Returns the settings on which the decision depends for an agent, whose model has this context window.
pub(super) fn settings(
    runtime: &RuntimeSection,
    agent: Option<(&AgentConfig, u32)>,
    view: &CallerView<'_>,
) -> InjectionSettings {
    let mut settings = InjectionSettings::default();
    settings.mode = runtime.tool_injection;
    settings.tool_budget = runtime.tool_budget.unwrap_or(settings.tool_budget);
    settings.estimate = match (runtime.estimate, runtime.tokens_per_tool) {
        (Some(SizeEstimate::Payload), _) | (None, None) => Estimate::Payload,
        (_, tokens) => Estimate::PerTool(tokens.map_or(DEFAULT_TOKENS_PER_TOOL, NonZeroU32::get)),
    };
    settings.reveal = runtime.reveal;
    let tool_choice = agent.and_then(|(agent, _)| agent.brain.tool_choice.as_ref());
    let chosen = tool_choice.map(ToolChoiceConfig::tools).unwrap_or_default();
    // A call of a chosen tool is asked for, so the model has to see it.
    let pinned = runtime.pinned.iter().chain(chosen);
    settings.pinned = pinned.filter_map(|spelling| view.named(spelling)).collect();
    if let Some((agent, context_window)) = agent {
        settings.context_window = context_window;
        settings.tokenizer = Tokenizer::of_model(&agent.brain.model);
        settings.style = agent.brain.call_style();
        settings.profile = agent.profile();
        settings.defers_tools = agent.undeferred().is_none();
    }
    settings
}

/// Returns the tool choice of an agent, by the names that its model knows.
pub(super) fn tool_choice(
    agent: Option<&AgentConfig>,
    view: &CallerView<'_>,
    wire_names: &WireNames,
) -> Result<ToolChoice, String> {
    let wire_name = |spelling: &String| {
        let named = view.named(spelling);
        let wire_name = named.as_ref().and_then(|name| wire_names.wire_name(name));
        wire_name
            .map(ToOwned::to_owned)
            .ok_or_else(|| format!("`tool_choice` names an unknown tool `{spelling}`; see `toolcrib tools`"))
    };
    match agent.and_then(|agent| agent.brain.tool_choice.as_ref()) {
        None | Some(ToolChoiceConfig::Auto) => Ok(ToolChoice::Auto),
        Some(ToolChoiceConfig::None) => Ok(ToolChoice::None),
        Some(ToolChoiceConfig::Required) => Ok(ToolChoice::Required),
        Some(ToolChoiceConfig::Tool(spelling)) => wire_name(spelling).map(ToolChoice::Tool),
        Some(ToolChoiceConfig::OneOf(names)) => {
            names.iter().map(wire_name).collect::<Result<_, _>>().map(ToolChoice::OneOf)
        }
    }
}
