//! The tools that a model is offered in a conversation. They may become more, and never others.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use toolcrib_model::JsonObject;
use toolcrib_prompt::OfferedTool;

use super::settings::AgentSettings;
use crate::Message;
use crate::chat::{DeferredTools, ToolFunction};

/// The most tools that are added to those that are offered from the beginning.
const MAX_REVEALED_TOOLS: usize = 64;

/// The most tools that searches load in a conversation. Each takes tokens only where a search found it.
pub(super) const MAX_LOADED_TOOLS: usize = 512;

/// The tools of the plan, and behind them those that were looked at in the conversation, in the order in which they
/// were. Where the API of the model defers tools, those that were found are apart.
#[derive(Debug)]
pub(super) struct Offer<'a> {
    settings: &'a AgentSettings,
    tools: Cow<'a, [ToolFunction]>,
    loaded: Vec<ToolFunction>,
    revealed: BTreeMap<&'a str, &'a OfferedTool>,
}

impl<'a> Offer<'a> {
    /// Returns the tools to offer at this point of a conversation.
    pub(super) fn new(settings: &'a AgentSettings, messages: &[Message]) -> Self {
        let mut offer = Self {
            settings,
            tools: Cow::Borrowed(&settings.tools),
            loaded: Vec::new(),
            revealed: BTreeMap::new(),
        };
        for message in messages {
            match message {
                Message::Assistant { tool_calls, .. } => {
                    for call in tool_calls {
                        if let Ok(Value::Object(arguments)) = serde_json::from_str(&call.arguments) {
                            offer.observe(&call.name, &arguments);
                        }
                    }
                }
                Message::Tool { loads, .. } => {
                    offer.load(loads.iter().map(String::as_str));
                }
                _ => {}
            }
        }
        offer
    }

    pub(super) fn tools(&self) -> &[ToolFunction] {
        &self.tools
    }

    /// Returns the tools that searches have loaded, where the API of the model defers tools.
    pub(super) fn deferred(&self) -> Option<DeferredTools<'_>> {
        let search = self.settings.search_tool.as_deref()?;
        Some(DeferredTools { search, loaded: &self.loaded })
    }

    /// Takes in a call, which may ask for the schema of a tool.
    pub(super) fn observe(&mut self, wire_name: &str, arguments: &JsonObject) {
        for tool in self.settings.reveals.by_call(wire_name, arguments) {
            if self.revealed.len() < MAX_REVEALED_TOOLS
                && self.revealed.insert(&tool.wire_name, tool).is_none()
            {
                self.tools.to_mut().push(ToolFunction::from(tool));
            }
        }
    }

    /// Loads the deferred tools with these names, in any spelling, and returns their wire names; none where the API of
    /// the model does not defer tools.
    pub(super) fn load<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Vec<String> {
        let mut loads = Vec::new();
        if self.settings.search_tool.is_none() {
            return loads;
        }
        for tool in names.flat_map(|name| self.settings.reveals.named(name)) {
            if !self.revealed.contains_key(tool.wire_name.as_str()) {
                if self.loaded.len() == MAX_LOADED_TOOLS {
                    continue;
                }
                self.revealed.insert(&tool.wire_name, tool);
                self.loaded.push(ToolFunction::from(tool));
            }
            if !loads.contains(&tool.wire_name) {
                loads.push(tool.wire_name.clone());
            }
        }
        loads
    }

    /// Returns true for the name, in any spelling, of a deferred tool that is not loaded.
    pub(super) fn is_unloaded(&self, name: &str) -> bool {
        let is_loaded = |tool: &OfferedTool| self.revealed.contains_key(tool.wire_name.as_str());
        let mut named = self.settings.reveals.named(name).peekable();
        self.settings.search_tool.is_some() && named.peek().is_some() && !named.any(is_loaded)
    }

    /// Returns the arguments of a call under the names that its tool has for them.
    pub(super) fn restored(&self, wire_name: &str, arguments: JsonObject) -> JsonObject {
        match self.revealed.get(wire_name) {
            Some(tool) => tool.restore(arguments),
            None => self.settings.restored(wire_name, arguments),
        }
    }
}
