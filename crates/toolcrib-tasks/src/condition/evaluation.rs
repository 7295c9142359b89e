//! Evaluation of conditions.

use std::cmp::Ordering;

use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Any(Vec<Expression>),
    All(Vec<Expression>),
    Not(Box<Expression>),
    Test(Path, Test),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test {
    Compare(Comparison, Operand),
    Contains(Operand),
    Exists,
    Changed,
    ChangedBy(f64),
    /// The change relative to the previous value; 1 is 100 %.
    ChangedByShare(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Path(Path),
    Value(Value),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path(pub(super) Vec<PathStep>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathStep {
    Key(String),
    Index(usize),
}

impl Path {
    /// Returns the value at this path, if it exists.
    pub(crate) fn of<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(value, |value, step| match step {
            PathStep::Key(key) => value.get(key),
            PathStep::Index(index) => value.get(index),
        })
    }
}

impl Expression {
    pub(super) fn holds(&self, result: &Value, before: Option<&Value>) -> bool {
        match self {
            Self::Any(all) => all.iter().any(|one| one.holds(result, before)),
            Self::All(all) => all.iter().all(|one| one.holds(result, before)),
            Self::Not(one) => !one.holds(result, before),
            Self::Test(path, test) => test.holds(path, result, before),
        }
    }

    /// Returns true if the expression depends on the previous result.
    pub(super) fn compares(&self) -> bool {
        match self {
            Self::Any(all) | Self::All(all) => all.iter().any(Self::compares),
            Self::Not(one) => one.compares(),
            Self::Test(_, Test::Changed | Test::ChangedBy(_) | Test::ChangedByShare(_)) => true,
            Self::Test(..) => false,
        }
    }
}

impl Test {
    fn holds(&self, path: &Path, result: &Value, before: Option<&Value>) -> bool {
        let found = path.of(result);
        // `None` without a previous result, `Some(None)` if it has no value at this path.
        let was = before.map(|before| path.of(before));
        match self {
            Self::Exists => found.is_some(),
            Self::Compare(comparison, operand) => match (found, operand.of(result)) {
                (Some(found), Some(operand)) => comparison.holds(found, operand),
                _ => false,
            },
            Self::Contains(operand) => match (found, operand.of(result)) {
                (Some(found), Some(operand)) => contains(found, operand),
                _ => false,
            },
            Self::Changed => was.is_some_and(|was| match (was, found) {
                (Some(was), Some(found)) => !is_equal(was, found),
                (was, found) => was.is_some() != found.is_some(),
            }),
            Self::ChangedBy(least) => {
                numbers(was.flatten(), found).is_some_and(|(was, is)| (is - was).abs() > *least)
            }
            Self::ChangedByShare(share) => {
                numbers(was.flatten(), found).is_some_and(|(was, is)| (is - was).abs() > was.abs() * share)
            }
        }
    }
}

impl Operand {
    fn of<'a>(&'a self, result: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Path(path) => path.of(result),
            Self::Value(value) => Some(value),
        }
    }
}

impl Comparison {
    fn holds(self, one: &Value, other: &Value) -> bool {
        match self {
            Self::Equal => is_equal(one, other),
            Self::NotEqual => !is_equal(one, other),
            Self::Less => order(one, other) == Some(Ordering::Less),
            Self::More => order(one, other) == Some(Ordering::Greater),
            Self::AtMost => order(one, other).is_some_and(Ordering::is_le),
            Self::AtLeast => order(one, other).is_some_and(Ordering::is_ge),
        }
    }
}

/// Returns true if two values are equal. `1` equals `1.0`.
fn is_equal(one: &Value, other: &Value) -> bool {
    one == other || one.is_number() && order(one, other) == Some(Ordering::Equal)
}

fn order(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (Value::Number(_), Value::Number(_)) => one.as_f64()?.partial_cmp(&other.as_f64()?),
        _ => None,
    }
}

fn numbers(one: Option<&Value>, other: Option<&Value>) -> Option<(f64, f64)> {
    one?.as_f64().zip(other?.as_f64())
}

fn contains(whole: &Value, part: &Value) -> bool {
    match whole {
        Value::String(text) => part.as_str().is_some_and(|part| text.contains(part)),
        Value::Array(values) => values.iter().any(|value| is_equal(value, part)),
        Value::Object(fields) => part.as_str().is_some_and(|key| fields.contains_key(key)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
