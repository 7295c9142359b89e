//! Calls that are equivalent to a call of another tool.

use std::sync::Arc;

use crate::{JsonObject, Tool};

/// The call of another tool that every call of a tool is equivalent to, such as `mcp.call_tool` with a server and one
/// of its tools. The rules and the limits of that tool apply to both calls.
#[derive(Clone, Debug, PartialEq)]
pub struct EquivalentCall {
    /// The other tool.
    pub tool: Arc<Tool>,
    /// The source of the other tool, whose limits apply.
    pub source: Arc<str>,
    /// The arguments of the other tool that are the same in each call.
    pub fixed: JsonObject,
    /// The argument of the other tool that holds the arguments of the call.
    pub arguments_key: String,
}

impl EquivalentCall {
    /// Returns the arguments of the other tool for a call with these arguments.
    pub fn arguments(&self, own: &JsonObject) -> JsonObject {
        let mut arguments = self.fixed.clone();
        arguments.insert(self.arguments_key.clone(), own.clone().into());
        arguments
    }

    /// Returns the arguments of the tool for an equivalent call of the other tool; `None` if that call is not
    /// equivalent.
    pub fn own_arguments(&self, arguments: &JsonObject) -> Option<JsonObject> {
        if self.fixed.iter().any(|(key, value)| arguments.get(key) != Some(value)) {
            return None;
        }
        match arguments.get(&self.arguments_key) {
            None => Some(JsonObject::new()),
            Some(own) => own.as_object().cloned(),
        }
    }
}
