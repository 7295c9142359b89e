//! The types of JSON Schemas.
//!
//! A type accepts every value that its schema accepts. It accepts more where TypeScript cannot say what the schema says:
//! integers, bounds, patterns, `not`, conditions, the exclusiveness of `oneOf`, and the absence of other properties. A
//! schema without `type` is taken for one of the kinds of values that its keywords are about.

use std::collections::{HashMap, VecDeque};

use indexmap::IndexSet;
use jsonschema::Draft;
use serde_json::{Map, Value};
use toolcrib_model::Schema;
use toolcrib_model::text::{ellipsize_words, first_sentence, fold_spaces};

use super::library::{Library, NamedType};
use super::names::{comment, type_name};
use super::types::{Object, Property, Tuple, Type, TypeId};
use crate::repair::kind::Kinds;
use crate::schema_cost::Graph;
use crate::validator::draft_of;

/// The most schemas that are converted for one tool.
const MAX_PARTS: usize = 20_000;

/// The most named types of one tool.
const MAX_NAMED_TYPES: usize = 100;

/// The most levels of `allOf`, `anyOf` and `oneOf` for one value.
const MAX_COMBINED: usize = 16;

/// The most values of an enum. Of a longer one, only the kinds of its values are declared.
const MAX_CHOICES: usize = 60;

/// The most characters of a value. A longer one is declared as a string.
const MAX_LITERAL_CHARS: usize = 100;

/// The most first items of a list that have types of their own.
const MAX_ITEMS: usize = 16;

/// The most characters of the description of a property.
const MAX_TEXT_CHARS: usize = 160;

/// The keywords that are about objects.
const OBJECT_KEYS: [&str; 4] = ["properties", "required", "additionalProperties", "patternProperties"];

/// The keywords that are about lists.
const ARRAY_KEYS: [&str; 2] = ["items", "prefixItems"];

/// The amount of detail of a declaration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// The levels of objects and lists within one type.
    pub(super) nesting: usize,
    /// The steps from a tool to a named type.
    pub(super) steps: usize,
    /// True if properties have their descriptions.
    pub(super) has_texts: bool,
    /// True if properties that are not required are declared.
    pub(super) has_optional: bool,
    /// The most characters of the text of the tool.
    pub(super) text_chars: usize,
}

/// The limits and assumptions at a position in a schema.
#[derive(Clone, Copy)]
struct Context {
    /// The levels of objects and lists that may still follow.
    nesting: usize,
    /// The levels of combined schemas that may still follow.
    combined: usize,
    /// The kinds of values, if the schema around it names them.
    kinds: Option<Kinds>,
}

/// Adds the types of a schema to a library, and returns the type of its root, and true if parts of it are missing.
pub(super) fn convert(schema: &Schema, name: &str, level: Level, library: &mut Library) -> (Type, bool) {
    let named: Vec<&Value> = schema.definitions().iter().map(|definition| &definition.schema).collect();
    let mut converter = Converter {
        graph: Graph::of(schema, &named),
        // Up to draft 7, keywords next to a reference are ignored.
        has_siblings: draft_of(schema.root()) > Draft::Draft7,
        root_name: name,
        level,
        library,
        known: HashMap::new(),
        waiting: VecDeque::new(),
        step: 0,
        left: MAX_PARTS,
        is_cut: false,
    };
    let root = converter.root();
    converter.convert_waiting();
    (root, converter.is_cut)
}

struct Converter<'a> {
    graph: Graph<'a>,
    has_siblings: bool,
    root_name: &'a str,
    level: Level,
    library: &'a mut Library,
    /// The named types by the addresses of their schemas.
    known: HashMap<*const Value, TypeId>,
    waiting: VecDeque<(TypeId, &'a Value, usize)>,
    /// The step of the named type that is being converted.
    step: usize,
    left: usize,
    is_cut: bool,
}

impl<'a> Converter<'a> {
    /// Returns the type of the root. Where it is nothing but a reference, the target is the root, which needs no name.
    fn root(&mut self) -> Type {
        let mut schema = self.graph.root();
        for _ in 0..MAX_COMBINED {
            let reference = schema.as_object().filter(|map| map.keys().all(|key| is_bare(key)));
            let reference = reference.and_then(|map| map.get("$ref")?.as_str());
            match reference.and_then(|reference| self.graph.target(reference)) {
                Some((target, _)) => schema = target,
                None => break,
            }
        }
        let context = self.context();
        self.schema(schema, context)
    }

    fn convert_waiting(&mut self) {
        while let Some((id, schema, step)) = self.waiting.pop_front() {
            self.step = step;
            let context = self.context();
            let kind = self.schema(schema, context);
            self.library.set(id, kind);
        }
    }

    fn context(&self) -> Context {
        Context { nesting: self.level.nesting, combined: MAX_COMBINED, kinds: None }
    }

    /// Returns the type of a part that is too deep or too much.
    fn cut(&mut self, kind: Type) -> Type {
        self.is_cut = true;
        kind
    }

