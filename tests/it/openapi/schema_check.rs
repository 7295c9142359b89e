//! Whether a value is what the document says: a reading of the keywords that a conversion of schemas most often loses.

use serde_json::Value;

use super::node::Node;

/// How deep values are followed.
const MAX_DEPTH: usize = 40;

/// What a part of a schema, which may lead back to itself, counts for.
const PART: usize = 5;

/// What is wrong with a value, by the schema of the document.
pub(super) fn problem(schema: Node<'_>, value: &Value) -> Option<String> {
    at(schema, value, 0).err()
}

fn at(schema: Node<'_>, value: &Value, depth: usize) -> Result<(), String> {
    let schema = schema.open();
    if depth > MAX_DEPTH || !schema.value.is_object() || is_null_allowed(schema, value) {
        return Ok(());
    }
    kind(schema, value)?;
    if let Some(Value::Array(values)) = schema.get("enum").map(|node| node.value)
        && !values.contains(value)
    {
        return Err(format!("enum: {value} is none of them"));
    }
    bounds(schema, value)?;
    for part in schema.items("allOf") {
        at(part, value, depth + PART)?;
    }
    for key in ["oneOf", "anyOf"] {
        let options = schema.items(key);
        let problems: Vec<String> =
            options.iter().filter_map(|part| at(*part, value, depth + PART).err()).collect();
        if !options.is_empty() && problems.len() == options.len() {
            return Err(format!("{key}: {problems:?}"));
        }
    }
    if let Value::Array(items) = value
        && let Some(schema) = schema.get("items")
        && schema.value.is_object()
        && !items.is_empty()
    {
        items.iter().try_for_each(|item| at(schema, item, depth + 1))?;
    }
    let Value::Object(map) = value else { return Ok(()) };
    let properties = schema.properties();
    let is_read_only = |name: &str| properties.get(name).is_some_and(|node| node.is("readOnly"));
    for name in schema.items("required").iter().filter_map(|name| name.value.as_str()) {
        if !map.contains_key(name) && !is_read_only(name) {
            return Err(format!("required: {name} is missing"));
        }
    }
    for (name, schema) in schema.entries("properties") {
        if let Some(value) = map.get(name) {
            if schema.is("readOnly") {
                return Err(format!("readOnly: {name} is an input"));
            }
            at(schema, value, depth + 1)?;
        }
    }
    Ok(())
}

/// `nullable` of 3.0 and its forerunner; in 3.1 null is a type.
fn is_null_allowed(schema: Node<'_>, value: &Value) -> bool {
    value.is_null() && (schema.is("nullable") || schema.is("x-nullable"))
}

fn kind(schema: Node<'_>, value: &Value) -> Result<(), String> {
    let kinds: Vec<&str> = match schema.get("type").map(|node| node.value) {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let is = |kind: &&str| match *kind {
        "string" | "file" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        // Whatever else a document calls a type.
        _ => true,
    };
    if kinds.iter().any(is) { Ok(()) } else { Err(format!("type: {value} is none of {kinds:?}")) }
}

fn bounds(schema: Node<'_>, value: &Value) -> Result<(), String> {
    let bound = |key: &str| schema.get(key).and_then(|node| node.value.as_f64());
    let fails = |key: &str| Err(format!("{key}: {value}"));
    if let Some(number) = value.as_f64() {
        let (least, most) = (bound("minimum"), bound("maximum"));
        if least.is_some_and(|least| number < least || (number <= least && schema.is("exclusiveMinimum"))) {
            return fails("minimum");
        }
        if most.is_some_and(|most| number > most || (number >= most && schema.is("exclusiveMaximum"))) {
            return fails("maximum");
        }
        if bound("exclusiveMinimum").is_some_and(|least| number <= least) {
            return fails("exclusiveMinimum");
        }
        if bound("exclusiveMaximum").is_some_and(|most| number >= most) {
            return fails("exclusiveMaximum");
        }
    }
    let size = |key: &str| schema.get(key).and_then(|node| node.value.as_u64());
    let within = |length: usize, least: &str, most: &str| {
        let length = length as u64;
        size(least).is_none_or(|least| length >= least) && size(most).is_none_or(|most| length <= most)
    };
    match value {
        Value::String(text) if !within(text.chars().count(), "minLength", "maxLength") => fails("length"),
        Value::Array(items) if !within(items.len(), "minItems", "maxItems") => fails("items"),
        Value::Object(map) if !within(map.len(), "minProperties", "maxProperties") => fails("properties"),
        _ => Ok(()),
    }
}
