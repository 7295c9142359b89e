//! The template of a call of a tool that is not shown.

use serde_json::{Map, Value, json};
use toolcrib_model::tool::DiscoveryStep;

use super::call_style::CallStyle;
use crate::{OfferedTool, Plan};

/// The most arguments of a template.
const MAX_ARGUMENTS: usize = 8;

/// The most characters of the name of an argument in a template.
const MAX_NAME_CHARS: usize = 60;

/// Returns a template of the call that runs other tools, in the notation of the style; empty if there is no such tool.
pub(super) fn hints(plan: &Plan, style: CallStyle) -> String {
    let mut runners = plan.offered.iter().filter(|tool| tool.step == Some(DiscoveryStep::Execute));
    runners.next().map_or_else(String::new, |tool| {
        let (name, arguments) = (&tool.wire_name, Value::Object(template(tool)));
        match style {
            CallStyle::Native => format!("Call template: {name} {arguments}"),
            // The only notation that the prompt asks for.
            CallStyle::Text => {
                let call = json!({"name": name, "arguments": arguments});
                format!("Call template: <tool_call>{call}</tool_call>")
            }
        }
    })
}

/// Returns the arguments that each call needs: those that are required, and the arguments of the other tool.
fn template(tool: &OfferedTool) -> Map<String, Value> {
    let parameters = tool.parameters();
    let properties = parameters.get("properties").and_then(Value::as_object).into_iter().flatten();
    let required = parameters.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_needed = |name: &str, schema: &Value| {
        required.iter().any(|required| required == name)
            || schema.get("type").is_some_and(|kind| kind == "object")
    };
    let short =
        properties.filter(|(name, schema)| name.chars().count() <= MAX_NAME_CHARS && is_needed(name, schema));
    short.take(MAX_ARGUMENTS).map(|(name, schema)| (name.clone(), placeholder(name, schema))).collect()
}

/// Returns a value that describes the argument it replaces.
fn placeholder(name: &str, schema: &Value) -> Value {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => json!({"argument": "value"}),
        Some("array") => json!([]),
        Some("integer" | "number") => json!(0),
        Some("boolean") => json!(false),
        _ => json!(format!("tool {name}")),
    }
}
