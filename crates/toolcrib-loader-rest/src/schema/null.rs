//! `nullable`, which JSON Schema 2020-12 says by `type` or as an alternative.

use serde_json::{Value, json};
use toolcrib_model::JsonObject;

/// Keywords that describe a value and do not restrict it.
pub(crate) const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "deprecated"];

/// The same schema, which takes null as well.
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
    // What stands beside the parts of a composition must not keep null out, so null is an alternative to all of it.
    let (mut outside, inside): (JsonObject, JsonObject) =
        schema.into_iter().partition(|(key, _)| ANNOTATIONS.contains(&key.as_str()));
    outside.insert("anyOf".into(), json!([inside, {"type": "null"}]));
    outside
}
