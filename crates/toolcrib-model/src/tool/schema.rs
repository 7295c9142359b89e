//! JSON Schemas that share their definitions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Index;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::text::ExactIntegers;
use crate::{Fingerprint, JsonObject, Tool};

/// The keyword of the definitions of a schema.
const DEFINITIONS: &str = "$defs";

/// A JSON Schema, immutable and cheap to clone.
///
/// The tools of one source repeat the same definitions in their schemas. A schema therefore consists of a root, which
/// belongs to it alone, and the entries of its `$defs`, each of which may belong to many schemas. It is written, compared
/// and digested as one value that contains them all.
///
/// ```
/// # use serde_json::json;
/// # use toolcrib_model::Schema;
/// # use toolcrib_model::tool::SharedDefinitions;
/// let mut shared = SharedDefinitions::default();
/// let schema = shared.schema(json!({"$ref": "#/$defs/Pet", "$defs": {"Pet": {"type": "object"}}}));
/// assert_eq!(schema.root(), &json!({"$ref": "#/$defs/Pet"}));
/// assert_eq!(schema.pointer("/$defs/Pet/type"), Some(&json!("object")));
/// assert_eq!(schema.to_string(), r##"{"$ref":"#/$defs/Pet","$defs":{"Pet":{"type":"object"}}}"##);
/// ```
#[derive(Clone)]
pub struct Schema(Arc<Parts>);

struct Parts {
    root: Value,
    /// The shared entries of `$defs`, in their order; empty if the root contains all of the schema.
    definitions: Box<[Arc<Definition>]>,
    /// True if the definitions are in the order of their names.
    is_sorted: bool,
    /// The number of keywords of the root before `$defs`.
    position: usize,
    fingerprint: OnceLock<Fingerprint>,
}

/// An entry of the `$defs` of one or more schemas.
#[derive(Debug, PartialEq)]
pub struct Definition {
    /// The name in `$defs`.
    pub name: Box<str>,
    /// The schema.
    pub schema: Value,
}

/// The replacement of a definition, or `None` if it stays.
pub type Rewritten<E> = Result<Option<Arc<Definition>>, E>;

impl Schema {
    /// Creates a schema from its keywords and the entries of its `$defs`, which are written last.
    pub fn new(keywords: JsonObject, definitions: Vec<Arc<Definition>>) -> Self {
        let position = keywords.len();
        Self::of_parts(keywords.into(), definitions.into(), position)
    }

    /// Creates a schema with integers that its value cannot hold, so that its fingerprint is that of the schema as it was
    /// written.
    pub fn exact(value: Value, exact: &ExactIntegers) -> Self {
        let schema = Self::from(value);
        if !exact.is_empty() {
            let _first = schema.0.fingerprint.set(Fingerprint::of_exact(schema.root(), exact));
        }
        schema
    }

    fn of_parts(root: Value, definitions: Box<[Arc<Definition>]>, position: usize) -> Self {
        let is_sorted = definitions.is_sorted_by(|one, other| one.name < other.name);
        Self(Arc::new(Parts { root, definitions, is_sorted, position, fingerprint: OnceLock::new() }))
    }

    /// Returns the schema without its shared definitions.
    pub fn root(&self) -> &Value {
        &self.0.root
    }

    /// Returns the shared definitions, in their order.
    pub fn definitions(&self) -> &[Arc<Definition>] {
        &self.0.definitions
    }

    /// Returns the value of a keyword of the root.
    pub fn get(&self, keyword: &str) -> Option<&Value> {
        self.root().get(keyword)
    }

    /// Returns the keywords of the root.
    pub fn as_object(&self) -> Option<&JsonObject> {
        self.root().as_object()
    }

