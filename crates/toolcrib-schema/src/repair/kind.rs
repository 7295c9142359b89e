//! Sets of JSON types.

use serde_json::Value;

/// A set of JSON types. A number is an integer or not; both together are what JSON Schema calls `number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(1 << 1);
    pub(crate) const INTEGER: Self = Self(1 << 2);
    pub(crate) const FRACTION: Self = Self(1 << 3);
    pub(crate) const STRING: Self = Self(1 << 4);
    pub(crate) const ARRAY: Self = Self(1 << 5);
    pub(crate) const OBJECT: Self = Self(1 << 6);
    pub(crate) const ANY: Self = Self((1 << 7) - 1);

    /// Returns the types that the keyword `type` allows. Unknown names allow nothing.
    pub(crate) fn of_keyword(keyword: Option<&Value>) -> Self {
        match keyword {
            Some(Value::String(name)) => Self::named(name),
            Some(Value::Array(names)) => names
                .iter()
                .filter_map(Value::as_str)
                .fold(Self::NONE, |kinds, name| kinds.or(Self::named(name))),
            _ => Self::ANY,
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::INTEGER.or(Self::FRACTION),
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::NONE,
        }
    }

    /// Returns the type of a value. Draft 4 takes `1.0` for a fraction, all others for an integer.
    pub(crate) fn of(value: &Value, whole_floats_are_integers: bool) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) => {
                let is_whole = || number.as_f64().is_some_and(|float| float.fract() == 0.0);
                if !number.is_f64() || whole_floats_are_integers && is_whole() {
                    Self::INTEGER
                } else {
                    Self::FRACTION
                }
            }
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns true if all of the others are in this set.
    pub(crate) const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns true if this set contains integers but no other numbers.
    pub(crate) const fn is_whole_only(self) -> bool {
        self.has(Self::INTEGER) && !self.has(Self::FRACTION)
    }
}
