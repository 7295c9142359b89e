//! One pass over a schema: OpenAPI's own keywords are rewritten, references are gathered into `$defs`.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use crate::Error;
use crate::spec::{Dialect, Spec};
use crate::unique::UniqueNames;

/// The most values of one tool's schema, `$defs` included. The largest of a public API has some 30,000.
const MAX_SCHEMA_NODES: usize = 100_000;

/// The most values of all schemas made from one document, because every tool carries its own `$defs`.
const MAX_DOCUMENT_NODES: usize = 4_000_000;

/// Keywords that say nothing to a model or a validator, or that mean something else once the schema has moved.
const DROPPED: [&str; 15] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$schema",
    "$vocabulary",
    "definitions",
    "discriminator",
    "externalDocs",
    "id",
    "nullable",
    "readOnly",
    "writeOnly",
    "xml",
];

/// Keywords that describe a value and do not restrict it.
const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "deprecated"];

/// Which way the values of a schema go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the server: what is `readOnly` is left out.
    Input,
    /// From the server: what is `writeOnly` is left out.
    Output,
}

/// What the conversions of one document share.
#[derive(Debug)]
pub(crate) struct Budget {
    /// How many values the schemas may still have.
    nodes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { nodes: MAX_DOCUMENT_NODES }
    }
}

/// Converts the schemas of one tool, in one direction.
pub(crate) struct Converter<'a, 'b> {
    spec: Spec<'a>,
    direction: Direction,
    budget: &'b mut Budget,
    nodes: usize,
    names: HashMap<String, String>,
    taken: UniqueNames,
    pending: Vec<(String, &'a Value)>,
}

impl<'a, 'b> Converter<'a, 'b> {
    pub(crate) fn new(spec: Spec<'a>, direction: Direction, budget: &'b mut Budget) -> Self {
        Self {
            spec,
            direction,
            budget,
            nodes: 0,
            names: HashMap::new(),
            taken: UniqueNames::default(),
            pending: Vec::new(),
        }
    }

    /// Converts a schema. Its references point into the `$defs` that [`definitions`](Self::definitions) returns.
    pub(crate) fn convert(&mut self, schema: &'a Value) -> Result<Value, Error> {
        match schema {
            Value::Object(map) => self.object(map),
            Value::Bool(_) => Ok(schema.clone()),
            Value::Null => Ok(json!({})),
            other => Err(Error::malformed(format!("a schema must be an object, not {other}"))),
        }
    }

    /// Converts a schema, and what it refers to in its place, so that its own keywords can be seen.
    pub(crate) fn convert_top(&mut self, schema: &'a Value) -> Result<Value, Error> {
        let restricts = |key: &String| key != "$ref" && !ANNOTATIONS.contains(&key.as_str());
        match schema.as_object() {
            Some(map) if self.spec.dialect == Dialect::OpenApi31 && map.keys().any(restricts) => {
                self.convert(schema)
            }
            _ => {
                let resolved = self.spec.resolve(schema)?;
                self.convert(resolved)
            }
        }
    }

    /// Everything that the converted schemas refer to, by its name in `$defs`.
    pub(crate) fn definitions(mut self) -> Result<JsonObject, Error> {
        let mut definitions = JsonObject::new();
        while let Some((name, schema)) = self.pending.pop() {
            let converted = self.convert(schema)?;
            definitions.insert(name, converted);
        }
        definitions.sort_keys();
        Ok(definitions)
    }

    fn object(&mut self, map: &'a JsonObject) -> Result<Value, Error> {
        self.count(1)?;
        let is_reference = map.contains_key("$ref");
        let mut out = JsonObject::new();
        for (key, value) in map {
            let counts = !is_reference
                || self.spec.dialect == Dialect::OpenApi31
                || matches!(key.as_str(), "$ref" | "description");
            if counts && !is_dropped(map, key, value) {
                let (key, value) = self.keyword(map, key, value)?;
                out.insert(key.to_owned(), value);
            }
        }
        // Strictly, `nullable` counts beside a `type` only; authors who write it elsewhere mean it all the same.
        if is_set(map, "nullable") {
            out = with_null(out);
        }
        Ok(Value::Object(out))
    }

