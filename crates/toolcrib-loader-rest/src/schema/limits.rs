//! Reduction of schemas to the limits of the validator.

use std::collections::HashSet;

use serde_json::{Value, json};
use toolcrib_model::JsonObject;
use toolcrib_schema::CompiledSchema;

use super::definitions::{Schemas, size};

/// Keywords that validate one value against several schemas.
const COMPOSING: [&str; 6] = ["allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas"];

/// The most definitions of plain schemas that cannot be nested too deep.
const MAX_UNCHECKED: usize = 64;

/// The prefix of references to definitions.
const DEFINITIONS: &str = "#/$defs/";

impl Schemas<'_> {
    /// Sorts the definitions of a schema, which must be ordered by their distance from the top. If validation could
    /// take too long, the farther half of the definitions, or more, is replaced by ones that permit any value. Returns
    /// a note about it.
    ///
    /// Documents compose schemas of schemas, which is cheap to write and may be expensive to validate. A usable tool is
    /// worth more than full validation of its arguments.
    pub(crate) fn fit(&mut self, schema: &mut Value) -> Option<String> {
        let definitions = schema.get("$defs").and_then(Value::as_object)?;
        let count = definitions.len();
        let note = if needs_check(count, definitions.values().any(is_composed)) {
            self.loosen(schema, count)
        } else {
            None
        };
        if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
            definitions.sort_keys();
        }
        note
    }

    /// Returns the number of definitions that a schema with `count` definitions can keep, according to earlier schemas.
    /// Definitions that were too many for one schema of the document are too many for another, since most of them are
    /// the same.
    pub(super) fn expected_to_fit(&self, count: usize, is_composed: bool) -> usize {
        match self.fitting {
            Some(fitting) if needs_check(count, is_composed) && count / 2 >= fitting => fitting,
            _ => count,
        }
    }

    fn loosen(&mut self, schema: &mut Value, count: usize) -> Option<String> {
        let mut kept = self.expected_to_fit(count, true);
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
        if kept == count {
            return None;
        }
        let reason = reason.unwrap_or_else(|| "it would take too long to check".into());
        let left_out = drop_unreachable(schema, kept);
        Some(format!("{left_out} parts of the schema are omitted and allow any value: {reason}"))
    }

    fn check(&mut self, schema: &Value) -> Result<(), String> {
        if self.take_check(size(schema)) {
            CompiledSchema::check_bounds(schema).map_err(|error| error.to_string())
        } else {
            Err("the schemas of the document take too long to check".into())
        }
    }
}

/// Removes the definitions without references. Returns how many of the remaining definitions are at or behind the
/// position `first`.
fn drop_unreachable(schema: &mut Value, first: usize) -> usize {
    let mut reached: HashSet<String> = HashSet::new();
    let mut pending: Vec<&Value> = vec![schema];
    let definitions = schema.get("$defs");
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(map) => {
                let name =
                    map.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix(DEFINITIONS));
                if let Some(name) = name
                    && reached.insert(name.to_owned())
                {
                    pending.extend(definitions.and_then(|definitions| definitions.get(name)));
                }
                let is_all = |value: &Value| definitions.is_some_and(|all| std::ptr::eq(all, value));
                pending.extend(map.values().filter(|value| !is_all(value)));
            }
            _ => {}
        }
    }
    let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) else { return 0 };
    let left_out = definitions.keys().skip(first).filter(|name| reached.contains(*name)).count();
    definitions.retain(|name, _| reached.contains(name));
    left_out
}

/// Returns true if this many definitions may exceed the limits of a validator.
fn needs_check(count: usize, is_composed: bool) -> bool {
    count > MAX_UNCHECKED || is_composed
}

/// Returns a reduced definition that keeps only the annotations and the type.
pub(super) fn loosened(definition: &Value) -> Value {
    let kept = ["type", "title", "description"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), definition.get(key)?.clone())));
    json!(kept.collect::<JsonObject>())
}

/// Returns true if the schema, or one inside it, validates a value against several others.
pub(super) fn is_composed(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(is_composed),
        Value::Object(map) => {
            COMPOSING.iter().any(|key| map.contains_key(*key)) || map.values().any(is_composed)
        }
        _ => false,
    }
}
