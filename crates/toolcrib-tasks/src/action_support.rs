//! The kinds of actions that an app supports, and the schemas that offer them to models.

use serde_json::Value;

/// The kinds of actions that an app supports. The tools that create tasks offer only these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionSupport {
    /// True if the app has agents to prompt.
    pub agents: bool,
    /// True if the app has channels to send messages by.
    pub channels: bool,
}

impl Default for ActionSupport {
    fn default() -> Self {
        Self { agents: true, channels: true }
    }
}

/// The `type` of the action that prompts an agent.
const PROMPT_ACTION: &str = "llm_prompt";

impl ActionSupport {
    /// Removes the arguments that the app does not support from a schema.
    pub(crate) fn fit(self, schema: &mut Value) {
        match schema {
            Value::Object(map) => {
                if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
                    properties.retain(|name, _| {
                        (self.agents || name != "prompt") && (self.channels || name != "channel")
                    });
                }
                for key in ["enum", "oneOf"] {
                    if let Some(Value::Array(variants)) = map.get_mut(key) {
                        variants.retain(|variant| self.agents || !is_prompt(variant));
                    }
                }
                map.values_mut().for_each(|value| self.fit(value));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.fit(item)),
            _ => {}
        }
    }
}

/// Returns true for the variant of the action that prompts an agent.
fn is_prompt(variant: &Value) -> bool {
    variant == PROMPT_ACTION
        || variant.pointer("/properties/type/const").is_some_and(|kind| kind == PROMPT_ACTION)
}