    fn schema(&mut self, schema: &'a Value, context: Context) -> Type {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(false) => return Type::Never,
            _ => return Type::Unknown,
        };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return self.cut(Type::Unknown);
        }
        let reference = map.get("$ref").and_then(Value::as_str);
        if let Some(reference) = reference.filter(|_| !self.has_siblings) {
            return self.reference(reference);
        }
        let stated = kinds_of(map);
        let mut parts = vec![self.stated(map, stated, context)];
        parts.extend(reference.map(|reference| self.reference(reference)));
        if COMBINING.iter().any(|key| map.contains_key(*key)) {
            if context.combined == 0 {
                return self.cut(Type::Unknown);
            }
            let inner =
                Context { combined: context.combined - 1, kinds: stated.or(context.kinds), ..context };
            for part in list(map, "allOf") {
                parts.push(self.schema(part, inner));
            }
            for key in ["anyOf", "oneOf"] {
                if map.get(key).is_some_and(Value::is_array) {
                    let members: Vec<Type> = list(map, key).map(|part| self.schema(part, inner)).collect();
                    parts.push(Type::union(members));
                }
            }
        }
        Type::intersection(parts)
    }

    fn reference(&mut self, reference: &str) -> Type {
        let Some((target, pointer)) = self.graph.target(reference) else { return Type::Unknown };
        if let Some(id) = self.known.get(&std::ptr::from_ref(target)) {
            return Type::Reference(*id);
        }
        if self.step >= self.level.steps || self.known.len() >= MAX_NAMED_TYPES {
            return self.cut(Type::Unknown);
        }
        let last = pointer.rsplit('/').find(|part| !part.is_empty());
        let name = last.map_or_else(
            || self.root_name.to_owned(),
            |part| type_name(&part.replace("~1", "/").replace("~0", "~")),
        );
        let id = self.library.add(NamedType { name, kind: Type::Unknown });
        self.known.insert(std::ptr::from_ref(target), id);
        self.waiting.push_back((id, target, self.step + 1));
        Type::Reference(id)
    }

    /// Returns the type of the keywords of a schema that are not about other schemas for the same value.
    fn stated(&mut self, map: &'a Map<String, Value>, stated: Option<Kinds>, context: Context) -> Type {
        if let Some(options) = options(map) {
            return self.choices(options, stated.unwrap_or(Kinds::ANY), context);
        }
        let has = |keys: &[&str]| keys.iter().any(|key| map.contains_key(*key));
        let (is_object, is_array) = (has(&OBJECT_KEYS), has(&ARRAY_KEYS));
        let meant = |is_meant, kind| if is_meant { kind } else { Kinds::NONE };
        let kinds = match stated {
            Some(kinds) => kinds,
            None if !is_object && !is_array => return Type::Unknown,
            None => {
                context.kinds.unwrap_or(meant(is_object, Kinds::OBJECT).or(meant(is_array, Kinds::ARRAY)))
            }
        };
        let mut members = plain(kinds);
        if kinds.has(Kinds::OBJECT) {
            members.push(self.object(map, context));
        }
        if kinds.has(Kinds::ARRAY) {
            members.push(self.array(map, context));
        }
        if kinds.has(Kinds::NULL) {
            members.push(Type::Null);
        }
        Type::union(members)
    }

    fn choices(&mut self, options: &'a [Value], kinds: Kinds, context: Context) -> Type {
        let fit = |value: &&Value| kinds.and(Kinds::of(value, true)) != Kinds::NONE;
        let fitting: Vec<&Value> = options.iter().filter(fit).collect();
        if fitting.len() > MAX_CHOICES {
            let kinds = fitting.iter().map(|value| Kinds::of(value, true)).fold(Kinds::NONE, Kinds::or);
            let mut members = plain(kinds);
            members.extend(kinds.has(Kinds::OBJECT).then(Type::any_object));
            members.extend(kinds.has(Kinds::ARRAY).then(Type::any_array));
            members.extend(kinds.has(Kinds::NULL).then_some(Type::Null));
            return self.cut(Type::union(members));
        }
        Type::union(fitting.into_iter().map(|value| self.literal(value, context.nesting)).collect::<Vec<_>>())
    }

    fn literal(&mut self, value: &Value, nesting: usize) -> Type {
        match value {
            Value::Null => Type::Null,
            Value::String(text) if text.chars().count() > MAX_LITERAL_CHARS => self.cut(Type::String),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => Type::Literal(value.clone()),
            Value::Array(items) if nesting == 0 || items.len() > MAX_ITEMS => self.cut(Type::any_array()),
            Value::Object(_) if nesting == 0 => self.cut(Type::any_object()),
            Value::Array(items) => Type::Tuple(Tuple {
                items: items.iter().map(|item| self.literal(item, nesting - 1)).collect(),
                required: items.len(),
                rest: None,
            }),
            Value::Object(map) => {
                let property = |(name, value): (&String, &Value)| Property {
                    name: name.clone(),
                    kind: self.literal(value, nesting - 1),
                    is_required: true,
                    text: String::new(),
                };
                Type::Object(Object { properties: map.iter().map(property).collect(), rest: None })
            }
        }
    }

    fn object(&mut self, map: &'a Map<String, Value>, context: Context) -> Type {
        let Some(nesting) = context.nesting.checked_sub(1) else {
            return if OBJECT_KEYS.iter().any(|key| map.contains_key(*key)) {
                self.cut(Type::any_object())
            } else {
                Type::any_object()
            };
        };
        let inner = Context { nesting, combined: MAX_COMBINED, kinds: None };
        let mut rest = map.get("additionalProperties").map(|schema| self.schema(schema, inner));
        let patterns = map.get("patternProperties").and_then(Value::as_object).filter(|map| !map.is_empty());
        if let Some(patterns) = patterns {
            let others = rest.unwrap_or(Type::Unknown);
            let kinds: Vec<Type> = patterns.values().map(|schema| self.schema(schema, inner)).collect();
            rest = Some(Type::union(kinds.into_iter().chain([others])));
        }
        let names = list(map, "required").filter_map(Value::as_str);
        let mut required: IndexSet<&str> = names.collect();
        let (mut properties, mut has_left_out) = (Vec::new(), false);
        for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_required = required.shift_remove(name.as_str());
            if is_required || self.level.has_optional {
                let kind = self.schema(schema, inner);
                properties.push(Property { name: name.clone(), kind, is_required, text: self.text(schema) });
            } else {
                has_left_out = true;
            }
        }
        self.is_cut |= has_left_out;
        properties.extend(required.into_iter().map(|name| {
            let (kind, text) = (rest.clone().unwrap_or(Type::Unknown), String::new());
            Property { name: name.to_owned(), kind, is_required: true, text }
        }));
        let rest = if properties.is_empty() && !has_left_out {
            rest
        } else {
            // The type of other properties has to hold for the named ones too. `never` cannot be said: literals are
            // checked for other properties anyway.
            rest.filter(|kind| *kind != Type::Never)
                .or(has_left_out.then_some(Type::Unknown))
                .map(|_| Type::Unknown)
        };
        Type::Object(Object { properties, rest: rest.map(Box::new) })
    }

    fn array(&mut self, map: &'a Map<String, Value>, context: Context) -> Type {
        let Some(nesting) = context.nesting.checked_sub(1) else {
            return if ARRAY_KEYS.iter().any(|key| map.contains_key(*key)) {
                self.cut(Type::any_array())
            } else {
                Type::any_array()
            };
        };
        let inner = Context { nesting, combined: MAX_COMBINED, kinds: None };
        // Up to 2019-09, a list under `items` has the types of the first items.
        let (first, others) = match map.get("items") {
            Some(Value::Array(first)) => (Some(first), map.get("additionalItems")),
            items => (map.get("prefixItems").and_then(Value::as_array), items),
        };
        let first = first.map(Vec::as_slice).unwrap_or_default();
        let rest = others.map_or(Type::Unknown, |schema| self.schema(schema, inner));
        if first.is_empty() && rest != Type::Never {
            return Type::Array(Box::new(rest));
        }
        if first.len() > MAX_ITEMS {
            return self.cut(Type::any_array());
        }
        let least = map.get("minItems").and_then(Value::as_u64).and_then(|least| usize::try_from(least).ok());
        Type::Tuple(Tuple {
            items: first.iter().map(|schema| self.schema(schema, inner)).collect(),
            required: least.unwrap_or(0).min(first.len()),
            rest: (rest != Type::Never).then(|| Box::new(rest)),
        })
    }

    fn text(&self, schema: &Value) -> String {
        let text = schema.get("description").and_then(Value::as_str).filter(|_| self.level.has_texts);
        let sentence = |text: &str| ellipsize_words(first_sentence(&fold_spaces(text)), MAX_TEXT_CHARS);
        text.map(|text| comment(&sentence(text))).unwrap_or_default()
    }
}

