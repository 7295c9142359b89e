//! Schemas that are within the bounds of whoever checks values by them.

use serde_json::{Value, json};
use toolcrib_model::JsonObject;
use toolcrib_schema::CompiledSchema;

use super::definitions::{Schemas, size};

/// Keywords by which one value is checked by several schemas.
const COMPOSING: [&str; 6] = ["allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas"];

/// How many definitions of plain schemas cannot be nested too deep.
const MAX_UNCHECKED: usize = 64;

impl Schemas<'_> {
    /// Sorts the definitions of a schema, which are in the order in which they are nearest to the top; and loosens a
    /// schema whose check could take too long: the farther half of what it refers to is then anything, or more of it.
    /// Returns what is to be told.
    ///
    /// Documents compose schemas of schemas, which is cheap to write and may be expensive to check. A tool is worth
    /// more than the check of all its arguments.
    pub(crate) fn fit(&mut self, schema: &mut Value) -> Option<String> {
        let definitions = schema.get("$defs").and_then(Value::as_object)?;
        let count = definitions.len();
        let note = if count > MAX_UNCHECKED || definitions.values().any(is_composed) {
            self.loosen(schema, count)
        } else {
            None
        };
        if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
            definitions.sort_keys();
        }
        note
    }

    fn loosen(&mut self, schema: &mut Value, count: usize) -> Option<String> {
        // What was too much of one schema of the document is too much of another: they mostly hold the same.
        let mut kept = self.fitting.filter(|fitting| count / 2 >= *fitting).unwrap_or(count);
        let mut reason = None;
        loop {
            let definitions = schema.get_mut("$defs").and_then(Value::as_object_mut)?;
            for definition in definitions.values_mut().skip(kept) {
                *definition = loosened(definition);
            }
            match self.check(schema) {
                Err(error) if kept > 0 => {
                    reason = Some(error);
                    kept /= 2;
                    self.fitting = Some(kept);
                }
                _ => break,
            }
        }
        let reason = reason.unwrap_or_else(|| "it would take too long to check".into());
        (kept < count).then(|| {
            format!("{} parts of the schema are left out, and may be anything: {reason}", count - kept)
        })
    }

    fn check(&mut self, schema: &Value) -> Result<(), String> {
        if self.take_check(size(schema)) {
            CompiledSchema::check_bounds(schema).map_err(|error| error.to_string())
        } else {
            Err("the schemas of the document take too long to check".into())
        }
    }
}

/// What is left of a definition: what it is called, and its type.
fn loosened(definition: &Value) -> Value {
    let kept = ["type", "title", "description"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), definition.get(key)?.clone())));
    json!(kept.collect::<JsonObject>())
}

/// Whether a schema, or one in it, holds a value against several others.
fn is_composed(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(is_composed),
        Value::Object(map) => {
            COMPOSING.iter().any(|key| map.contains_key(*key)) || map.values().any(is_composed)
        }
        _ => false,
    }
}
