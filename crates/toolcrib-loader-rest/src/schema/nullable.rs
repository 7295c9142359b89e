//! `nullable`, which JSON Schema 2020-12 expresses by `type` or as an alternative.

use serde_json::{Value, json};
use toolcrib_model::JsonObject;

/// Keywords that describe a value and do not restrict it.
pub(crate) const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "deprecated"];

/// Returns the schema extended by null.
pub(super) fn with_null(mut schema: JsonObject) -> JsonObject {
    let null = Value::from("null");
    if let Some(Value::Array(members)) = schema.get_mut("enum")
        && !members.contains(&Value::Null)
    {
        members.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) if types.contains(&null) => return schema,
        Some(Value::Array(types)) => types.push(null),
        Some(single) if *single == null => return schema,
        Some(single) => *single = Value::Array(vec![single.take(), null]),
        None => {}
    }
    if !["$ref", "allOf", "anyOf", "oneOf", "not", "const"].iter().any(|key| schema.contains_key(*key)) {
        return schema;
    }
    // Keywords next to a composition must not exclude null, so null becomes an alternative to the whole.
    let (mut outside, inside): (JsonObject, JsonObject) =
        schema.into_iter().partition(|(key, _)| ANNOTATIONS.contains(&key.as_str()));
    outside.insert("anyOf".into(), json!([inside, {"type": "null"}]));
    outside
}
