//! The types of arguments, for formats that name one type for each.

use serde_json::Value;
use toolcrib_schema::CompiledSchema;

use crate::conversation::{Call, ConversationTool};
use crate::validate::tools::resolved;

/// The maximum depth of compositions that are followed.
const MAX_DEPTH: usize = 8;

/// Returns the name of the only type that the values of a schema have apart from null; `None` if they have several
/// types, or the schema does not say. `root` has the definitions.
pub(super) fn json_type<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a str> {
    type_at(root, schema, 0)
}

fn type_at<'a>(root: &'a Value, schema: &'a Value, depth: usize) -> Option<&'a str> {
    if depth > MAX_DEPTH {
        return None;
    }
    let schema = resolved(root, schema);
    let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array).map(Vec::as_slice);
    match schema.get("type") {
        Some(Value::String(name)) => return only([Some(name.as_str())]),
        Some(Value::Array(names)) => return only(names.iter().map(|name| name.as_str())),
        _ => {}
    }
    if let Some(values) = list("enum") {
        return only(values.iter().map(|value| Some(type_of(value))));
    }
    if let Some(value) = schema.get("const") {
        return only([Some(type_of(value))]);
    }
    if let Some(parts) = list("anyOf").or_else(|| list("oneOf")) {
        let is_null = |part: &&Value| part.get("type").is_some_and(|kind| kind == "null");
        return only(parts.iter().filter(|part| !is_null(part)).map(|part| type_at(root, part, depth + 1)));
    }
    if let Some(parts) = list("allOf") {
        return only(parts.iter().filter_map(|part| type_at(root, part, depth + 1)).map(Some));
    }
    let has = |keyword: &str| schema.get(keyword).is_some();
    let implied = [("properties", "object"), ("items", "array")];
    implied.into_iter().find_map(|(keyword, name)| has(keyword).then_some(name))
}

/// Returns the type that all of these are, apart from null.
fn only<'a>(types: impl IntoIterator<Item = Option<&'a str>>) -> Option<&'a str> {
    let mut types = types.into_iter().filter(|name| *name != Some("null"));
    let first = types.next()??;
    types.all(|name| name == Some(first)).then_some(first)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns one tool of each name, for formats without overloads: the one that the first call of its name fits.
pub(super) fn without_overloads<'a>(
    tools: &'a [ConversationTool],
    calls: &[Call],
) -> Vec<&'a ConversationTool> {
    let mut chosen: Vec<&ConversationTool> = Vec::new();
    for tool in tools {
        if chosen.iter().any(|other| other.name == tool.name) {
            continue;
        }
        let name = tool.name.to_string();
        let call = calls.iter().find(|call| call.name == name);
        let fits = |tool: &&ConversationTool| {
            let schema = CompiledSchema::compile(&tool.parameters).ok();
            schema.zip(call).is_some_and(|(schema, call)| schema.validate(&call.arguments).is_ok())
        };
        let overloads: Vec<&ConversationTool> =
            tools.iter().filter(|other| other.name == tool.name).collect();
        let fitting = if overloads.len() > 1 { overloads.into_iter().find(fits) } else { None };
        chosen.push(fitting.unwrap_or(tool));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::json_type;

    #[test]
    fn a_type_is_found_behind_references_choices_and_null() {
        let root = json!({"$defs": {"city": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}}});
        for (schema, expected) in [
            (json!({"type": ["integer", "null"]}), Some("integer")),
            (json!({"type": ["integer", "string"]}), None),
            (json!({"$ref": "#/$defs/city"}), Some("string")),
            (json!({"anyOf": [{"$ref": "#/$defs/city"}, {"type": "null"}]}), Some("string")),
            (json!({"anyOf": [{"type": "string"}, {"type": "number"}]}), None),
            (json!({"anyOf": [{"type": "string"}, {}]}), None),
            (json!({"allOf": [{"$ref": "#/$defs/city"}, {"minLength": 1}]}), Some("string")),
            (json!({"enum": ["low", "high"]}), Some("string")),
            (json!({"enum": ["low", 1]}), None),
            (json!({"properties": {}}), Some("object")),
            (json!({"$ref": "#/$defs/loop"}), None),
            (json!({"type": "null"}), None),
            (json!(true), None),
        ] {
            assert_eq!(json_type(&root, &schema), expected, "{schema}");
        }
    }
}
