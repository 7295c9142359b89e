//! One value, turned into another that means the same.

use serde_json::Value;

use super::kind::Kinds;
use super::{Change, number, text};

/// Converts a value to one of these types. The order of the attempts does not depend on the order of the types: conversions
/// that the value itself suggests come first.
pub(crate) fn to_kind(value: &Value, kinds: Kinds) -> Option<(Value, Change)> {
    let converted = match value {
        Value::String(given) => from_string(given, kinds),
        Value::Number(given) => from_number(given, kinds),
        Value::Bool(given) => {
            kinds.has(Kinds::STRING).then(|| (given.to_string().into(), Change::BooleanToString))
        }
        Value::Object(_) if kinds.has(Kinds::ARRAY) => None,
        Value::Array(_) | Value::Object(_) => {
            kinds.has(Kinds::STRING).then(|| (value.to_string().into(), Change::WrittenAsJson))
        }
        Value::Null => return None,
    };
    let is_wrapped = !value.is_array() && kinds.has(Kinds::ARRAY);
    converted.or_else(|| is_wrapped.then(|| (vec![value.clone()].into(), Change::WrappedInList)))
}

fn from_string(given: &str, kinds: Kinds) -> Option<(Value, Change)> {
    let whole = || kinds.has(Kinds::INTEGER).then(|| number::whole(given))?;
    let any_number = || kinds.has(Kinds::FRACTION).then(|| number::number(given))?;
    let structure = || {
        let is_wanted = kinds.has(Kinds::OBJECT) || kinds.has(Kinds::ARRAY);
        let read = is_wanted.then(|| text::read(given).ok())??;
        kinds.has(Kinds::of(&read, true)).then_some((read, Change::ParsedJson))
    };
    let change = if kinds.is_whole_only() { Change::StringToInteger } else { Change::StringToNumber };
    whole()
        .or_else(any_number)
        .map(|number| (number.into(), change))
        .or_else(|| kinds.has(Kinds::BOOLEAN).then(|| boolean(given))?)
        .or_else(structure)
}

fn from_number(given: &serde_json::Number, kinds: Kinds) -> Option<(Value, Change)> {
    let narrowed = || kinds.has(Kinds::INTEGER).then(|| number::narrowed(given))?;
    let text = || kinds.has(Kinds::STRING).then(|| number::text(given))?;
    narrowed()
        .map(|number| (number.into(), Change::NumberToInteger))
        .or_else(|| text().map(|text| (text.into(), Change::NumberToString)))
}

fn boolean(given: &str) -> Option<(Value, Change)> {
    let value = if given.eq_ignore_ascii_case("true") {
        true
    } else if given.eq_ignore_ascii_case("false") {
        false
    } else {
        return None;
    };
    Some((value.into(), Change::StringToBoolean))
}

/// Returns the one option that differs from the value only in case, else the one that differs only in type.
pub(crate) fn to_option(value: &Value, options: &[Value]) -> Option<(Value, Change)> {
    let only = |is_meant: &dyn Fn(&Value) -> bool| {
        let mut meant = options.iter().filter(|option| is_meant(option));
        let first = meant.next()?;
        meant.all(|other| is_same(first, other)).then(|| first.clone())
    };
    let lowered = value.as_str().map(str::to_lowercase);
    let is_case = |option: &Value| {
        lowered.is_some() && option.as_str().map(str::to_lowercase).as_deref() == lowered.as_deref()
    };
    let given = plain_text(value);
    let is_type = |option: &Value| given.is_some() && !option.is_null() && plain_text(option) == given;
    only(&is_case)
        .map(|option| (option, Change::EnumCase))
        .or_else(|| only(&is_type).map(|option| (option, Change::EnumType)))
}

/// Returns the text of a scalar, if it is unambiguous.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(given) => Some(given.to_string()),
        Value::Number(number) => number::text(number),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns true if JSON Schema treats two scalars as equal, such as `1` and `1.0`. Lists and objects must be equal.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            one.as_f64() == other.as_f64()
        }
        _ => one == other,
    }
}
