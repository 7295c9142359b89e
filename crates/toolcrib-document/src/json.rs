//! JSON text, with duplicate keys refused.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::big_integers::{self, ExactIntegers, Node};
use crate::error::shown;
use crate::{Error, Position};

/// The prefix that identifies the duplicate-key error after it has passed through `serde_json`.
const DUPLICATE: &str = "duplicate key ";

/// From here on an integer may need more than 64 bits: 2⁶³.
const WIDE: f64 = 9_223_372_036_854_775_808.0;

/// A JSON value of which no object has the same key twice, for readers of single values: two readers may take different
/// ones, and what one checks the other would not run.
///
/// ```
/// use toolcrib_document::StrictValue;
///
/// let value: StrictValue = serde_json::from_str(r#"{"path": "a"}"#)?;
/// assert_eq!(value.0["path"], "a");
/// let error = serde_json::from_str::<StrictValue>(r#"{"path": "a", "path": "b"}"#).unwrap_err();
/// assert_eq!(error.to_string(), "duplicate key path at line 1 column 20");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StrictValue(pub Value);

impl StrictValue {
    /// Parses a JSON text. Refuses duplicate keys, and integers beyond 64 bits, which a [`Value`] would round.
    ///
    /// ```
    /// use toolcrib_document::StrictValue;
    ///
    /// let error = StrictValue::parse(r#"{"id": 18446744073709551616}"#).unwrap_err().to_string();
    /// assert!(error.starts_with("the integer 18446744073709551616 at `/id` needs more than 64 bits"));
    /// ```
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        let (value, exact) = strict(text)?;
        match exact.iter().find(|(_, digits)| *digits != "0") {
            None => Ok(Self(value)),
            Some((pointer, digits)) => Err(de::Error::custom(too_wide(pointer, digits))),
        }
    }
}

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

pub(crate) fn read(text: &str) -> Result<Node, Error> {
    read_from_line(text, 1)
}

pub(crate) fn read_lines(text: &str) -> Result<Node, Error> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let mut items = Vec::new();
    let mut exact = ExactIntegers::new();
    for (line, number) in lines {
        let node = read_from_line(line, number)?;
        exact.extend(
            node.exact.into_iter().map(|(pointer, digits)| (format!("/{}{pointer}", items.len()), digits)),
        );
        items.push(node.value);
    }
    Ok(Node { value: Value::Array(items), exact })
}

fn read_from_line(text: &str, first_line: usize) -> Result<Node, Error> {
    let (value, exact) = refused(strict(text), first_line)?;
    Ok(Node { value, exact })
}

fn strict(text: &str) -> serde_json::Result<(Value, ExactIntegers)> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let StrictValue(value) = StrictValue::deserialize(&mut deserializer)?;
    deserializer.end()?;
    let exact = if has_wide_number(&value) { big_integers::find(text, &value) } else { ExactIntegers::new() };
    Ok((value, exact))
}

/// Returns true if a value holds a float that may have been written as an integer beyond 64 bits.
fn has_wide_number(value: &Value) -> bool {
    let is_wide = |number: f64| number.fract() == 0.0 && (number == 0.0 || number.abs() >= WIDE);
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(is_wide),
        Value::Array(items) => items.iter().any(has_wide_number),
        Value::Object(members) => members.values().any(has_wide_number),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Returns the message for an integer that would be rounded.
pub(crate) fn too_wide(pointer: &str, digits: &str) -> String {
    let digits = shown(digits);
    format!(
        "the integer {digits} at `{pointer}` needs more than 64 bits and would be rounded; write it as a text, in quotes"
    )
}

fn refused<T>(value: serde_json::Result<T>, first_line: usize) -> Result<T, Error> {
    value.map_err(|error| {
        let position =
            Position { line: first_line + error.line().saturating_sub(1), column: error.column().max(1) };
        let message = error.to_string();
        // serde_json appends the position to its message; this crate puts it first.
        let message = message.split(" at line ").next().unwrap_or(&message);
        match message.strip_prefix(DUPLICATE) {
            Some(key) => Error::DuplicateKey { position, key: key.into() },
            None if message.starts_with("recursion limit") => Error::TooDeep { position },
            None => Error::Syntax { position, message: format!("not valid JSON: {message}") },
        }
    })
}

/// A visitor of any JSON value that refuses duplicate keys, of which two parsers may take different ones.
struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = StrictValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<StrictValue, E> {
        Ok(StrictValue(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<StrictValue, E> {
        Ok(StrictValue(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<StrictValue, E> {
        Ok(StrictValue(Value::Number(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<StrictValue, E> {
        Ok(StrictValue(Value::Number(value.into())))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<StrictValue, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("number out of range"))?;
        Ok(StrictValue(Value::Number(number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<StrictValue, E> {
        Ok(StrictValue(Value::String(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<StrictValue, E> {
        Ok(StrictValue(Value::String(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<StrictValue, A::Error> {
        let mut items = Vec::new();
        while let Some(StrictValue(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(StrictValue(Value::Array(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<StrictValue, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            match map.entry(key) {
                Entry::Vacant(vacant) => {
                    let StrictValue(value) = access.next_value()?;
                    vacant.insert(value);
                }
                Entry::Occupied(twin) => {
                    return Err(de::Error::custom(format!("{DUPLICATE}{}", shown(twin.key()))));
                }
            }
        }
        Ok(StrictValue(Value::Object(map)))
    }
}
