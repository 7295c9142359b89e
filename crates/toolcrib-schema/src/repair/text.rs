//! Lists and objects that were written as text.
//!
//! Two parsers must never read such a text differently. Texts with a duplicate name, a name with a NUL, a number that would
//! be rounded, or an unpaired surrogate are refused.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, DeserializeSeed as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use toolcrib_model::text::AnySeed;

use super::number;

/// The maximum length of a text, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 256 << 10;

/// The maximum nesting of a text.
pub(crate) const MAX_TEXT_DEPTH: usize = 64;

/// Parses a text that is exactly one list or one object.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    let is_structure = text.trim_start().starts_with(['{', '[']);
    if !is_structure {
        return Err("it is neither a list nor an object".into());
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("it is longer than {MAX_TEXT_BYTES} bytes"));
    }
    let rest = Cell::new(text);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    AnySeed(Exact { rest: &rest, depth: 0 })
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| error.to_string())
}

/// A visitor of any JSON value. Numbers are parsed again from the text itself, which alone has their exact notation.
#[derive(Clone, Copy)]
struct Exact<'a> {
    rest: &'a Cell<&'a str>,
    depth: usize,
}

impl Exact<'_> {
    fn number<E: de::Error>(self) -> Result<Value, E> {
        let (token, rest) = next_number(self.rest.get());
        self.rest.set(rest);
        let inexact = || E::custom("a number in it has more digits than can be kept");
        number::exact(token).map(Value::Number).ok_or_else(inexact)
    }

    fn below<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_TEXT_DEPTH {
            return Err(E::custom(format!("it is nested deeper than {MAX_TEXT_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> Visitor<'de> for Exact<'_> {
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

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Value, E> {
        self.number()
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Value, E> {
        self.number()
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Value, E> {
        self.number()
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(AnySeed(below))? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut map = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            if name.contains('\0') {
                return Err(de::Error::custom("a name in it holds the character NUL"));
            }
            if map.contains_key(&name) {
                return Err(de::Error::custom("it has a duplicate name"));
            }
            let member = access.next_value_seed(AnySeed(below))?;
            map.insert(name, member);
        }
        Ok(Value::Object(map))
    }
}

/// Returns the first number outside of quotes, and the rest of the text.
fn next_number(text: &str) -> (&str, &str) {
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let mut is_quoted = false;
    let mut bytes = text.bytes().enumerate();
    while let Some((start, byte)) = bytes.next() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\\' if is_quoted => {
                bytes.next();
            }
            b'-' | b'0'..=b'9' if !is_quoted => {
                let rest = text.get(start..).unwrap_or_default();
                let length = rest.bytes().take_while(|byte| is_part(*byte)).count();
                return rest.split_at_checked(length).unwrap_or_default();
            }
            _ => {}
        }
    }
    ("", "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_read_when_all_readers_agree_on_it() {
        for (text, expected) in [
            (r#"{"a": 1, "b": [true, null, "x"]}"#, Some(json!({"a": 1, "b": [true, null, "x"]}))),
            (" [1, 2.50, -3e2]\n", Some(json!([1, 2.5, -300.0]))),
            (r#"["1\"2", {"3": "\\"}, 4]"#, Some(json!(["1\"2", {"3": "\\"}, 4]))),
            (r#"{"id": 18446744073709551615}"#, Some(json!({"id": u64::MAX}))),
            (r#"{"😀": "\ud83d\ude00"}"#, Some(json!({"😀": "😀"}))),
            (r#"{"a": 1, "a": 2}"#, None),
            (r#"{"a": 1, "\u0061": 2}"#, None),
            (r#"{"a": {"b": 1, "b": 1}}"#, None),
            (r#"{"a\u0000": 1}"#, None),
            (r#"["\ud800"]"#, None),
            (r#"["\udc00x"]"#, None),
            ("[1e400]", None),
            ("[18446744073709551617]", None),
            ("[01]", None),
            ("[1] [2]", None),
            ("[1,]", None),
            ("{'a': 1}", None),
            ("{a: 1}", None),
            ("[NaN]", None),
            ("[1] // one", None),
            ("5", None),
            ("\"[1]\"", None),
            ("", None),
        ] {
            assert_eq!(read(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn texts_are_read_within_bounds() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(MAX_TEXT_DEPTH)).is_ok());
        assert!(read(&nested(MAX_TEXT_DEPTH + 1)).unwrap_err().contains("nested deeper"));
        assert!(read(&nested(100_000)).is_err());
        let long = |length: usize| format!("[\"{}\"]", "x".repeat(length - 4));
        assert!(read(&long(MAX_TEXT_BYTES)).is_ok());
        assert!(read(&long(MAX_TEXT_BYTES + 1)).unwrap_err().contains("longer"));
    }
}
