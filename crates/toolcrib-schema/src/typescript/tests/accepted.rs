//! What a type accepts, as the compiler of TypeScript decides it for values with further properties.

use serde_json::Value;

use crate::typescript::library::Library;
use crate::typescript::types::{Object, Tuple, Type};

/// Returns true if a type accepts a value.
pub(super) fn accepts(library: &Library, kind: &Type, value: &Value) -> bool {
    match kind {
        Type::Unknown => true,
        Type::Never => false,
        Type::Null => value.is_null(),
        Type::Boolean => value.is_boolean(),
        Type::Number => value.is_number(),
        Type::String => value.is_string(),
        Type::Literal(Value::Number(number)) => value.is_number() && value.as_f64() == number.as_f64(),
        Type::Literal(literal) => value == literal,
        Type::Array(items) => {
            value.as_array().is_some_and(|values| values.iter().all(|value| accepts(library, items, value)))
        }
        Type::Tuple(tuple) => value.as_array().is_some_and(|values| accepts_list(library, tuple, values)),
        Type::Object(object) => is_of_object(library, object, value),
        Type::Union(members) => members.iter().any(|member| accepts(library, member, value)),
        Type::Intersection(members) => members.iter().all(|member| accepts(library, member, value)),
        Type::Reference(id) => accepts(library, library.get(*id), value),
    }
}

fn accepts_list(library: &Library, tuple: &Tuple, values: &[Value]) -> bool {
    let Tuple { items, required, rest } = tuple;
    let rest = |value: &Value| rest.as_deref().is_some_and(|rest| accepts(library, rest, value));
    values.len() >= *required
        && values.iter().zip(items).all(|(value, item)| accepts(library, item, value))
        && values.iter().skip(items.len()).all(rest)
}

fn is_of_object(library: &Library, object: &Object, value: &Value) -> bool {
    let Some(map) = value.as_object() else { return false };
    let Object { properties, rest } = object;
    let is_named = |name: &str| properties.iter().any(|property| property.name == name);
    properties.iter().all(|property| match map.get(&property.name) {
        Some(value) => accepts(library, &property.kind, value),
        None => !property.is_required,
    }) && map
        .iter()
        .filter(|(name, _)| !is_named(name))
        .all(|(_, value)| rest.as_deref().is_none_or(|rest| accepts(library, rest, value)))
}