    /// Returns the value at a JSON pointer, also in a shared definition. The values that contain shared definitions, the
    /// whole schema and its `$defs`, are not in one piece: the empty pointer leads to the root, and `/$defs` to nothing.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        if let Some(below) = pointer.strip_prefix("/$defs/").filter(|_| !self.0.definitions.is_empty()) {
            let (name, rest) = below.split_at(below.find('/').unwrap_or(below.len()));
            let name = if name.contains('~') {
                Cow::Owned(name.replace("~1", "/").replace("~0", "~"))
            } else {
                Cow::Borrowed(name)
            };
            return self.definition(&name)?.pointer(rest);
        }
        self.root().pointer(pointer)
    }

    /// Returns a shared definition.
    pub fn definition(&self, name: &str) -> Option<&Value> {
        let definitions = &self.0.definitions;
        let found = if self.0.is_sorted {
            definitions.binary_search_by(|found| (*found.name).cmp(name)).ok()
        } else {
            definitions.iter().position(|found| *found.name == *name)
        };
        found.and_then(|at| definitions.get(at)).map(|found| &found.schema)
    }

    /// Returns the schema as one value.
    pub fn to_value(&self) -> Cow<'_, Value> {
        let Parts { root: Value::Object(keywords), definitions, position, .. } = self.0.as_ref() else {
            return Cow::Borrowed(self.root());
        };
        if definitions.is_empty() {
            return Cow::Borrowed(self.root());
        }
        let mut whole = JsonObject::with_capacity(keywords.len() + 1);
        let copy = |(key, value): (&String, &Value)| (key.clone(), value.clone());
        whole.extend(keywords.iter().take(*position).map(copy));
        let entries = definitions.iter().map(|found| (found.name.to_string(), found.schema.clone()));
        whole.insert(DEFINITIONS.to_owned(), Value::Object(entries.collect()));
        whole.extend(keywords.iter().skip(*position).map(copy));
        Cow::Owned(whole.into())
    }

    /// Returns the digest of the schema.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.0.fingerprint.get_or_init(|| Fingerprint::of(&self.to_value()))
    }

    /// Returns true if both schemas are the same object in memory.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the schema with parts rewritten, or `None` if all stay. The functions return the replacement of the root and
    /// of a definition, or `None` if it stays. The definitions that `known` has are not rewritten again, so that they stay
    /// shared.
    pub fn rewritten<E: Clone>(
        &self,
        known: &PerDefinition<Rewritten<E>>,
        root: impl FnOnce(&Value) -> Result<Option<Value>, E>,
        definition: impl Fn(&Definition) -> Result<Option<Definition>, E>,
    ) -> Result<Option<Self>, E> {
        let root = root(self.root())?;
        let rewrite = |found| known.get(found, |found| Ok(definition(found)?.map(Arc::new)));
        let definitions = self.0.definitions.iter().map(rewrite).collect::<Result<Vec<_>, E>>()?;
        if root.is_none() && definitions.iter().all(Option::is_none) {
            return Ok(None);
        }
        let definitions = definitions
            .into_iter()
            .zip(&self.0.definitions)
            .map(|(new, old)| new.unwrap_or_else(|| Arc::clone(old)))
            .collect();
        let root = root.unwrap_or_else(|| self.root().clone());
        Ok(Some(Self::of_parts(root, definitions, self.0.position)))
    }
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        Self::of_parts(value, Box::default(), 0)
    }
}

impl Serialize for Schema {
    /// Writes the schema as one value, without making it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Parts { root, definitions, position, .. } = self.0.as_ref();
        let Some(keywords) = root.as_object().filter(|_| !definitions.is_empty()) else {
            return root.serialize(serializer);
        };
        let mut map = serializer.serialize_map(Some(keywords.len() + 1))?;
        let mut keywords = keywords.iter();
        keywords.by_ref().take(*position).try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.serialize_entry(DEFINITIONS, &Entries(definitions))?;
        keywords.try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

struct Entries<'a>(&'a [Arc<Definition>]);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|found| (&found.name, &found.schema)))
    }
}

impl fmt::Display for Schema {
    /// Writes the schema as JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_value().fmt(f)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_value().fmt(f)
    }
}