    fn keyword<'k>(
        &mut self,
        map: &'a JsonObject,
        key: &'k str,
        value: &'a Value,
    ) -> Result<(&'k str, Value), Error> {
        Ok(match (key, value) {
            ("$ref", Value::String(reference)) => (key, self.reference(reference)?),
            ("$ref", other) => return Err(Error::malformed(format!("a `$ref` must be a text, not {other}"))),
            ("$dynamicRef" | "$recursiveRef", _) => {
                return Err(Error::unsupported(format!("the keyword `{key}`")));
            }
            ("properties", Value::Object(properties)) => (key, self.properties(properties)?),
            ("patternProperties" | "dependentSchemas", Value::Object(schemas)) => (key, self.map(schemas)?),
            ("required", Value::Array(names)) => {
                self.count(names.len())?;
                (key, self.required(map, names))
            }
            ("items", Value::Array(schemas)) => ("prefixItems", self.list(schemas)?),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                (key, self.list(schemas)?)
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "contains"
                | "propertyNames"
                | "if"
                | "then"
                | "else"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "contentSchema",
                schema,
            ) => (key, self.convert(schema)?),
            ("minimum", bound) if is_set(map, "exclusiveMinimum") => ("exclusiveMinimum", bound.clone()),
            ("maximum", bound) if is_set(map, "exclusiveMaximum") => ("exclusiveMaximum", bound.clone()),
            ("format", Value::String(format)) if format == "byte" => ("contentEncoding", "base64".into()),
            ("example", example) => ("examples", vec![self.copy(example)?].into()),
            (_, value) => (key, self.copy(value)?),
        })
    }

    fn copy(&mut self, value: &Value) -> Result<Value, Error> {
        self.count(size(value))?;
        Ok(value.clone())
    }

    fn list(&mut self, schemas: &'a [Value]) -> Result<Value, Error> {
        schemas.iter().map(|schema| self.convert(schema)).collect()
    }

    fn map(&mut self, schemas: &'a JsonObject) -> Result<Value, Error> {
        schemas.iter().map(|(name, schema)| Ok((name.clone(), self.convert(schema)?))).collect()
    }

    fn properties(&mut self, properties: &'a JsonObject) -> Result<Value, Error> {
        let mut out = JsonObject::new();
        for (name, schema) in properties {
            if !self.is_hidden(schema) {
                out.insert(name.clone(), self.convert(schema)?);
            }
        }
        Ok(Value::Object(out))
    }

    fn required(&self, map: &'a JsonObject, names: &'a [Value]) -> Value {
        let properties = map.get("properties");
        let mut seen = HashSet::new();
        let is_asked_for = |name: &&'a Value| {
            let property = name.as_str().and_then(|name| properties?.get(name));
            !property.is_some_and(|schema| self.is_hidden(schema)) && seen.insert(*name)
        };
        names.iter().filter(is_asked_for).cloned().collect()
    }

    /// Whether a property goes the other way only. A reference that leads nowhere is reported when it is converted.
    fn is_hidden(&self, schema: &'a Value) -> bool {
        let keyword = match self.direction {
            Direction::Input => "readOnly",
            Direction::Output => "writeOnly",
        };
        let is_hidden = |schema: &Value| schema.as_object().is_some_and(|map| is_set(map, keyword));
        is_hidden(schema) || self.spec.resolve(schema).is_ok_and(is_hidden)
    }

    fn reference(&mut self, reference: &str) -> Result<Value, Error> {
        let (pointer, target) = self.spec.target(reference)?;
        if let Some(name) = self.names.get(&pointer) {
            return Ok(definition_reference(name));
        }
        // A chain of references that only leads back to itself would send a validator round and round.
        self.spec.resolve(target)?;
        let wanted = definition_name(&pointer);
        let name = self.taken.take_numbered(&wanted, |wanted, count| format!("{wanted}_{count}"));
        self.names.insert(pointer, name.clone());
        self.pending.push((name.clone(), target));
        Ok(definition_reference(&name))
    }

    fn count(&mut self, nodes: usize) -> Result<(), Error> {
        self.nodes += nodes;
        if self.nodes > MAX_SCHEMA_NODES {
            return Err(Error::TooLarge { what: "the schema of the operation", max: MAX_SCHEMA_NODES });
        }
        let left = self.budget.nodes.checked_sub(nodes);
        self.budget.nodes = left.unwrap_or(0);
        match left {
            Some(_) => Ok(()),
            None => Err(Error::TooLarge {
                what: "the schemas of all operations together",
                max: MAX_DOCUMENT_NODES,
            }),
        }
    }
}

/// Whether a keyword of a schema is left out: it says nothing here, another says it better, or it is not what the name
/// means today.
fn is_dropped(map: &JsonObject, key: &str, value: &Value) -> bool {
    match key {
        "properties" => value.is_null(),
        // As a flag on the property itself it is from before JSON Schema had the list.
        "required" => value.is_null() || value.is_boolean(),
        // As a flag it goes with `minimum` or `maximum`.
        "exclusiveMinimum" | "exclusiveMaximum" => value.is_boolean(),
        "example" => map.get("examples").is_some_and(Value::is_array),
        "examples" => !value.is_array(),
        _ => key.starts_with("x-") || DROPPED.contains(&key),
    }
}

fn is_set(map: &JsonObject, key: &str) -> bool {
    map.get(key) == Some(&Value::Bool(true))
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

fn definition_reference(name: &str) -> Value {
    format!("#/$defs/{name}").into()
}

/// The name of a component, or the path to what is not one. Only characters that need no escape in a reference.
fn definition_name(pointer: &str) -> String {
    let plain = pointer
        .strip_prefix("/components/schemas/")
        .filter(|rest| !rest.contains('/'))
        .unwrap_or_else(|| pointer.trim_start_matches('/'));
    let name: String =
        plain.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    if name.is_empty() { "document".into() } else { name }
}

/// The same schema, which takes null as well.
fn with_null(mut schema: JsonObject) -> JsonObject {
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
    if !["$ref", "allOf", "anyOf", "oneOf"].iter().any(|key| schema.contains_key(*key)) {
        return schema;
    }
    // What stands beside the parts of a composition must not keep null out, so null is an alternative to all of it.
    let (mut outside, inside): (JsonObject, JsonObject) =
        schema.into_iter().partition(|(key, _)| ANNOTATIONS.contains(&key.as_str()));
    outside.insert("anyOf".into(), json!([inside, {"type": "null"}]));
    outside
}
