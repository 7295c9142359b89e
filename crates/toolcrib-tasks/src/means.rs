//! The parts of an app that tasks can use, and the schemas that offer them to models.

use serde_json::Value;

/// The parts of an app that tasks can use. The tools that make tasks offer nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskMeans {
    /// True if there are agents that take prompts.
    pub agents: bool,
    /// True if there are channels that send messages.
    pub channels: bool,
}

impl Default for TaskMeans {
    fn default() -> Self {
        Self { agents: true, channels: true }
    }
}

/// The type of the action that gives an agent a prompt.
const PROMPT_ACTION: &str = "llm_prompt";

impl TaskMeans {
    /// Takes the arguments out of a schema for which the app has nothing.
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

/// Returns true for the variant of the action that gives an agent a prompt.
fn is_prompt(variant: &Value) -> bool {
    variant == PROMPT_ACTION
        || variant.pointer("/properties/type/const").is_some_and(|kind| kind == PROMPT_ACTION)
}