impl PartialEq for Schema {
    /// Compares the schemas as values, in which the order of keys does not count.
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (self.definitions(), other.definitions());
        if own.is_empty() != others.is_empty() {
            return self.to_value() == other.to_value();
        }
        let is_in_both = |found: &Arc<Definition>| other.definition(&found.name) == Some(&found.schema);
        self.is_same(other)
            || own.len() == others.len() && self.root() == other.root() && own.iter().all(is_in_both)
    }
}

impl PartialEq<Value> for Schema {
    fn eq(&self, other: &Value) -> bool {
        *self.to_value() == *other
    }
}

impl Index<&str> for Schema {
    type Output = Value;

    /// Returns the value of a keyword of the root, or null.
    fn index(&self, keyword: &str) -> &Value {
        self.get(keyword).unwrap_or(&Value::Null)
    }
}

/// The definitions that the schemas of one source have in common.
#[derive(Debug, Default)]
pub struct SharedDefinitions {
    /// The definitions by name and JSON text.
    known: HashMap<(Box<str>, String), Arc<Definition>>,
}

impl SharedDefinitions {
    /// Returns a schema whose `$defs` are shared with the earlier schemas that have the same.
    pub fn schema(&mut self, value: Value) -> Schema {
        self.shared(&Schema::from(value))
    }

    /// Returns the tool with the `$defs` of its schemas shared with those of the earlier tools.
    pub fn tool(&mut self, mut tool: Tool) -> Tool {
        tool.parameters = self.shared(&tool.parameters);
        tool.output_parameters = self.shared(&tool.output_parameters);
        tool
    }

    /// Returns the same schema with its `$defs` shared with those of the earlier schemas.
    fn shared(&mut self, schema: &Schema) -> Schema {
        let keywords = schema.as_object().filter(|_| schema.definitions().is_empty());
        let entries = keywords.and_then(|keywords| {
            let entries = keywords.get(DEFINITIONS)?.as_object().filter(|entries| !entries.is_empty())?;
            Some((keywords.keys().position(|key| key == DEFINITIONS)?, keywords, entries))
        });
        let Some((position, keywords, entries)) = entries else { return schema.clone() };
        let definitions = entries.iter().map(|(name, schema)| self.definition(name, schema)).collect();
        let root = keywords.iter().filter(|(key, _)| *key != DEFINITIONS);
        let root: JsonObject = root.map(|(key, value)| (key.clone(), value.clone())).collect();
        let shared = Schema::of_parts(root.into(), definitions, position);
        if let Some(fingerprint) = schema.0.fingerprint.get() {
            let _first = shared.0.fingerprint.set(*fingerprint);
        }
        shared
    }

    fn definition(&mut self, name: &str, schema: &Value) -> Arc<Definition> {
        let make = || Arc::new(Definition { name: name.into(), schema: schema.clone() });
        Arc::clone(self.known.entry((name.into(), schema.to_string())).or_insert_with(make))
    }
}

/// Results for shared definitions, each computed once.
#[derive(Debug)]
pub struct PerDefinition<T>(Mutex<HashMap<usize, (Arc<Definition>, T)>>);

