//! The smallest value that fits a schema.

use serde_json::{Map, Value, json};

/// The maximum depth of examples. A recursive schema that requires itself has none.
const MAX_EXAMPLE_DEPTH: usize = 8;

/// The longest text, and the longest list, that is made up to meet a lower bound.
const MAX_FILL: u64 = 64;

/// The maximum size of an example: values, names, and each started [`TEXT_UNIT`] of a given text. Examples are shown to
/// models, and a schema may require lists of lists of lists.
const MAX_EXAMPLE_VALUES: usize = 500;

/// The bytes of text that count as one value.
const TEXT_UNIT: usize = 64;

/// Returns a value that should fit, made of the schema's own examples where it has some. The caller checks it.
pub(crate) fn minimal(schema: &Value) -> Option<Value> {
    let mut left = MAX_EXAMPLE_VALUES;
    value(schema, schema, 0, &mut left)
}

/// `left` is how much may still be made up; nothing comes once it is spent.
fn value(root: &Value, schema: &Value, depth: usize, left: &mut usize) -> Option<Value> {
    if depth > MAX_EXAMPLE_DEPTH {
        return None;
    }
    spend(left, 1)?;
    let map = match schema {
        Value::Object(map) => map,
        Value::Bool(true) => return Some(json!({})),
        _ => return None,
    };
    if let Some(given) = given(map) {
        spend_on(given, left)?;
        return Some(given.clone());
    }
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.strip_prefix('#')?)?;
        return value(root, target, depth + 1, left);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(options) = map.get(keyword).and_then(Value::as_array) {
            return options.iter().find_map(|option| value(root, option, depth + 1, left));
        }
    }
    match type_of(map) {
        "string" => Some(text(map).into()),
        "integer" => Some(whole(number(map).ceil())),
        "number" => Some(number(map).into()),
        "boolean" => Some(json!(true)),
        "null" => Some(Value::Null),
        "array" => list(root, map, depth, left),
        _ => object(root, map, depth, left),
    }
}

/// Returns a value that the schema itself gives.
fn given(map: &Map<String, Value>) -> Option<&Value> {
    map.get("examples")
        .and_then(|examples| examples.as_array()?.first())
        .or_else(|| map.get("example"))
        .or_else(|| map.get("const"))
        .or_else(|| map.get("default").filter(|default| !default.is_null()))
        .or_else(|| map.get("enum").and_then(|options| options.as_array()?.first()))
}

/// Takes from what is left; when that is not enough, nothing is left.
fn spend(left: &mut usize, amount: usize) -> Option<()> {
    let rest = left.checked_sub(amount);
    *left = rest.unwrap_or_default();
    rest.map(drop)
}

/// Takes what a copy of the value costs.
fn spend_on(value: &Value, left: &mut usize) -> Option<()> {
    spend(left, 1)?;
    match value {
        Value::String(text) => spend(left, text.len() / TEXT_UNIT),
        Value::Array(items) => items.iter().try_for_each(|item| spend_on(item, left)),
        Value::Object(map) => map.iter().try_for_each(|(name, item)| {
            spend(left, name.len() / TEXT_UNIT)?;
            spend_on(item, left)
        }),
        _ => Some(()),
    }
}

fn type_of(map: &Map<String, Value>) -> &str {
    match map.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => names.iter().find_map(Value::as_str).unwrap_or("object"),
        _ if map.contains_key("items") => "array",
        _ => "object",
    }
}

fn text(map: &Map<String, Value>) -> String {
    let text = match map.get("format").and_then(Value::as_str) {
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("time") => "12:00:00Z",
        Some("email") => "user@example.com",
        Some("uri" | "url" | "uri-reference") => "https://example.com/",
        Some("uuid") => "123e4567-e89b-12d3-a456-426614174000",
        Some("ipv4") => "192.0.2.1",
        Some("hostname") => "example.com",
        _ => "text",
    };
    let bound = |key, default| map.get(key).and_then(Value::as_u64).unwrap_or(default).min(MAX_FILL);
    let least = usize::try_from(bound("minLength", 0)).unwrap_or_default();
    let most = usize::try_from(bound("maxLength", MAX_FILL)).unwrap_or_default();
    text.chars().chain(std::iter::repeat('x')).take(text.len().max(least).min(most)).collect()
}

fn number(map: &Map<String, Value>) -> f64 {
    let bound = |key| map.get(key).and_then(Value::as_f64);
    let step = bound("multipleOf").unwrap_or(1.0);
    let least = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|least| least + step));
    let most = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|most| most - step));
    let start = match (least, most) {
        (Some(least), _) => least,
        (None, Some(most)) if most < step => most,
        _ => step,
    };
    (start / step).ceil() * step
}

/// Returns a whole number as JSON writes integers.
fn whole(number: f64) -> Value {
    // `-0` reads better as `0`, and there is no fraction here.
    format!("{number:.0}").parse::<i64>().map_or_else(|_| number.into(), Value::from)
}

fn list(root: &Value, map: &Map<String, Value>, depth: usize, left: &mut usize) -> Option<Value> {
    let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(MAX_FILL);
    let any = Value::Bool(true);
    let items = map.get("items").unwrap_or(&any);
    (0..least).map(|_| value(root, items, depth + 1, left)).collect::<Option<Vec<_>>>().map(Value::Array)
}

fn object(root: &Value, map: &Map<String, Value>, depth: usize, left: &mut usize) -> Option<Value> {
    let required =
        map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let any = Value::Bool(true);
    let mut object = Map::new();
    for name in required {
        let property = map.get("properties").and_then(|properties| properties.get(name)).unwrap_or(&any);
        spend(left, name.len() / TEXT_UNIT)?;
        object.insert(name.to_owned(), value(root, property, depth + 1, left)?);
    }
    for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        if let Some(Value::Object(more)) = value(root, part, depth + 1, left) {
            object.extend(more);
        }
        if *left == 0 {
            return None;
        }
    }
    Some(Value::Object(object))
}
