//! The tests of conditions on values.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::embedded::{Embedded, embedded};
use super::{MAX_COMPILED_REGEX_BYTES, MAX_DEPTH, MAX_REGEX_BYTES, Reading, number};
use crate::{PolicyError, SettingLocation};

/// The test of a condition on a value.
#[derive(Debug)]
pub(super) enum Test {
    OneOf(Vec<Value>),
    Matches(Regex),
}

/// Returns the test of a regular expression. Read narrowly, it is about the whole text.
pub(super) fn regex(place: &SettingLocation, pattern: &str, reading: Reading) -> Result<Test, PolicyError> {
    if pattern.len() > MAX_REGEX_BYTES {
        return Err(PolicyError::TooMany {
            place: place.clone(),
            what: "bytes of a regular expression",
            count: pattern.len(),
            limit: MAX_REGEX_BYTES,
        });
    }
    let compile = |text: &str| {
        RegexBuilder::new(text).size_limit(MAX_COMPILED_REGEX_BYTES).build().map_err(|source| {
            PolicyError::Regex { place: place.clone(), pattern: pattern.to_owned(), source: Box::new(source) }
        })
    };
    // By itself first: what does not balance could otherwise lean on the brackets around it.
    let anywhere = compile(pattern)?;
    match reading {
        Reading::Wide => Ok(Test::Matches(anywhere)),
        Reading::Narrow => Ok(Test::Matches(compile(&format!(r"\A(?:{pattern})\z"))?)),
    }
}

impl Test {
    /// Returns true if the value itself fulfils the test, in the narrow reading.
    pub(super) fn is_fulfilled_by(&self, value: &Value) -> bool {
        match self {
            Self::OneOf(values) => values.iter().any(|wanted| same(wanted, value)),
            Self::Matches(regex) => value.as_str().is_some_and(|text| regex.is_match(text)),
        }
    }

    /// Returns true if the value or anything in it fulfils the test, in the wide reading.
    pub(super) fn anywhere_in(&self, value: &Value, depth: usize) -> bool {
        if depth > MAX_DEPTH || self.resembles(value) {
            return true;
        }
        match value {
            Value::Array(items) => items.iter().any(|item| self.anywhere_in(item, depth + 1)),
            Value::Object(map) => map
                .iter()
                .any(|(name, value)| self.resembles_text(name) || self.anywhere_in(value, depth + 1)),
            Value::String(text) => match embedded(text) {
                Embedded::Text | Embedded::Malformed => false,
                Embedded::Json(inner) => self.anywhere_in(&inner, depth + 1),
                Embedded::TooDeep => true,
            },
            _ => false,
        }
    }

    fn resembles(&self, value: &Value) -> bool {
        match self {
            Self::OneOf(values) => values.iter().any(|wanted| alike(wanted, value)),
            Self::Matches(regex) => match value {
                Value::String(text) => regex.is_match(text),
                Value::Number(number) => number::texts(number).any(|text| regex.is_match(&text)),
                Value::Bool(true) => regex.is_match("true"),
                Value::Bool(false) => regex.is_match("false"),
                _ => false,
            },
        }
    }

    fn resembles_text(&self, text: &str) -> bool {
        match self {
            Self::OneOf(values) => values.iter().any(|wanted| is_text_of(wanted, text)),
            Self::Matches(regex) => regex.is_match(text),
        }
    }
}

/// Returns true if two values are the same JSON value: numbers are compared by value, objects in any order.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => number::same(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

/// Returns true if the values are equal, or would be after conversion of one to the type of the other.
fn alike(wanted: &Value, given: &Value) -> bool {
    match (wanted, given) {
        (Value::String(text), other) | (other, Value::String(text)) => is_text_of(other, text),
        _ => same(wanted, given),
    }
}

/// Returns true if a text represents this value.
fn is_text_of(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own == text,
        Value::Number(number) => {
            let text = text.trim();
            number::texts(number).any(|own| own == text)
                || text.parse().is_ok_and(|parsed| number::same(number, &parsed))
                || number::is_said_by(number, text)
        }
        Value::Bool(own) => text.trim().eq_ignore_ascii_case(if *own { "true" } else { "false" }),
        Value::Null => text.trim().eq_ignore_ascii_case("null"),
        Value::Array(_) | Value::Object(_) => false,
    }
}
