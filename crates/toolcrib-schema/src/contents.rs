//! Properties of a schema that are computed in one pass, and its limits.

use serde_json::Value;
use toolcrib_model::tool::PerDefinition;
use toolcrib_model::{JsonObject, Schema};

use crate::Error;
use crate::limits::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES};
use crate::pattern_cost::{Cost, MAX_PATTERN_STATES};
use crate::schema_cost::{Graph, NAMING};

/// The depth of a definition in a schema.
const DEFINITION_DEPTH: usize = 2;

/// Properties of a schema, or of a part of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Contents {
    nodes: u64,
    depth: usize,
    /// The nodes, and what the patterns reach at once.
    pub(crate) weight: u64,
    pub(crate) pattern_states: u64,
    pub(crate) has_defaults: bool,
    pub(crate) has_integers: bool,
    /// True if a part has a name that a reference may use.
    has_names: bool,
}

impl Contents {
    /// Returns the properties of a schema at this depth. What is beyond the limits is not looked at.
    pub(crate) fn of(schema: &Value, depth: usize) -> Self {
        let mut contents = Self::default();
        // A list of what is left to look at, so that the check itself needs no stack.
        let mut left = vec![(schema, depth)];
        while let Some((value, depth)) = left.pop() {
            contents.nodes += 1;
            contents.depth = contents.depth.max(depth);
            if contents.check().is_err() {
                break;
            }
            match value {
                Value::Array(items) => left.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(map) => {
                    contents.add_patterns(map);
                    contents.has_defaults |= map.get("default").is_some_and(|default| !default.is_null());
                    contents.has_names |= NAMING.iter().any(|key| map.contains_key(*key));
                    left.extend(map.values().map(|item| (item, depth + 1)));
                }
                Value::String(text) => contents.has_integers |= text == "integer",
                _ => {}
            }
        }
        contents.weight = contents.weight.saturating_add(contents.nodes);
        contents
    }

    /// Refuses a schema that is too large or too deep.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.nodes > MAX_SCHEMA_NODES {
            Err(Error::TooLarge)
        } else if self.depth > MAX_SCHEMA_DEPTH {
            Err(Error::TooDeep)
        } else {
            Ok(())
        }
    }

    fn add_patterns(&mut self, map: &JsonObject) {
        let own = map.get("pattern").and_then(Value::as_str);
        let names = map.get("patternProperties").and_then(Value::as_object);
        for pattern in own.into_iter().chain(names.into_iter().flat_map(JsonObject::keys).map(String::as_str))
        {
            if self.pattern_states <= MAX_PATTERN_STATES {
                let cost = Cost::of(pattern);
                self.pattern_states = self.pattern_states.saturating_add(cost.to_compile());
                self.weight = self.weight.saturating_add(cost.width);
            }
        }
    }
}

/// A check of the limits of several schemas, which measures each of their shared definitions once.
#[derive(Debug, Default)]
pub struct BoundsCheck(PerDefinition<Contents>);

impl BoundsCheck {
    /// Checks that a schema is within the limits of size, depth and work of
    /// [`CompiledSchema::compile`](crate::CompiledSchema::compile). It finds no other errors, and takes a fraction of the
    /// time.
    pub fn check(&self, schema: &Schema) -> Result<(), Error> {
        let mut whole = Contents::of(schema.root(), 0);
        // The value of `$defs` itself.
        whole.nodes += u64::from(!schema.definitions().is_empty());
        let mut named = Vec::new();
        for definition in schema.definitions() {
            let contents = self.0.get(definition, |found| Contents::of(&found.schema, DEFINITION_DEPTH));
            whole.nodes = whole.nodes.saturating_add(contents.nodes);
            whole.depth = whole.depth.max(contents.depth);
            if contents.has_names {
                named.push(&definition.schema);
            }
        }
        whole.check()?;
        Graph::of(schema, &named).check().map(|_| ())
    }
}
