//! JSON text, with duplicate keys refused.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::error::shown;
use crate::exact::{self, ExactIntegers, Node};
use crate::{Error, Position};

/// How the duplicate-key error is told from others after it has passed through `serde_json`.
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
    /// Parses a JSON text. Besides duplicate keys it refuses integers beyond 64 bits, which a [`Value`] could hold only
    /// rounded.
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
        deserializer.deserialize_any(Strict { has_wide_number: &Cell::new(false) }).map(Self)
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
    let has_wide_number = Cell::new(false);
    let value = Strict { has_wide_number: &has_wide_number }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    let exact = if has_wide_number.get() { exact::find(text, &value) } else { ExactIntegers::new() };
    Ok((value, exact))
}

/// Says that an integer cannot be taken, and what to do.
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
        // serde_json puts the place behind its message; ours stands before it.
        let message = message.split(" at line ").next().unwrap_or(&message);
        match message.strip_prefix(DUPLICATE) {
            Some(key) => Error::DuplicateKey { position, key: key.into() },
            None if message.starts_with("recursion limit") => Error::TooDeep { position },
            None => Error::Syntax { position, message: format!("not valid JSON: {message}") },
        }
    })
}

/// Reads any JSON value; a key that stands twice is an error, since two readers may take different ones.
#[derive(Clone, Copy)]
struct Strict<'a> {
    /// Set when a float was read that may be an integer beyond 64 bits.
    has_wide_number: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        if value.fract() == 0.0 && (value == 0.0 || value.abs() >= WIDE) {
            self.has_wide_number.set(true);
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            match map.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(access.next_value_seed(self)?);
                }
                Entry::Occupied(twin) => {
                    return Err(de::Error::custom(format!("{DUPLICATE}{}", shown(twin.key()))));
                }
            }
        }
        Ok(Value::Object(map))
    }
}
