//! Whether two tools are written in the same way.
//!
//! Equality of values leaves the order of keys out; people and models read schemas in the order in which they are
//! written, so where one tool is to take the place of another, the order counts.

use serde_json::{Map, Value};
use toolcrib_model::Tool;

/// Whether two tools with the same fingerprint are the same in every part, the order of keys included.
pub(crate) fn is_same_tool(one: &Tool, other: &Tool) -> bool {
    one.name == other.name
        && one.description == other.description
        && is_same(&one.parameters, &other.parameters)
        && is_same(&one.output_parameters, &other.output_parameters)
        && is_same_map(&one.metadata, &other.metadata)
}

/// Whether two values are the same, the order of keys included.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => is_same_map(one, other),
        _ => one == other,
    }
}

fn is_same_map(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let mut pairs = one.iter().zip(other);
    one.len() == other.len() && pairs.all(|(one, other)| one.0 == other.0 && is_same(one.1, other.1))
}
