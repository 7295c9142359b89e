//! Small things that everybody says of JSON values in the same way.

use serde_json::Value;

/// A name as one part of a JSON pointer (RFC 6901): `~` and `/` are written as `~0` and `~1`.
///
/// ```
/// # use toolcrib_model::pointer_part;
/// assert_eq!(format!("/paths/{}", pointer_part("/pets/{id}")), "/paths/~1pets~1{id}");
/// ```
pub fn pointer_part(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// What a value is, for messages: a value itself may be of any size.
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
