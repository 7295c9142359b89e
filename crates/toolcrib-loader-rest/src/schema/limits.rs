//! Reduction of schemas to the limits of the validator.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::{JsonObject, Schema};

use super::bundled_definition::{BundledDefinition, size};
use super::definitions::Schemas;

/// The most definitions of plain schemas that cannot be nested too deep.
const MAX_UNCHECKED: usize = 64;

/// The prefix of references to definitions.
const DEFINITIONS: &str = "#/$defs/";

impl Schemas<'_> {
    /// Makes a schema of its keywords and its definitions, which must be ordered by their distance from the top. If
    /// validation could take too long, the farther half of the definitions, or more, is replaced by ones that permit any
    /// value. Returns a note about it.
    ///
    /// Documents compose schemas of schemas, which is cheap to write and may be expensive to validate. A usable tool is
    /// worth more than full validation of its arguments.
    pub(crate) fn fit(
        &mut self,
        root: Value,
        definitions: Vec<BundledDefinition>,
    ) -> (Schema, Option<String>) {
        let Value::Object(keywords) = root else { return (root.into(), None) };
        let is_composed = definitions.iter().any(|definition| definition.is_composed);
        if needs_check(definitions.len(), is_composed) {
            return self.loosen(keywords, definitions);
        }
        (sorted(keywords, &definitions), None)
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

    fn loosen(
        &mut self,
        keywords: JsonObject,
        mut definitions: Vec<BundledDefinition>,
    ) -> (Schema, Option<String>) {
        let count = definitions.len();
        let mut kept = self.expected_to_fit(count, true);
        let mut reason = None;
        let mut schema = Schema::new(keywords, Vec::new());
        loop {
            for definition in definitions.iter_mut().skip(kept) {
                *definition = definition.clone().loosened();
            }
            schema = sorted(schema.as_object().cloned().unwrap_or_default(), &definitions);
            match self.check(&schema, &definitions) {
                Err(error) if kept > 0 => {
                    reason = Some(error);
                    kept /= 2;
                    self.fitting = Some(kept);
                }
                _ => break,
            }
        }
        if kept == count {
            return (schema, None);
        }
        let reason = reason.unwrap_or_else(|| "it would take too long to check".into());
        let reached = reached(&schema);
        let is_reached = |definition: &BundledDefinition| reached.contains(&*definition.definition.name);
        let left_out = definitions.iter().skip(kept).filter(|definition| is_reached(definition)).count();
        definitions.retain(is_reached);
        let schema = sorted(schema.as_object().cloned().unwrap_or_default(), &definitions);
        (schema, Some(format!("{left_out} parts of the schema are omitted and allow any value: {reason}")))
    }

    fn check(&mut self, schema: &Schema, definitions: &[BundledDefinition]) -> Result<(), String> {
        let of_definitions = 1 + definitions.iter().map(|definition| definition.size).sum::<usize>();
        if self.take_check(size(schema.root()) + of_definitions) {
            self.bounds.check(schema).map_err(|error| error.to_string())
        } else {
            Err("the schemas of the document take too long to check".into())
        }
    }
}

fn sorted(keywords: JsonObject, definitions: &[BundledDefinition]) -> Schema {
    let mut shared: Vec<_> = definitions.iter().map(|found| Arc::clone(&found.definition)).collect();
    shared.sort_by(|one, other| one.name.cmp(&other.name));
    Schema::new(keywords, shared)
}

/// Returns the names of the definitions that the root refers to, directly or indirectly.
fn reached(schema: &Schema) -> HashSet<&str> {
    let mut reached: HashSet<&str> = HashSet::new();
    let mut pending: Vec<&Value> = vec![schema.root()];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(map) => {
                let name =
                    map.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix(DEFINITIONS));
                if let Some(name) = name
                    && reached.insert(name)
                {
                    pending.extend(schema.definition(name));
                }
                pending.extend(map.values());
            }
            _ => {}
        }
    }
    reached
}

/// Returns true if this many definitions may exceed the limits of a validator.
fn needs_check(count: usize, is_composed: bool) -> bool {
    count > MAX_UNCHECKED || is_composed
}
