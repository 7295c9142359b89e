//! The conversion of a schema in one pass: OpenAPI keywords are rewritten, and references point into `$defs`.

use std::collections::HashSet;

use serde_json::{Value, json};
use toolcrib_model::JsonObject;
use toolcrib_model::text::kind_of;

use super::bundled_definition::{BYTES_OF_NODE, BundledDefinition, size};
use super::definitions::{ConvertedSchema, Direction, Schemas, values};
use super::keyword::{self, KeywordKind};
use super::nullable::{ANNOTATIONS, with_null};
use super::read_write_only::{hidden_names, is_hidden, required};
use crate::Error;
use crate::spec::{Dialect, Node, Spec};

/// The most values of an example that is included.
const MAX_EXAMPLE_NODES: usize = 100;

/// The most examples that are included.
const MAX_EXAMPLES: usize = 5;

/// The number of searched values that cost as much as one converted value.
const SEARCHED_OF_NODE: usize = 16;

/// The most notes about one schema.
const MAX_NOTES: usize = 20;

/// A converter of one schema, or of several that share their `$defs`, in one direction.
pub(crate) struct Converter<'s, 'a> {
    schemas: &'s mut Schemas<'a>,
    direction: Direction,
    converted: ConvertedSchema,
    /// The properties that are hidden in the schema whose `allOf` contains the current inline schema.
    hidden: HashSet<&'a str>,
}

impl<'s, 'a> Converter<'s, 'a> {
    pub(crate) fn new(schemas: &'s mut Schemas<'a>, direction: Direction) -> Self {
        Self { schemas, direction, converted: ConvertedSchema::default(), hidden: HashSet::new() }
    }

