//! The keywords of JSON Schema 2020-12, and the kinds of their values.

use serde_json::Value;
use toolcrib_document::plain_text;

/// The kind of a keyword's value.
#[derive(Clone, Copy)]
pub(super) enum KeywordKind {
    /// A schema.
    Schema,
    /// A list of schemas.
    Schemas,
    /// A map from names to schemas.
    SchemaMap,
    /// A plain value. The function corrects it, or returns `None` if that is impossible.
    Value(fn(&Value) -> Option<Value>),
    /// A keyword that has no meaning for a model or a validator, or would have another meaning in the converted schema.
    Unknown,
}

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];

pub(super) fn kind(key: &str) -> KeywordKind {
    match key {
        "items"
        | "additionalProperties"
        | "not"
        | "contains"
        | "propertyNames"
        | "if"
        | "then"
        | "else"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => KeywordKind::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordKind::Schemas,
        "properties" | "patternProperties" | "dependentSchemas" => KeywordKind::SchemaMap,
        "$ref" | "$dynamicRef" | "$recursiveRef" | "example" | "examples" | "default" | "const" => {
            KeywordKind::Value(|value| Some(value.clone()))
        }
        "type" => KeywordKind::Value(types),
        "description" => KeywordKind::Value(|value| Some(plain_text(value.as_str()?).into_owned().into())),
        "title" | "format" | "pattern" | "contentEncoding" | "contentMediaType" => {
            KeywordKind::Value(|value| value.is_string().then(|| value.clone()))
        }
        "deprecated" | "uniqueItems" => KeywordKind::Value(flag),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => KeywordKind::Value(number),
        "multipleOf" => {
            KeywordKind::Value(|value| number(value).filter(|value| value.as_f64().is_some_and(|n| n > 0.0)))
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => KeywordKind::Value(count),
        "enum" => KeywordKind::Value(|value| {
            value.as_array().is_some_and(|items| !items.is_empty()).then(|| value.clone())
        }),
        "required" => KeywordKind::Value(|_| None),
        "dependentRequired" => KeywordKind::Value(|value| {
            let is_names =
                |names: &Value| names.as_array().is_some_and(|names| names.iter().all(Value::is_string));
            value.as_object()?.values().all(is_names).then(|| value.clone())
        }),
        _ => KeywordKind::Unknown,
    }
}

/// Corrects one type or several. Some documents contain the type names of their programming language.
fn types(value: &Value) -> Option<Value> {
    let known = |value: &Value| {
        let lower = value.as_str()?.to_ascii_lowercase();
        match lower.as_str() {
            // The file type of Swagger 2.0 inside of a schema.
            "file" => Some("string"),
            lower => TYPES.into_iter().find(|known| *known == lower),
        }
    };
    match value {
        Value::Array(items) => {
            let mut types: Vec<&str> = Vec::new();
            for item in items {
                // If one type is unknown, the others are incomplete.
                let kind = known(item)?;
                if !types.contains(&kind) {
                    types.push(kind);
                }
            }
            (!types.is_empty()).then(|| types.into())
        }
        single => known(single).map(Value::from),
    }
}

fn flag(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::String(text) => text.parse::<bool>().ok().map(Value::from),
        _ => None,
    }
}

fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => text.trim().parse::<i64>().ok().map(Value::from).or_else(|| {
            text.trim().parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
        }),
        _ => None,
    }
}

/// Corrects a count: an integer that is not negative.
fn count(value: &Value) -> Option<Value> {
    let number = number(value)?;
    if number.is_u64() {
        return Some(number);
    }
    number.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0).map(|_| number.clone())
}
