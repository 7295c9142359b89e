//! Output schemas in a form that the validators of all clients can read.

use serde_json::Value;
use toolcrib_model::{JsonObject, Tool};
use toolcrib_schema::CompiledSchema;

/// The maximum size of a declared schema that is served, in bytes of JSON.
const MAX_OUTPUT_SCHEMA_BYTES: usize = 32 * 1024;

/// The maximum depth of a served schema. Deeper subschemas accept anything.
const MAX_OUTPUT_SCHEMA_DEPTH: usize = 32;

/// The type names of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Returns the `outputSchema` of a tool whose results are objects.
///
/// Clients refuse results that do not fit it, and some refuse the whole list of tools for a pattern or a reference that
/// their validator cannot read. The schema therefore contains only the keywords that all validators interpret alike,
/// and accepts each result that the declared one accepts.
pub(super) fn output_schema(tool: &Tool) -> Option<JsonObject> {
    let is_object = tool.output_parameters.get("type").and_then(Value::as_str) == Some("object");
    let declared = tool.output_parameters.to_value();
    if !is_object || declared.to_string().len() > MAX_OUTPUT_SCHEMA_BYTES {
        return None;
    }
    // Results are not checked against a schema that does not compile, so clients must not check them either.
    CompiledSchema::compile(&declared).ok()?;
    let mut schema = loosened(&declared, 0);
    let whole = schema.clone();
    drop_broken_references(&mut schema, &whole);
    match schema {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}

/// Returns a schema of plain keywords that accepts everything that the given one accepts.
fn loosened(schema: &Value, depth: usize) -> Value {
    let Some(map) = schema.as_object() else { return schema.clone() };
    let is_scope = depth > 0 && ["$id", "id"].iter().any(|key| map.get(*key).is_some_and(Value::is_string));
    if is_scope || depth > MAX_OUTPUT_SCHEMA_DEPTH {
        return JsonObject::new().into();
    }
    if let Some(reference) = map.get("$ref") {
        // In drafts before 2019-09 the siblings of a reference are ignored.
        return JsonObject::from_iter([("$ref".to_owned(), reference.clone())]).into();
    }
    let mut plain = JsonObject::new();
    for (key, value) in map {
        if let Some((key, value)) = keyword(map, key, value, depth + 1) {
            plain.insert(key.to_owned(), value);
        }
    }
    plain.into()
}

/// Returns a keyword as it is served. Omitting one makes the schema accept more, unless another keyword depends on it.
fn keyword<'a>(map: &JsonObject, key: &'a str, value: &Value, depth: usize) -> Option<(&'a str, Value)> {
    let schemas = |value: &Value| {
        let schemas = value.as_array().filter(|schemas| !schemas.is_empty())?;
        Some(schemas.iter().map(|schema| loosened(schema, depth)).collect())
    };
    let served = match key {
        "type" => is_type(value).then(|| value.clone()),
        "title" | "description" => value.is_string().then(|| value.clone()),
        "const" => Some(value.clone()),
        "enum" => value.as_array().is_some_and(|values| !values.is_empty()).then(|| value.clone()),
        "required" => {
            value.as_array().is_some_and(|names| names.iter().all(Value::is_string)).then(|| value.clone())
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            value.is_number().then(|| value.clone())
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            value.is_u64().then(|| value.clone())
        }
        "properties" | "$defs" | "definitions" => {
            let schemas = value.as_object()?.iter();
            Some(schemas.map(|(name, schema)| (name.clone(), loosened(schema, depth))).collect())
        }
        "items" if !value.is_array() && !map.contains_key("prefixItems") => Some(loosened(value, depth)),
        "additionalProperties" if !map.contains_key("patternProperties") => Some(loosened(value, depth)),
        "anyOf" | "allOf" => schemas(value),
        // Several of the loosened alternatives may accept one value.
        "oneOf" if !map.contains_key("anyOf") => return Some(("anyOf", schemas(value)?)),
        _ => None,
    };
    served.map(|value| (key, value))
}

fn is_type(value: &Value) -> bool {
    let is_name = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    is_name(value) || value.as_array().is_some_and(|names| !names.is_empty() && names.iter().all(is_name))
}

/// Replaces references to omitted subschemas by schemas that accept anything.
fn drop_broken_references(schema: &mut Value, whole: &Value) {
    match schema {
        Value::Object(map) => {
            let pointer = map.get("$ref").and_then(Value::as_str).map(|text| text.strip_prefix('#'));
            if pointer.is_some_and(|pointer| pointer.is_none_or(|text| whole.pointer(text).is_none())) {
                map.clear();
            }
            map.values_mut().for_each(|value| drop_broken_references(value, whole));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_broken_references(item, whole)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_model::QualifiedName;

    use super::*;

    fn served(schema: Value) -> Option<Value> {
        let tool = Tool::new(QualifiedName::new("shop", "price").unwrap()).with_output_parameters(schema);
        output_schema(&tool).map(Value::Object)
    }

    #[test]
    fn a_served_output_schema_has_only_keywords_that_all_validators_read_alike() {
        let declared = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://example.com/price",
            "type": "object",
            "properties": {
                "price": {"type": "number", "minimum": 0, "multipleOf": 0.01, "description": "In euro."},
                "code": {"type": "string", "pattern": "^x+$", "format": "date", "maxLength": 9},
                "of": {"oneOf": [{"type": "string", "format": "uuid"}, {"type": "string"}]},
                "next": {"$ref": "#/$defs/next"},
                "pair": {"prefixItems": [{"type": "string"}], "items": false},
                "named": {"patternProperties": {"^x": {}}, "additionalProperties": false},
                "inner": {"$id": "https://example.com/inner", "type": "string"},
                "lost": {"$ref": "#/properties/pair/prefixItems/0"},
            },
            "required": ["price"],
            "not": {"required": ["discount"]},
            "$defs": {"next": {"type": ["object", "null"], "properties": {"next": {"$ref": "#/$defs/next"}}}},
        });
        let plain = json!({
            "type": "object",
            "properties": {
                "price": {"type": "number", "minimum": 0, "description": "In euro."},
                "code": {"type": "string", "maxLength": 9},
                "of": {"anyOf": [{"type": "string"}, {"type": "string"}]},
                "next": {"$ref": "#/$defs/next"},
                "pair": {},
                "named": {},
                "inner": {},
                "lost": {},
            },
            "required": ["price"],
            "$defs": {"next": {"type": ["object", "null"], "properties": {"next": {"$ref": "#/$defs/next"}}}},
        });
        assert_eq!(served(declared), Some(plain));
    }

    #[test]
    fn a_schema_that_is_not_of_objects_or_not_valid_is_not_served() {
        for schema in [json!({}), json!({"type": "array"}), json!({"type": "object", "required": "all"})] {
            assert_eq!(served(schema.clone()), None, "{schema}");
        }
        let long = json!({"type": "object", "description": "x".repeat(MAX_OUTPUT_SCHEMA_BYTES)});
        assert_eq!(served(long), None);
    }
}