    pub(crate) fn spec(&self) -> Spec<'a> {
        self.schemas.spec
    }

    /// Charges the budget for a value outside of the schemas that is copied into the tool.
    pub(crate) fn charge(&mut self, value: &Value) -> Result<(), Error> {
        self.schemas.charge(value)
    }

    /// Converts a schema. Its references point into the `$defs` that [`definitions`](Self::definitions) returns.
    pub(crate) fn convert(&mut self, schema: Node<'a>) -> Result<Value, Error> {
        match schema.value {
            Value::Object(map) => self.object(schema, map),
            Value::Bool(_) => {
                self.count(1)?;
                Ok(schema.value.clone())
            }
            Value::Null => Ok(json!({})),
            other => Err(Error::malformed(format!("a schema must be an object, not {}", kind_of(other)))),
        }
    }

    /// Converts a schema and inlines its reference, so that its keywords are accessible.
    pub(crate) fn convert_top(&mut self, schema: Node<'a>) -> Result<Value, Error> {
        let restricts = |key: &String| key != "$ref" && !ANNOTATIONS.contains(&key.as_str());
        match schema.object() {
            Some(map) if self.spec().dialect.has_siblings() && map.keys().any(restricts) => {
                self.convert(schema)
            }
            _ => match self.spec().resolve(schema) {
                Err(Error::DanglingReference { reference }) => {
                    self.remark(left_open(&reference));
                    Ok(json!({}))
                }
                resolved => self.convert(resolved?),
            },
        }
    }

    /// Adds a note about the operation.
    pub(crate) fn remark(&mut self, note: String) {
        if self.converted.notes.len() < MAX_NOTES {
            self.converted.notes.push(note);
        }
    }

    /// Returns the definitions that the converted schemas refer to, the nearest first, and all notes.
    pub(crate) fn definitions(self) -> Result<(Vec<BundledDefinition>, Vec<String>), Error> {
        let Self { schemas, direction, mut converted, .. } = self;
        let mut notes = std::mem::take(&mut converted.notes);
        let definitions = schemas.bundle(direction, &converted, &mut notes)?;
        notes.truncate(MAX_NOTES);
        Ok((definitions, notes))
    }

    pub(super) fn finish(self) -> ConvertedSchema {
        self.converted
    }

    fn object(&mut self, schema: Node<'a>, map: &'a JsonObject) -> Result<Value, Error> {
        self.count(1)?;
        let alone = map.contains_key("$ref") && !self.spec().dialect.has_siblings();
        let mut out = JsonObject::with_capacity(map.len());
        for (key, value) in map {
            if !alone || matches!(key.as_str(), "$ref" | "description") {
                self.keyword(schema, key, schema.at(value), &mut out)?;
            }
        }
        // Strictly, `nullable` applies only together with a `type`. Authors who write it elsewhere mean the same.
        let is_nullable = schema.is_set("nullable")
            || (self.spec().dialect == Dialect::Swagger20 && schema.is_set("x-nullable"));
        Ok(Value::Object(if is_nullable { with_null(out) } else { out }))
    }

    fn keyword(
        &mut self,
        schema: Node<'a>,
        key: &'a str,
        node: Node<'a>,
        out: &mut JsonObject,
    ) -> Result<(), Error> {
        let value = match (key, keyword::kind(key)) {
            (_, KeywordKind::Unknown) => return Ok(()),
            ("$ref", _) => match self.reference_or_note(schema, node)? {
                Some(value) => value,
                None => return Ok(()),
            },
            // Strictly, its target depends on the evaluation path. The definition in the document is assumed.
            ("$dynamicRef", _) => match node.value {
                Value::String(reference) => {
                    let value = self.reference(schema.file, reference)?;
                    out.entry("$ref").or_insert(value);
                    return Ok(());
                }
                _ => return Ok(()),
            },
            ("$recursiveRef", _) => return Err(Error::unsupported("the keyword `$recursiveRef`")),
            ("properties", _) if node.value.is_object() => self.inner(|inner| inner.properties(node))?,
            ("required", _) if node.value.is_array() => {
                self.count(node.items().count())?;
                let hidden = self.hidden_of(schema)?;
                match required(node, &hidden) {
                    Value::Array(names) if names.is_empty() => return Ok(()),
                    names => names,
                }
            }
            ("items", _) if node.value.is_array() => {
                if node.items().next().is_some() {
                    let items = self.inner(|inner| inner.list(node))?;
                    out.insert("prefixItems".into(), items);
                }
                return Ok(());
            }
            ("minimum", _) if schema.is_set("exclusiveMinimum") => {
                return self.bound("exclusiveMinimum", node, out);
            }
            ("maximum", _) if schema.is_set("exclusiveMaximum") => {
                return self.bound("exclusiveMaximum", node, out);
            }
            // As booleans, these bounds modify `minimum` or `maximum`, and `required` predates the list form.
            ("exclusiveMinimum" | "exclusiveMaximum" | "required", _) if node.value.is_boolean() => {
                return Ok(());
            }
            ("format", _) if node.value == "byte" => {
                out.insert("contentEncoding".into(), "base64".into());
                return Ok(());
            }
            ("example", _) if schema.get("examples").is_some_and(|examples| examples.value.is_array()) => {
                return Ok(());
            }
            ("example", _) => return self.examples(std::iter::once(node), out),
            ("examples", _) => return self.examples(node.items(), out),
            ("default", _) if has_reference(node.value) => return Ok(()),
            ("allOf", KeywordKind::Schemas) if node.value.is_array() => self.all_of(schema, node)?,
            ("not" | "if" | "then" | "else", KeywordKind::Schema) if is_schema(node.value) => {
                self.convert(node)?
            }
            (_, KeywordKind::Schema) if is_schema(node.value) => self.inner(|inner| inner.convert(node))?,
            (_, KeywordKind::Schemas) if is_schema(node.value) => vec![self.convert(node)?].into(),
            (_, KeywordKind::Schemas) if node.items().next().is_some() => self.list(node)?,
            (_, KeywordKind::SchemaMap) if node.value.is_object() => self.inner(|inner| inner.map(node))?,
            (_, KeywordKind::Value(read)) if read(node.value).is_some() => {
                self.value(key, read, node.value)?
            }
            _ => {
                self.note(key, node.value);
                return Ok(());
            }
        };
        out.insert(key.to_owned(), value);
        Ok(())
    }

    /// Converts a `$ref`. Returns `None` with a note if it has no target.
    fn reference_or_note(&mut self, schema: Node<'a>, node: Node<'a>) -> Result<Option<Value>, Error> {
        let Value::String(reference) = node.value else {
            let kind = kind_of(node.value);
            return Err(Error::malformed(format!("a `$ref` must be a string, not {kind}")));
        };
        match self.reference(schema.file, reference) {
            Err(Error::DanglingReference { reference }) => {
                self.remark(left_open(&reference));
                Ok(None)
            }
            converted => converted.map(Some),
        }
    }

    /// Converts the examples of a value, if they are plain.
    fn examples(
        &mut self,
        written: impl Iterator<Item = Node<'a>>,
        out: &mut JsonObject,
    ) -> Result<(), Error> {
        let plain = written.map(|example| example.value).filter(|example| is_plain_example(example));
        let examples: Vec<Value> = plain.take(MAX_EXAMPLES).cloned().collect();
        if !examples.is_empty() {
            examples.iter().try_for_each(|example| self.count_value(example))?;
            out.insert("examples".into(), examples.into());
        }
        Ok(())
    }

    /// Converts the value of a keyword, which may need a correction.
    fn value(
        &mut self,
        key: &str,
        read: fn(&Value) -> Option<Value>,
        written: &Value,
    ) -> Result<Value, Error> {
        let value = read(written).unwrap_or_default();
        self.count_value(&value)?;
        if value != *written {
            self.note(key, written);
        }
        Ok(value)
    }

    /// Converts `minimum: 3, exclusiveMinimum: true` to `exclusiveMinimum: 3`.
    fn bound(&mut self, key: &'static str, node: Node<'a>, out: &mut JsonObject) -> Result<(), Error> {
        self.count(1)?;
        if node.value.is_number() {
            out.insert(key.into(), node.value.clone());
        }
        Ok(())
    }

    /// Converts an `allOf`. Its schemas describe one value: a property that one of them hides is not required by
    /// another.
    fn all_of(&mut self, schema: Node<'a>, parts: Node<'a>) -> Result<Value, Error> {
        let hidden = self.hidden_of(schema)?;
        let outer = std::mem::replace(&mut self.hidden, hidden);
        let list = self.list(parts);
        self.hidden = outer;
        list
    }

    pub(super) fn hidden_of(&mut self, schema: Node<'a>) -> Result<HashSet<&'a str>, Error> {
        let (mut hidden, searched) = hidden_names(self.spec(), self.direction, schema);
        self.schemas.take(searched / SEARCHED_OF_NODE)?;
        hidden.extend(&self.hidden);
        Ok(hidden)
    }

    /// Converts the schema of another value, such as that of the items of a list.
    fn inner(&mut self, convert: impl FnOnce(&mut Self) -> Result<Value, Error>) -> Result<Value, Error> {
        let outer = std::mem::take(&mut self.hidden);
        let converted = convert(self);
        self.hidden = outer;
        converted
    }

    fn list(&mut self, schemas: Node<'a>) -> Result<Value, Error> {
        schemas.items().map(|schema| self.convert(schema)).collect()
    }

    fn map(&mut self, schemas: Node<'a>) -> Result<Value, Error> {
        schemas.entries().map(|(name, schema)| Ok((name.to_owned(), self.convert(schema)?))).collect()
    }

    pub(super) fn properties(&mut self, properties: Node<'a>) -> Result<Value, Error> {
        let mut out = JsonObject::with_capacity(properties.entries().count());
        for (name, schema) in properties.entries() {
            if !is_hidden(self.spec(), self.direction, schema) {
                self.take(0, name.len() / BYTES_OF_NODE)?;
                out.insert(name.to_owned(), self.convert(schema)?);
            }
        }
        Ok(Value::Object(out))
    }

    fn reference(&mut self, file: usize, reference: &str) -> Result<Value, Error> {
        let id = self.schemas.definition(file, reference)?;
        self.converted.references.push(id);
        Ok(self.schemas.reference(id))
    }

    fn note(&mut self, key: &str, value: &Value) {
        // Some tools write null for an absent value.
        if !value.is_null() && self.converted.notes.len() < MAX_NOTES {
            let note = format!("the keyword `{key}` of a schema cannot be {}", kind_of(value));
            if !self.converted.notes.contains(&note) {
                self.converted.notes.push(note);
            }
        }
    }

    pub(super) fn count(&mut self, nodes: usize) -> Result<(), Error> {
        self.take(nodes, nodes)
    }

    fn count_value(&mut self, value: &Value) -> Result<(), Error> {
        self.take(values(value), size(value))
    }

    fn take(&mut self, nodes: usize, cost: usize) -> Result<(), Error> {
        let max = self.direction.max_nodes();
        self.converted.nodes += nodes;
        self.converted.cost += cost;
        if self.converted.nodes > max {
            return Err(Error::TooLarge { what: "the schema of the operation", max });
        }
        self.schemas.take(cost)
    }
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

/// Returns true if an example is small enough and cannot be mistaken for a part of the schema.
pub(crate) fn is_plain_example(value: &Value) -> bool {
    size(value) <= MAX_EXAMPLE_NODES && !has_reference(value)
}

/// Returns true if plain data contains a key `$ref`, which is not a reference there.
fn has_reference(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_reference),
        Value::Object(map) => map.contains_key("$ref") || map.values().any(has_reference),
        _ => false,
    }
}

/// Returns the note about a dangling reference. The rest of the operation can be used nevertheless.
pub(crate) fn left_open(reference: &str) -> String {
    format!("the reference `{reference}` points to nothing, so any value is allowed")
}
