//! Helpers for JSON values.

use serde::de::{DeserializeSeed, Deserializer, Visitor};
use serde_json::Value;

/// A seed that deserializes any value with a visitor that carries state.
#[derive(Clone, Copy, Debug)]
pub struct AnySeed<V>(pub V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for AnySeed<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}

/// Escapes a name as a segment of a JSON pointer (RFC 6901): `~` and `/` become `~0` and `~1`.
///
/// ```
/// # use toolcrib_model::text::pointer_part;
/// assert_eq!(format!("/paths/{}", pointer_part("/pets/{id}")), "/paths/~1pets~1{id}");
/// ```
pub fn pointer_part(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the kind of a value for messages, in place of a value that could be too large.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Returns the number of bytes up to and including the closing quote of a JSON string whose opening quote precedes the
/// text; those of the whole text if nothing closes it.
///
/// ```
/// # use toolcrib_model::text::string_end;
/// assert_eq!(string_end(r#"a\"b", 1"#), 5);
/// ```
pub fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}