impl<T> Default for PerDefinition<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> PerDefinition<T> {
    /// Returns the result for a definition, and computes it unless that has been done.
    pub fn get(&self, definition: &Arc<Definition>, make: impl FnOnce(&Definition) -> T) -> T {
        // The map keeps the definition, so that no other can have its address.
        let address = Arc::as_ptr(definition).addr();
        let known = || self.0.lock();
        if let Some((_, result)) = known().get(&address) {
            return result.clone();
        }
        let made = make(definition);
        known().entry(address).or_insert_with(|| (Arc::clone(definition), made)).1.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::json;

    use super::*;

    fn pets(at: usize) -> Value {
        let entries = json!({"Pet": {"type": "object"}, "a/b~c": {"$ref": "#/$defs/Pet"}});
        let mut keywords =
            vec![("type", json!("object")), ("properties", json!({"p": {"$ref": "#/$defs/Pet"}}))];
        keywords.insert(at, (DEFINITIONS, entries));
        keywords.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    #[test]
    fn a_schema_of_shared_definitions_is_the_schema_that_was_given() {
        for value in [pets(0), pets(1), pets(2), json!({}), json!(true), json!({"$defs": {}})] {
            let schema = SharedDefinitions::default().schema(value.clone());
            assert_eq!(serde_json::to_string(&schema).unwrap(), value.to_string());
            assert_eq!(schema.to_value().to_string(), value.to_string());
            assert_eq!(schema.fingerprint(), Fingerprint::of(&value));
            assert_eq!(schema, Schema::from(value.clone()));
            for pointer in
                ["/type", "/$defs/Pet", "/$defs/Pet/type", "/$defs/a~1b~0c/$ref", "/$defs/no", "/no"]
            {
                assert_eq!(schema.pointer(pointer), value.pointer(pointer), "{pointer} of {value}");
            }
        }
    }

    #[test]
    fn equal_definitions_of_several_schemas_are_one_object() {
        let mut shared = SharedDefinitions::default();
        let other = json!({"$defs": {"Pet": {"type": "object"}, "a/b~c": {"type": "null"}}});
        let schemas = [pets(0), pets(2), other].map(|value| shared.schema(value));
        let [one, two, three] = schemas.each_ref().map(Schema::definitions);
        assert!(
            Arc::ptr_eq(&one[0], &two[0]) && Arc::ptr_eq(&one[1], &two[1]) && Arc::ptr_eq(&one[0], &three[0])
        );
        assert!(!Arc::ptr_eq(&one[1], &three[1]));
        assert_eq!((schemas[0] == schemas[1], schemas[1] == schemas[2]), (true, false));
    }

    #[test]
    fn rewritten_definitions_stay_shared_and_the_others_stay_as_they_are() {
        let mut shared = SharedDefinitions::default();
        let known = PerDefinition::<Rewritten<Infallible>>::default();
        let [one, two] = [pets(0), pets(1)].map(|value| {
            let closed = |found: &Definition| {
                let schema = json!({"type": "object", "additionalProperties": false});
                Ok((&*found.name == "Pet").then(|| Definition { name: found.name.clone(), schema }))
            };
            let schema = shared.schema(value);
            let Ok(rewritten) = schema.rewritten(&known, |_| Ok(None), closed);
            (schema, rewritten.unwrap())
        });
        assert_eq!(one.1.pointer("/$defs/Pet/additionalProperties"), Some(&json!(false)));
        assert_eq!(one.1.root(), one.0.root());
        assert!(Arc::ptr_eq(&one.1.definitions()[0], &two.1.definitions()[0]));
        assert!(Arc::ptr_eq(&one.1.definitions()[1], &one.0.definitions()[1]));
        let Ok(same) =
            one.0.rewritten(&PerDefinition::<Rewritten<Infallible>>::default(), |_| Ok(None), |_| Ok(None));
        assert!(same.is_none());
    }

    #[test]
    fn a_schema_of_integers_beyond_64_bits_keeps_its_fingerprint_when_its_definitions_are_shared() {
        let exact = ExactIntegers::from([("/maximum".to_owned(), "18446744073709551616".to_owned())]);
        let value = json!({"maximum": 18_446_744_073_709_551_616.0, "$defs": {"a": {}}});
        let schema = Schema::exact(value.clone(), &exact);
        let tool = Tool::new(crate::QualifiedName::new("a", "b").unwrap()).with_parameters(schema.clone());
        let shared = SharedDefinitions::default().tool(tool);
        assert_eq!(shared.parameters.definitions().len(), 1);
        assert_eq!(shared.fingerprint(), schema.fingerprint());
        assert_ne!(shared.fingerprint(), Fingerprint::of(&value));
    }
}
