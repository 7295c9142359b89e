//! Fields of an object argument that a call gives next to that argument.

use serde_json::Value;
use toolcrib_model::text::pointer_part;
use toolcrib_model::{JsonObject, Schema, Tool};
use toolcrib_schema::Repair;
use toolcrib_schema::repair::Change;

/// Keywords that let a schema accept arguments beyond its `properties`, or describe them elsewhere.
const OPEN_KEYWORDS: [&str; 7] =
    ["additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref"];

/// The maximum number of references to the schema of an argument.
const MAX_REFERENCES: usize = 4;

/// Moves unknown arguments into the one object argument that has fields of these names, and returns a repair for each.
/// If more than one argument matches, or if a field is given twice, the call stays as it is, for the schema to refuse.
pub(crate) fn nest_fields(tool: &Tool, arguments: &mut JsonObject) -> Vec<Repair> {
    let Some(root) = tool.parameters.as_object() else { return Vec::new() };
    let is_closed =
        OPEN_KEYWORDS.iter().all(|key| root.get(*key).is_none_or(|value| value == &Value::Bool(false)));
    let Some(properties) = root.get("properties").and_then(Value::as_object).filter(|_| is_closed) else {
        return Vec::new();
    };
    let stray: Vec<String> =
        arguments.keys().filter(|name| !properties.contains_key(*name)).cloned().collect();
    if stray.is_empty() {
        return Vec::new();
    }
    let takes_all = |schema: &Value| {
        let fields = fields(schema, &tool.parameters);
        fields.is_some_and(|fields| stray.iter().all(|name| fields.contains_key(name)))
    };
    let mut meant = properties.iter().filter(|(_, schema)| takes_all(schema)).map(|(name, _)| name);
    let (Some(target), None) = (meant.next(), meant.next()) else { return Vec::new() };
    let given = match arguments.get(target) {
        None => JsonObject::new(),
        Some(Value::Object(given)) if stray.iter().all(|name| !given.contains_key(name)) => given.clone(),
        Some(_) => return Vec::new(),
    };
    let mut object = given;
    let mut repairs = Vec::with_capacity(stray.len());
    for name in stray {
        let Some(value) = arguments.shift_remove(&name) else { continue };
        let path = format!("/{}/{}", pointer_part(target), pointer_part(&name));
        let from = Value::from(format!("/{}", pointer_part(&name)));
        repairs.push(Repair {
            path: path.clone(),
            change: Change::Moved,
            from: Some(from),
            to: Some(path.into()),
        });
        object.insert(name, value);
    }
    arguments.insert(target.clone(), object.into());
    repairs
}

/// Returns the properties of an object schema, which may be behind a reference into the schema of all arguments.
fn fields<'a>(schema: &'a Value, root: &'a Schema) -> Option<&'a JsonObject> {
    let mut schema = schema;
    for _ in 0..MAX_REFERENCES {
        let Some(reference) = schema.get("$ref") else { break };
        schema = root.pointer(reference.as_str()?.strip_prefix('#')?)?;
    }
    schema.get("properties")?.as_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_model::QualifiedName;

    use super::*;

    fn moved(parameters: Value, arguments: &Value) -> (Value, usize) {
        let tool = Tool::new(QualifiedName::new("sms", "send").unwrap()).with_parameters(parameters);
        let mut arguments = arguments.as_object().unwrap().clone();
        let repairs = nest_fields(&tool, &mut arguments);
        (arguments.into(), repairs.len())
    }

    #[test]
    fn fields_of_a_body_are_placed_into_it_where_that_is_the_only_reading() {
        let body = json!({"type": "object", "properties": {"To": {"type": "string"}, "Channel": {}}});
        let schema = json!({"type": "object", "properties": {"Sid": {}, "body": body}});
        let flat = json!({"Sid": "VA1", "To": "+33", "Channel": "sms"});
        let placed = json!({"Sid": "VA1", "body": {"To": "+33", "Channel": "sms"}});
        assert_eq!(moved(schema.clone(), &flat), (placed.clone(), 2));
        let partly = json!({"Sid": "VA1", "To": "+33", "body": {"Channel": "sms"}});
        assert_eq!(moved(schema.clone(), &partly).1, 1);
        let referred = json!({
            "properties": {"Sid": {}, "body": {"$ref": "#/$defs/Form"}}, "$defs": {"Form": body},
            "additionalProperties": false,
        });
        assert_eq!(moved(referred, &flat), (placed, 2));
        // What may be meant in two ways, or is no field, stays for the schema to refuse.
        let two = json!({"properties": {"Sid": {}, "body": body, "other": body}});
        let open = json!({"properties": {"Sid": {}, "body": body}, "additionalProperties": true});
        for schema in [two, open] {
            assert_eq!(moved(schema, &flat), (flat.clone(), 0));
        }
        for odd in [
            json!({"To": "+33", "Tone": 1}),
            json!({"To": "+33", "body": {"To": "+34"}}),
            json!({"To": "+33", "body": "x"}),
        ] {
            assert_eq!(moved(schema.clone(), &odd), (odd, 0));
        }
    }
}
