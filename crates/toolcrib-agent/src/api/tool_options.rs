//! The forms in which tools are sent that only some APIs have.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The keywords of schemas that all APIs can keep calls to.
const STRICT_KEYWORDS: [&str; 9] = [
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "type",
];

/// The forms in which tools are sent that only some APIs have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolOptions {
    /// True if the server keeps calls to the schemas that it can keep them to: `strict` of the Messages and the Responses
    /// API. False by default.
    pub strict: bool,
    /// True if the server streams arguments as they are written, before it knows that they are JSON:
    /// `eager_input_streaming` of the Messages API. False by default.
    pub eager_streaming: bool,
    /// The tools whose only argument is sent as a free text, and the names of these arguments, by the wire names of the
    /// tools: `custom` tools of the Responses API. Empty by default.
    pub text_arguments: BTreeMap<String, String>,
}

impl ToolOptions {
    /// Returns true if the server is to keep calls of a tool to its schema.
    pub(super) fn is_strict(&self, schema: &Value) -> bool {
        self.strict && is_strict(schema)
    }

    /// Returns the name of the argument that a tool takes as a free text.
    pub(super) fn text_argument(&self, wire_name: &str) -> Option<&str> {
        self.text_arguments.get(wire_name).map(String::as_str)
    }
}

/// Returns true if an API can keep calls to a schema: each object has all of its properties and no others, and there is no
/// keyword that an API does not enforce.
fn is_strict(schema: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return false };
    let all =
        |values: Option<&Value>| values.and_then(Value::as_array).is_none_or(|all| all.iter().all(is_strict));
    let is_complete = || {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &String| required.is_some_and(|names| names.iter().any(|known| known == name));
        schema.get("additionalProperties") == Some(&Value::Bool(false))
            && properties.is_none_or(|properties| {
                properties.keys().all(is_required) && properties.values().all(is_strict)
            })
    };
    let is_object = schema.contains_key("properties") || schema.get("type") == Some(&json!("object"));
    schema.keys().all(|key| STRICT_KEYWORDS.contains(&key.as_str()))
        && schema.get("items").is_none_or(is_strict)
        && all(schema.get("anyOf"))
        && (!is_object || is_complete())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_strict_if_every_object_has_all_of_its_properties_and_no_others() {
        let object = |required: Value, rest: Value| {
            let mut schema = json!({
                "type": "object", "additionalProperties": false, "required": required,
                "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"enum": [1, 2]}}},
            });
            schema.as_object_mut().unwrap().append(&mut rest.as_object().unwrap().clone());
            schema
        };
        assert!(is_strict(&object(json!(["a", "b"]), json!({}))));
        assert!(is_strict(&json!({"type": "object", "properties": {}, "additionalProperties": false})));
        for loose in [
            object(json!(["a"]), json!({})),
            object(json!(["a", "b"]), json!({"additionalProperties": true})),
            object(json!(["a", "b"]), json!({"minProperties": 1})),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            json!({"type": "array", "items": {"type": "object"}}),
            json!({"anyOf": [{"type": "string", "default": "a"}]}),
            json!(true),
        ] {
            assert!(!is_strict(&loose), "{loose}");
        }
    }
}
