//! Normalization of the arguments of tools that make a call later.

use serde_json::Value;
use toolcrib_model::{JsonObject, Tool, ToolError};
use toolcrib_policy::RUNTIME_NAMESPACE;

use super::{NAME_KEYS, PARAMS_KEYS, only_key, read, take_params, two_names};

/// The metadata with the arguments that describe the call: `{"name": the key of the tool's name}`, and under `within`
/// the argument that holds both.
const TARGET: &str = "target";

/// The arguments with the call that a tool makes later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeferredCall<'a> {
    name: &'a str,
    within: Option<&'a str>,
}

impl<'a> DeferredCall<'a> {
    /// Reads `target` of a tool's metadata. Only the runtime's own tools are trusted.
    pub(crate) fn of(tool: &'a Tool) -> Option<Self> {
        // The tools of schedules can be a separate module.
        if ![RUNTIME_NAMESPACE, SCHEDULER].contains(&tool.name.namespace()) {
            return None;
        }
        let target = tool.metadata.get(TARGET)?;
        let text = |key: &str| target.get(key).and_then(Value::as_str);
        Some(Self { name: text("name")?, within: text("within") })
    }

    /// Returns the arguments with the names of the tool's schema.
    pub(crate) fn normalize(self, mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
        let Some(within) = self.within else { return self.renamed(arguments) };
        let call = match arguments.get(within) {
            Some(Value::Object(call)) => call.clone(),
            Some(Value::String(text)) if text.trim_start().starts_with('{') => match read(text, within)? {
                Value::Object(call) => call,
                _ => return Ok(arguments),
            },
            _ => return Ok(arguments),
        };
        arguments.insert(within.to_owned(), self.renamed(call)?.into());
        Ok(arguments)
    }

    fn renamed(self, mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
        let given: Vec<&str> =
            NAME_KEYS.into_iter().filter(|key| arguments.get(*key).is_some_and(Value::is_string)).collect();
        match given.as_slice() {
            [] => return Ok(arguments),
            [key] => {
                if let Some(name) = arguments.shift_remove(*key) {
                    arguments.insert(self.name.to_owned(), name);
                }
            }
            several => return Err(two_names(several)),
        }
        if only_key(&arguments, &PARAMS_KEYS)?.is_some()
            && let Some(params) = take_params(&mut arguments)?
        {
            arguments.insert("params".to_owned(), params.into());
        }
        Ok(arguments)
    }
}

/// The namespace of the schedule tools as a module.
const SCHEDULER: &str = "scheduler";
