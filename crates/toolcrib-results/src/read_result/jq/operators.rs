//! The operators of the language, and the order of values.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::rc::Rc;

use jaq_core::ValR;
use jaq_core::ops::Math;

use super::meter;
use super::value::{Error, Map, VALUE_BYTES, Val};

impl Val {
    /// Calculates with two numbers: exactly if both are whole and so is the result.
    fn calculate(
        self,
        operation: Math,
        other: Self,
        whole: fn(isize, isize) -> Option<isize>,
        float: fn(f64, f64) -> f64,
    ) -> ValR<Self> {
        if let (Self::Int(left), Self::Int(right)) = (&self, &other)
            && let Some(result) = whole(*left, *right)
        {
            return Ok(Self::Int(result));
        }
        match (self.number(), other.number()) {
            (Some(left), Some(right)) => Ok(Self::Float(float(left, right))),
            _ => Err(Error::math(self, operation, other)),
        }
    }

    fn plus(self, other: Self) -> ValR<Self> {
        match (self, other) {
            (Self::Null, value) | (value, Self::Null) => Ok(value),
            (Self::Text(mut left), Self::Text(right)) => {
                let copied = if Rc::get_mut(&mut left).is_none() { left.len() } else { 0 };
                meter::bytes(copied + right.len());
                Rc::make_mut(&mut left).push_str(&right);
                Ok(Self::Text(left))
            }
            (Self::List(depth, mut left), Self::List(other, right)) => {
                let copied = if Rc::get_mut(&mut left).is_none() { left.len() } else { 0 };
                meter::bytes((copied + right.len()) * VALUE_BYTES);
                Rc::make_mut(&mut left).extend(right.iter().cloned());
                Ok(Self::List(depth.max(other), left))
            }
            (Self::Object(depth, mut left), Self::Object(other, right)) => {
                let copied = if Rc::get_mut(&mut left).is_none() { left.len() } else { 0 };
                meter::bytes((copied + right.len()) * 2 * VALUE_BYTES);
                let new = right.iter().map(|(key, value)| (key.clone(), value.clone()));
                Rc::make_mut(&mut left).extend(new);
                Ok(Self::Object(depth.max(other), left))
            }
            (left, right) => left.calculate(Math::Add, right, isize::checked_add, |left, right| left + right),
        }
    }

    fn minus(self, other: Self) -> ValR<Self> {
        match (self, other) {
            (Self::List(_, left), Self::List(_, right)) => {
                let without: std::collections::BTreeSet<&Self> = right.iter().collect();
                Ok(left.iter().filter(|item| !without.contains(item)).cloned().collect())
            }
            (left, right) => left.calculate(Math::Sub, right, isize::checked_sub, |left, right| left - right),
        }
    }

    fn times(self, other: Self) -> ValR<Self> {
        match (self, other) {
            (Self::Text(text), Self::Int(count)) | (Self::Int(count), Self::Text(text)) => {
                let Some(count) = usize::try_from(count).ok().filter(|count| *count > 0) else {
                    return Ok(Self::Null);
                };
                meter::bytes(text.len().saturating_mul(count));
                Ok(Self::text(text.repeat(count)))
            }
            (Self::Object(_, left), Self::Object(_, right)) => Ok(merged(left, &right)),
            (left, right) => left.calculate(Math::Mul, right, isize::checked_mul, |left, right| left * right),
        }
    }

    fn divided_by(self, other: Self) -> ValR<Self> {
        match (&self, &other) {
            (Self::Text(text), Self::Text(separator)) => {
                meter::bytes(text.len());
                Ok(match (text.is_empty(), separator.is_empty()) {
                    (true, _) => Self::list(Vec::new()),
                    (_, true) => text.chars().map(|c| Self::text(c.to_string())).collect(),
                    _ => text.split(separator.as_str()).map(Self::text).collect(),
                })
            }
            _ => self.calculate(Math::Div, other, divided, |left, right| left / right),
        }
    }

    fn remainder(self, other: Self) -> ValR<Self> {
        match (&self, &other) {
            (_, Self::Int(0)) => Err(Error::math(self, Math::Rem, other)),
            _ => self.calculate(Math::Rem, other, isize::checked_rem, |left, right| left % right),
        }
    }

    fn negated(self) -> ValR<Self> {
        match self {
            Self::Int(number) if number != isize::MIN => Ok(Self::Int(-number)),
            other => match other.number() {
                Some(number) => Ok(Self::Float(-number)),
                None => Err(Error::typ(other, "number")),
            },
        }
    }
}

/// Implements the operators of the standard library by methods of [`Val`].
macro_rules! operators {
    ($($operator:ident::$method:ident($($other:ident)?) => $function:ident;)+) => {$(
        impl $operator for Val {
            type Output = ValR<Self>;

            fn $method(self $(, $other: Self)?) -> ValR<Self> {
                self.$function($($other)?)
            }
        }
    )+};
}

operators! {
    Add::add(other) => plus;
    Sub::sub(other) => minus;
    Mul::mul(other) => times;
    Div::div(other) => divided_by;
    Rem::rem(other) => remainder;
    Neg::neg() => negated;
}

/// Merges objects at all levels.
fn merged(left: Rc<Map>, right: &Map) -> Val {
    let mut left = Rc::unwrap_or_clone(left);
    for (key, value) in right {
        meter::step();
        let merged = match (left.get(key), value) {
            (Some(Val::Object(_, old)), Val::Object(_, new)) => merged(Rc::clone(old), new),
            _ => value.clone(),
        };
        left.insert(key.clone(), merged);
    }
    Val::object(left)
}

/// Divides whole numbers if there is no remainder.
fn divided(left: isize, right: isize) -> Option<isize> {
    left.checked_rem(right).filter(|rest| *rest == 0).and_then(|_| left.checked_div(right))
}

impl PartialEq for Val {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Val {}

impl PartialOrd for Val {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Val {
    /// Compares as jq does: null, false, true, numbers, texts, lists, objects.
    fn cmp(&self, other: &Self) -> Ordering {
        meter::steps(1);
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Int(left), Self::Int(right)) => left.cmp(right),
            (Self::Text(left), Self::Text(right)) => left.cmp(right),
            (Self::List(_, left), Self::List(_, right)) => left.iter().cmp(right.iter()),
            (Self::Object(_, left), Self::Object(_, right)) => {
                meter::steps(left.len() + right.len());
                let sorted = |map: &Rc<Map>| {
                    let mut entries: Vec<_> =
                        map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                    entries.sort_by(|(left, _), (right, _)| left.cmp(right));
                    entries
                };
                let (left, right) = (sorted(left), sorted(right));
                let keys = left.iter().map(|(key, _)| key).cmp(right.iter().map(|(key, _)| key));
                keys.then_with(|| {
                    left.iter().map(|(_, value)| value).cmp(right.iter().map(|(_, value)| value))
                })
            }
            _ => match (self.number(), other.number()) {
                (Some(left), Some(right)) => {
                    compare(left, right).then_with(|| self.whole().cmp(&other.whole()))
                }
                _ => self.rank().cmp(&other.rank()),
            },
        }
    }
}

/// Compares two numbers. NaN is less than all numbers.
fn compare(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| right.is_nan().cmp(&left.is_nan()))
}
