//! The tools that a model is offered in a conversation. They may become more, and never others.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use toolcrib_model::JsonObject;
use toolcrib_prompt::OfferedTool;

use super::settings::AgentSettings;
use crate::Message;
use crate::chat::ToolFunction;

/// The most tools that are added to those that are offered from the beginning.
const MAX_REVEALED_TOOLS: usize = 64;

/// The tools of the plan, and behind them those that were looked at in the conversation, in the order in which they
/// were.
#[derive(Debug)]
pub(super) struct Offer<'a> {
    settings: &'a AgentSettings,
    tools: Cow<'a, [ToolFunction]>,
    revealed: BTreeMap<&'a str, &'a OfferedTool>,
}

impl<'a> Offer<'a> {
    /// Returns the tools to offer at this point of a conversation.
    pub(super) fn new(settings: &'a AgentSettings, messages: &[Message]) -> Self {
        let mut offer = Self { settings, tools: Cow::Borrowed(&settings.tools), revealed: BTreeMap::new() };
        for message in messages {
            let Message::Assistant { tool_calls, .. } = message else { continue };
            for call in tool_calls {
                if let Ok(Value::Object(arguments)) = serde_json::from_str(&call.arguments) {
                    offer.observe(&call.name, &arguments);
                }
            }
        }
        offer
    }

    pub(super) fn tools(&self) -> &[ToolFunction] {
        &self.tools
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

    /// Returns the arguments of a call under the names that its tool has for them.
    pub(super) fn restored(&self, wire_name: &str, arguments: JsonObject) -> JsonObject {
        match self.revealed.get(wire_name) {
            Some(tool) => tool.restore(arguments),
            None => self.settings.restored(wire_name, arguments),
        }
    }
}
