//! The kinds of values that decide if one parameter fits another.

use serde_json::Value;
use toolcrib_model::Schema;

use crate::enrichment::parameters::{normalized, properties, type_of};

/// An integer and a number: one can hold most values of the other.
const NUMERIC_FACTOR: f64 = 0.8;

/// Two objects that have properties in common.
const SHARED_PROPERTIES_FACTOR: f64 = 0.9;

/// Two objects, at least one of which declares no properties.
const OPAQUE_OBJECT_FACTOR: f64 = 0.7;

/// A value of an unknown type.
const UNKNOWN_FACTOR: f64 = 0.7;

/// The maximum number of references and nested arrays that are followed.
const MAX_DEPTH: usize = 8;

/// The kind of a parameter's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Unknown,
    Scalar(Box<str>),
    Array(Box<Kind>),
    /// The normalized names of the properties, sorted; none for an opaque object.
    Object(Vec<String>),
}

impl Kind {
    /// Returns the kind of a part of a schema.
    pub(super) fn of(part: &Value, schema: &Schema) -> Self {
        Self::within(part, schema, MAX_DEPTH)
    }

    fn within(part: &Value, schema: &Schema, depth: usize) -> Self {
        let Some(depth) = depth.checked_sub(1) else { return Self::Unknown };
        if let Some(pointer) =
            part.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'))
        {
            return schema.pointer(pointer).map_or(Self::Unknown, |part| Self::within(part, schema, depth));
        }
        match type_of(part) {
            Some("object") => Self::object(part),
            Some("array") => {
                let items = part.get("items");
                Self::Array(Box::new(items.map_or(Self::Unknown, |items| Self::within(items, schema, depth))))
            }
            Some("null") => Self::Unknown,
            Some(name) => Self::Scalar(name.into()),
            None if part.get("properties").is_some() => Self::object(part),
            None => {
                let variants = part.get("anyOf").or_else(|| part.get("oneOf")).and_then(Value::as_array);
                let mut kinds = variants.into_iter().flatten().map(|part| Self::within(part, schema, depth));
                kinds.find(|kind| *kind != Self::Unknown).unwrap_or(Self::Unknown)
            }
        }
    }

    fn object(part: &Value) -> Self {
        let mut names: Vec<_> = properties(part).map(|(name, _)| normalized(name)).collect();
        names.sort_unstable();
        names.dedup();
        Self::Object(names)
    }

    /// Returns the name of the type, as JSON Schema has it.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Unknown => "",
            Self::Scalar(name) => name,
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Returns the score, from 0 to 1, of a value of this kind for a parameter of another.
    pub(super) fn factor(&self, wanted: &Self) -> f64 {
        match (self, wanted) {
            (Self::Unknown, _) | (_, Self::Unknown) => UNKNOWN_FACTOR,
            (Self::Scalar(given), Self::Scalar(wanted)) if given == wanted => 1.0,
            (Self::Scalar(given), Self::Scalar(wanted)) => match (&**given, &**wanted) {
                ("integer", "number") | ("number", "integer") => NUMERIC_FACTOR,
                _ => 0.0,
            },
            (Self::Array(given), Self::Array(wanted)) if **given == Self::Unknown && given == wanted => 1.0,
            (Self::Array(given), Self::Array(wanted)) => given.factor(wanted),
            (Self::Object(given), Self::Object(wanted)) if given.is_empty() || wanted.is_empty() => {
                OPAQUE_OBJECT_FACTOR
            }
            (Self::Object(given), Self::Object(wanted)) => {
                let is_shared = given.iter().any(|name| wanted.binary_search(name).is_ok());
                if is_shared { SHARED_PROPERTIES_FACTOR } else { 0.0 }
            }
            _ => 0.0,
        }
    }
}
