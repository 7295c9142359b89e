//! Schemas that are within the bounds of whoever checks values by them.

use std::collections::HashSet;

use serde_json::{Value, json};
use toolcrib_model::JsonObject;
use toolcrib_schema::CompiledSchema;

use super::definitions::{Schemas, size};

/// Keywords by which one value is checked by several schemas.
const COMPOSING: [&str; 6] = ["allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas"];

/// How many definitions of plain schemas cannot be nested too deep.
const MAX_UNCHECKED: usize = 64;

/// What references to definitions begin with.
const DEFINITIONS: &str = "#/$defs/";

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

    /// How many of so many definitions a schema can keep, as far as is known from those before it: what was too much of
    /// one schema of the document is too much of another, since they mostly hold the same.
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
        Some(format!("{left_out} parts of the schema are left out, and may be anything: {reason}"))
    }

    fn check(&mut self, schema: &Value) -> Result<(), String> {
        if self.take_check(size(schema)) {
            CompiledSchema::check_bounds(schema).map_err(|error| error.to_string())
        } else {
            Err("the schemas of the document take too long to check".into())
        }
    }
}

/// Takes out what nothing refers to any more. How many of the definitions from this one on are left.
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

/// Whether so many definitions may be too much for a checker.
fn needs_check(count: usize, is_composed: bool) -> bool {
    count > MAX_UNCHECKED || is_composed
}

/// What is left of a definition: what it is called, and its type.
pub(super) fn loosened(definition: &Value) -> Value {
    let kept = ["type", "title", "description"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), definition.get(key)?.clone())));
    json!(kept.collect::<JsonObject>())
}

/// Whether a schema, or one in it, holds a value against several others.
pub(super) fn is_composed(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(is_composed),
        Value::Object(map) => {
            COMPOSING.iter().any(|key| map.contains_key(*key)) || map.values().any(is_composed)
        }
        _ => false,
    }
}
