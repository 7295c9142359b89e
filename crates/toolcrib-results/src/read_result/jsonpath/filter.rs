//! The evaluation of filters.

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::select::Selection;
use super::{Comparison, Condition, MAX_WHOLE_TEXT_BYTES, Operand, Path, QueryLimit};
use crate::read_result::cancellable_search::find;
use crate::read_result::grep::MAX_COMPILED_BYTES;

/// The number of bytes of a text that cost one step.
const BYTES_PER_STEP: usize = 64;

/// Compiles the pattern of `match`, which must match the whole text, or of `search`. A dot matches no line break.
pub(super) fn compile_pattern(pattern: &str, is_whole: bool) -> Result<Regex, String> {
    let anchored = format!(r"\A(?:{pattern})\z");
    RegexBuilder::new(if is_whole { &anchored } else { pattern })
        .crlf(true)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .build()
        .map_err(|_| "expected a regular expression that can be matched in linear time".to_owned())
}

impl<'v> Selection<'v> {
    /// Returns true if a value fulfils a condition.
    pub(super) fn holds(&self, condition: &Condition, value: &'v Value) -> Result<bool, QueryLimit> {
        self.pay(1)?;
        match condition {
            Condition::Any(parts) => {
                for part in parts {
                    if self.holds(part, value)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Condition::All(parts) => {
                for part in parts {
                    if !self.holds(part, value)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Condition::Not(inner) => Ok(!self.holds(inner, value)?),
            Condition::Exists(path) => Ok(!self.follow(path, value)?.is_empty()),
            Condition::Matches(text, pattern) => match self.evaluate(text, value)?.as_deref() {
                Some(Value::String(text)) => {
                    if text.len() > MAX_WHOLE_TEXT_BYTES {
                        return Err(QueryLimit::Text);
                    }
                    self.pay(text.len() / BYTES_PER_STEP)?;
                    Ok(pattern.is_match(text))
                }
                _ => Ok(false),
            },
            Condition::Searches(text, pattern) => match self.evaluate(text, value)?.as_deref() {
                Some(Value::String(text)) => {
                    self.pay(text.len() / BYTES_PER_STEP)?;
                    Ok(find(pattern, text, self.cancel).is_some())
                }
                _ => Ok(false),
            },
            Condition::Compare(left, comparison, right) => {
                let (left, right) = (self.evaluate(left, value)?, self.evaluate(right, value)?);
                self.compare(left.as_deref(), *comparison, right.as_deref())
            }
        }
    }

    fn follow(&self, path: &Path, value: &'v Value) -> Result<Vec<&'v Value>, QueryLimit> {
        self.select(&path.segments, if path.is_absolute { self.root } else { value })
    }

    /// Returns the value of one side of a comparison, if it has one.
    fn evaluate<'q>(
        &self,
        operand: &'q Operand,
        value: &'v Value,
    ) -> Result<Option<Cow<'q, Value>>, QueryLimit>
    where
        'v: 'q,
    {
        Ok(match operand {
            Operand::Literal(literal) => Some(Cow::Borrowed(literal)),
            Operand::Path(path) => match self.follow(path, value)?.as_slice() {
                [only] => Some(Cow::Borrowed(*only)),
                _ => None,
            },
            Operand::Count(path) => Some(Cow::Owned(self.follow(path, value)?.len().into())),
            Operand::Length(of) => {
                let length = match self.evaluate(of, value)?.as_deref() {
                    Some(Value::String(text)) => {
                        self.pay(text.len() / BYTES_PER_STEP)?;
                        Some(text.chars().count())
                    }
                    Some(Value::Array(items)) => Some(items.len()),
                    Some(Value::Object(map)) => Some(map.len()),
                    _ => None,
                };
                length.map(|length| Cow::Owned(length.into()))
            }
        })
    }

    fn compare(
        &self,
        left: Option<&Value>,
        comparison: Comparison,
        right: Option<&Value>,
    ) -> Result<bool, QueryLimit> {
        let (mut said_left, mut said_right) = (None, None);
        if self.is_lenient {
            said_left = said_number(left, right);
            said_right = said_number(right, left);
        }
        let (left, right) = (said_left.as_ref().or(left), said_right.as_ref().or(right));
        Ok(match comparison {
            Comparison::Equal => self.are_equal(left, right)?,
            Comparison::Unequal => !self.are_equal(left, right)?,
            Comparison::Less => is_less(left, right),
            Comparison::Greater => is_less(right, left),
            Comparison::AtMost => is_less(left, right) || self.are_equal(left, right)?,
            Comparison::AtLeast => is_less(right, left) || self.are_equal(left, right)?,
        })
    }

    fn are_equal(&self, left: Option<&Value>, right: Option<&Value>) -> Result<bool, QueryLimit> {
        self.pay(1)?;
        let (Some(left), Some(right)) = (left, right) else { return Ok(left.is_none() && right.is_none()) };
        match (left, right) {
            (Value::Number(_), Value::Number(_)) => {
                Ok(numbers(left, right).is_some_and(|(left, right)| left == right))
            }
            (Value::String(left), Value::String(right)) => {
                self.pay(left.len().min(right.len()) / BYTES_PER_STEP)?;
                Ok(left == right)
            }
            (Value::Array(left), Value::Array(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                self.all_equal(left.iter().zip(right).map(|(left, right)| (Some(left), Some(right))))
            }
            (Value::Object(left), Value::Object(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                self.all_equal(left.iter().map(|(key, value)| (Some(value), right.get(key))))
            }
            _ => Ok(left == right),
        }
    }

    fn all_equal<'a>(
        &self,
        pairs: impl Iterator<Item = (Option<&'a Value>, Option<&'a Value>)>,
    ) -> Result<bool, QueryLimit> {
        for (left, right) in pairs {
            if !self.are_equal(left, right)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the number that a text represents, if it is compared with a number.
fn said_number(text: Option<&Value>, other: Option<&Value>) -> Option<Value> {
    let text = text?.as_str().filter(|_| other.is_some_and(Value::is_number))?;
    let whole = || text.trim().parse::<i64>().ok().map(Value::from);
    whole().or_else(|| text.trim().parse().ok().and_then(serde_json::Number::from_f64).map(Value::Number))
}

/// Returns true if one number or text comes before another; other values have no order.
fn is_less(left: Option<&Value>, right: Option<&Value>) -> bool {
    match (left, right) {
        (Some(Value::String(left)), Some(Value::String(right))) => left < right,
        (Some(left), Some(right)) => numbers(left, right).is_some_and(|(left, right)| left < right),
        _ => false,
    }
}

/// Returns two numbers in a comparable form: exact if both are whole.
fn numbers(left: &Value, right: &Value) -> Option<(Number, Number)> {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some((Number::Whole(left), Number::Whole(right))),
        _ => Some((Number::Float(left.as_f64()?), Number::Float(right.as_f64()?))),
    }
}

fn whole(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

#[derive(PartialEq, PartialOrd)]
enum Number {
    Whole(i128),
    Float(f64),
}
