//! Exclusive bounds as draft 4 writes them.
//!
//! Later drafts write `exclusiveMinimum: 3`; draft 4 writes `minimum: 3, exclusiveMinimum: true`. Schemas that name no draft
//! are of the latest one, where a flag is an error, although many generators still write it.

use serde_json::{Map, Value};

use crate::limits::MAX_SCHEMA_DEPTH;
use crate::schema_cost::Subschemas;

/// The flags of draft 4, and the bound that each makes exclusive.
const FLAGS: [(&str, &str); 2] = [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")];

/// Returns the schema with exclusive bounds as numbers; `None` when it has no flags, or says that it is of draft 4.
///
/// ```
/// # use serde_json::json;
/// let schema = json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true});
/// let rewritten = toolcrib_schema::with_numeric_bounds(&schema);
/// assert_eq!(rewritten, Some(json!({"type": "integer", "exclusiveMinimum": 0})));
/// ```
pub fn with_numeric_bounds(schema: &Value) -> Option<Value> {
    let draft = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    if draft.contains("draft-04") || !has_flag(schema) {
        return None;
    }
    let mut rewritten = schema.clone();
    rewrite(&mut rewritten, 0);
    (rewritten != *schema).then_some(rewritten)
}

/// Returns true if any object, schema or not, has a flag. Not recursive, since the depth has not been checked yet.
fn has_flag(schema: &Value) -> bool {
    let mut pending = vec![schema];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(map) => {
                if FLAGS.iter().any(|(flag, _)| map.get(*flag).is_some_and(Value::is_boolean)) {
                    return true;
                }
                pending.extend(map.values());
            }
            _ => {}
        }
    }
    false
}

/// Rewrites the flags of a schema and of those inside. Below [`MAX_SCHEMA_DEPTH`] all stays as it is: it compiles in no case.
fn rewrite(schema: &mut Value, depth: usize) {
    let Value::Object(map) = schema else { return };
    if depth > MAX_SCHEMA_DEPTH {
        return;
    }
    for (key, value) in map.iter_mut() {
        match Subschemas::of_keyword(key) {
            Some(Subschemas::Named) => {
                let named = value.as_object_mut().into_iter().flat_map(Map::values_mut);
                named.for_each(|one| rewrite(one, depth + 1));
            }
            Some(Subschemas::One | Subschemas::OneOrList) => match value {
                Value::Array(items) => items.iter_mut().for_each(|one| rewrite(one, depth + 1)),
                one => rewrite(one, depth + 1),
            },
            None => {}
        }
    }
    for (flag, bound) in FLAGS {
        let Some(is_set) = map.get(flag).and_then(Value::as_bool) else { continue };
        let number = map.get(bound).filter(|number| is_set && number.is_number()).cloned();
        match number {
            Some(number) => {
                map.insert(flag.to_owned(), number);
                map.shift_remove(bound);
            }
            None => _ = map.shift_remove(flag),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::with_numeric_bounds;

    #[test]
    fn flags_become_bounds_in_every_schema_and_in_no_value() {
        let flag = json!({"exclusiveMinimum": true, "minimum": 1});
        let schema = json!({
            "properties": {
                "exclusiveMinimum": {"type": "boolean", "default": true, "enum": [flag]},
                "pages": {"items": {"type": "integer", "minimum": 0, "exclusiveMinimum": true}},
                "share": {"anyOf": [{"maximum": 1, "exclusiveMaximum": false}, {"exclusiveMaximum": true}]},
            },
            "examples": [flag],
        });
        let expected = json!({
            "properties": {
                "exclusiveMinimum": {"type": "boolean", "default": true, "enum": [flag]},
                "pages": {"items": {"type": "integer", "exclusiveMinimum": 0}},
                "share": {"anyOf": [{"maximum": 1}, {}]},
            },
            "examples": [flag],
        });
        assert_eq!(with_numeric_bounds(&schema), Some(expected.clone()));
        assert_eq!(with_numeric_bounds(&expected), None);
    }

    #[test]
    fn a_schema_of_draft_4_stays_as_it_is() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-04/schema#", "minimum": 0, "exclusiveMinimum": true,
        });
        assert_eq!(with_numeric_bounds(&schema), None);
    }
}