/// The keywords of schemas for the same value.
const COMBINING: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Returns true for a keyword that does not keep a schema from being nothing but a reference.
fn is_bare(key: &str) -> bool {
    matches!(key, "$ref" | "$defs" | "definitions" | "$schema" | "$id" | "description" | "title")
}

fn list<'a>(map: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    map.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the kinds that `type` names. Names that are not known say nothing.
fn kinds_of(map: &Map<String, Value>) -> Option<Kinds> {
    let kinds = Kinds::of_keyword(Some(map.get("type")?));
    (kinds != Kinds::NONE && kinds != Kinds::ANY).then_some(kinds)
}

/// Returns the values that `const` or `enum` allows.
fn options(map: &Map<String, Value>) -> Option<&[Value]> {
    let one = map.get("const").map(std::slice::from_ref);
    one.or_else(|| map.get("enum").and_then(Value::as_array).map(Vec::as_slice))
}

/// Returns the types of strings, numbers and booleans among the kinds.
fn plain(kinds: Kinds) -> Vec<Type> {
    let mut members = Vec::new();
    members.extend(kinds.has(Kinds::STRING).then_some(Type::String));
    let is_number = kinds.and(Kinds::INTEGER.or(Kinds::FRACTION)) != Kinds::NONE;
    members.extend(is_number.then_some(Type::Number));
    members.extend(kinds.has(Kinds::BOOLEAN).then_some(Type::Boolean));
    members
}
