//! Equality of tools and values that includes the order of keys.
//!
//! `==` ignores the order of keys. People and models read schemas in the order in which they are written, so the order
//! counts if one tool is to replace another.

use std::sync::Arc;

use serde_json::{Map, Value};
use toolcrib_model::tool::Definition;
use toolcrib_model::{Schema, Tool};

/// Returns true if two tools with the same fingerprint are equal in every field, including the order of keys.
pub(crate) fn is_identical_tool(one: &Tool, other: &Tool) -> bool {
    one.name == other.name
        && one.description == other.description
        && is_identical_schema(&one.parameters, &other.parameters)
        && is_identical_schema(&one.output_parameters, &other.output_parameters)
        && is_identical_map(one.metadata(), other.metadata())
        && one.view() == other.view()
}

/// Returns true if two schemas are equal, including the order of keys.
pub(super) fn is_identical_schema(one: &Schema, other: &Schema) -> bool {
    let are_identical = |one: &Arc<Definition>, other: &Arc<Definition>| {
        Arc::ptr_eq(one, other) || one.name == other.name && is_identical(&one.schema, &other.schema)
    };
    let (own, others) = (one.definitions(), other.definitions());
    one.is_same(other)
        || own.len() == others.len()
            && is_identical(one.root(), other.root())
            && own.iter().zip(others).all(|(one, other)| are_identical(one, other))
}

/// Returns true if two values are equal, including the order of keys.
pub(super) fn is_identical(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_identical(one, other))
        }
        (Value::Object(one), Value::Object(other)) => is_identical_map(one, other),
        _ => one == other,
    }
}

fn is_identical_map(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let mut pairs = one.iter().zip(other);
    one.len() == other.len() && pairs.all(|(one, other)| one.0 == other.0 && is_identical(one.1, other.1))
}
