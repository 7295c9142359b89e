//! Limits for the work of checks.
//!
//! Schemas that share parts by `$ref` may be small as text and huge as checks: forty definitions that each refer to the next
//! one twice are 2⁴⁰ checks of one value. Nothing in this module is recursive.
//!
//! The work is estimated before it begins, since the validator library can neither count its steps nor be interrupted, and
//! a thread that runs it past a deadline cannot be ended: it would keep a processor for as long as the schema says. Of
//! definitions that refer to the next one twice, two more made a check of one value eight times as long (18 of them: 26 ms
//! in an unoptimized build), and the collection of the errors of 16 took 1.5 s; 40 would take years. The estimate also
//! decides which definitions of an OpenAPI document are kept, and with that the fingerprints of its tools.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use toolcrib_model::Schema;
use toolcrib_model::text::pointer_part;

use crate::Error;
use crate::limits::{MAX_REFERENCE_DEPTH, MAX_SCHEMA_CHECKS};

/// The maximum recursion of a check: levels of the value times parts of the schema that follow each other on one level. A
/// stack of 2 MiB fits it several times in an optimized build, and once in an unoptimized build.
pub(crate) const MAX_CHECK_DEPTH: u64 = 2000;

/// The most parts with an `$id` of their own, from each of which a reference may start.
const MAX_RESOURCES: usize = 100;

/// The most references by name whose place is searched for. Each is a look at the whole schema.
const MAX_SEARCHES: usize = 100;

/// Keywords whose schema applies to the value itself.
const SAME_VALUE: [&str; 4] = ["not", "if", "then", "else"];

/// Keywords whose list of schemas applies to the value itself.
const SAME_VALUE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords whose mapping of schemas applies to the value itself.
const SAME_VALUE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Keywords whose schema applies to members or items of the value.
const BELOW: [&str; 8] = [
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "contentSchema",
];

/// Keywords whose list of schemas applies to items of the value.
const LISTS_BELOW: [&str; 2] = ["prefixItems", "items"];

/// Keywords whose mapping of schemas applies to members of the value.
const MAPS_BELOW: [&str; 2] = ["properties", "patternProperties"];

/// The keywords whose mapping of schemas applies only where a reference names one of them.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// The form of the schemas that a keyword holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subschemas {
    /// One schema.
    One,
    /// A list of schemas, or one schema.
    OneOrList,
    /// A mapping of names to schemas.
    Named,
}

impl Subschemas {
    /// Returns the form of the schemas of a keyword, or `None` if it holds no schemas.
    pub(crate) fn of_keyword(keyword: &str) -> Option<Self> {
        let is_in = |tables: &[&[&str]]| tables.iter().any(|table| table.contains(&keyword));
        if is_in(&[&SAME_VALUE_MAPS, &MAPS_BELOW, &DEFINITIONS]) {
            Some(Self::Named)
        } else if is_in(&[&SAME_VALUE_LISTS, &LISTS_BELOW]) {
            Some(Self::OneOrList)
        } else {
            is_in(&[&SAME_VALUE, &BELOW]).then_some(Self::One)
        }
    }
}

/// The keywords that name a schema.
pub(crate) const NAMING: [&str; 4] = ["$id", "id", "$anchor", "$dynamicAnchor"];

/// The keywords that repeat the checks of their siblings, to find the properties left over.
const REPEATING: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];

/// A schema with the places that references may name.
pub(crate) struct Graph<'a> {
    root: &'a Value,
    /// The schema with its definitions, if the root does not contain them.
    shared: Option<&'a Schema>,
    /// Schemas by the last part of their `$id`, and by `$anchor` and `$dynamicAnchor`. Of several with one name, all
    /// are meant, so that the count is never too low.
    named: HashMap<&'a str, Vec<&'a Value>>,
    /// Every schema that has an `$id`, from which a pointer may start.
    resources: Vec<&'a Value>,
    /// True if `id` is a keyword, as up to draft 4.
    has_plain_ids: bool,
    /// The number of searches still allowed.
    searches: Cell<usize>,
}

impl<'a> Graph<'a> {
    /// Creates the graph of a schema whose definitions may be shared, of which only `named` have names in them.
    pub(crate) fn of(schema: &'a Schema, named: &[&'a Value]) -> Self {
        let mut graph = Self::new(schema.root());
        graph.shared = Some(schema);
        for definition in named {
            graph.register_all(definition);
        }
        graph
    }

    pub(crate) fn new(root: &'a Value) -> Self {
        let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let has_plain_ids = draft.contains("draft-04") || draft.contains("draft-03");
        let mut graph = Self {
            root,
            shared: None,
            named: HashMap::new(),
            resources: Vec::new(),
            has_plain_ids,
            searches: Cell::new(MAX_SEARCHES),
        };
        graph.register_all(root);
        graph
    }

    /// Returns the whole schema.
    pub(crate) fn root(&self) -> &'a Value {
        self.root
    }

    /// Returns the value at a pointer into the whole schema.
    fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.shared.map_or_else(|| self.root.pointer(pointer), |shared| shared.pointer(pointer))
    }

    fn register_all(&mut self, value: &'a Value) {
        let mut left = vec![value];
        while let Some(value) = left.pop() {
            match value {
                Value::Array(items) => left.extend(items),
                Value::Object(map) => {
                    self.register(map, value);
                    left.extend(map.values());
                }
                _ => {}
            }
        }
    }

    fn register(&mut self, map: &'a Map<String, Value>, value: &'a Value) {
        for key in NAMING {
            let Some(name) = map.get(key).and_then(Value::as_str) else { continue };
            if key == "$id" || key == "id" && self.has_plain_ids {
                self.resources.push(value);
            }
            self.named.entry(last_part(name)).or_default().push(value);
        }
    }

    /// Refuses a schema that is too much work, or too deep a way. The answer is the longest way of parts that apply to
    /// the same value.
    pub(crate) fn check(&self) -> Result<u64, Error> {
        if self.resources.len() > MAX_RESOURCES {
            return Err(Error::TooMuchWork);
        }
        let (mut checks, mut levels, mut longest) = (HashMap::new(), HashMap::new(), 1);
        let mut seen = HashSet::new();
        let mut left = vec![self.root];
        while let Some(schema) = left.pop() {
            if seen.insert(std::ptr::from_ref(schema)) {
                let parts = |schema| self.same_value(schema);
                if fold(schema, &mut checks, parts, counted) > MAX_SCHEMA_CHECKS {
                    return Err(Error::TooMuchWork);
                }
                longest = fold(schema, &mut levels, parts, deepest).max(longest);
                left.extend(self.parts(schema));
            }
        }
        let depth = fold(self.root, &mut HashMap::new(), |schema| self.parts(schema), deepest);
        if depth > MAX_REFERENCE_DEPTH { Err(Error::TooDeep) } else { Ok(longest) }
    }

    /// Every schema that this one applies to something.
    pub(crate) fn parts(&self, schema: &'a Value) -> Vec<&'a Value> {
        let mut parts = self.same_value(schema);
        for (key, value) in schema.as_object().into_iter().flatten() {
            match value {
                Value::Object(map) if MAPS_BELOW.contains(&key.as_str()) => parts.extend(map.values()),
                Value::Array(items) if LISTS_BELOW.contains(&key.as_str()) => parts.extend(items),
                Value::Object(_) if BELOW.contains(&key.as_str()) => parts.push(value),
                _ => {}
            }
        }
        parts
    }

    /// Returns the schemas that apply to the same value as this one.
    pub(crate) fn same_value(&self, schema: &'a Value) -> Vec<&'a Value> {
        let Some(map) = schema.as_object() else { return Vec::new() };
        let mut parts: Vec<&Value> = SAME_VALUE.iter().filter_map(|key| map.get(*key)).collect();
        let lists = SAME_VALUE_LISTS.iter().filter_map(|key| map.get(*key)?.as_array());
        parts.extend(lists.flatten());
        let maps = SAME_VALUE_MAPS.iter().filter_map(|key| map.get(*key)?.as_object());
        parts.extend(maps.flat_map(|map| map.values()).filter(|part| part.is_object()));
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = map.get(key).and_then(Value::as_str) {
                self.push_targets(reference, &mut parts);
            }
        }
        parts
    }

    /// Resolves a reference to its target and the target's pointer in the whole schema. Returns `None` if it depends on a
    /// surrounding `$id`.
    pub(crate) fn target(&self, reference: &str) -> Option<(&'a Value, String)> {
        let mut parts = Vec::new();
        self.push_targets(reference, &mut parts);
        let [target] = parts.as_slice() else { return None };
        let fragment = reference.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let pointer = match fragment {
            Some(fragment) => percent_decode_str(fragment).decode_utf8_lossy().into_owned(),
            None => self.pointer_to(target)?,
        };
        let is_there = self.at(&pointer).is_some_and(|found| std::ptr::eq(found, *target));
        is_there.then_some((*target, pointer))
    }

    /// Returns the pointer to a named schema.
    fn pointer_to(&self, target: &Value) -> Option<String> {
        self.searches.set(self.searches.get().checked_sub(1)?);
        let mut left = vec![(self.root, String::new())];
        while let Some((value, pointer)) = left.pop() {
            if std::ptr::eq(value, target) {
                return Some(pointer);
            }
            match value {
                Value::Array(items) => {
                    left.extend(items.iter().enumerate().map(|(at, item)| (item, format!("{pointer}/{at}"))));
                }
                Value::Object(map) => left.extend(
                    map.iter().map(|(name, member)| (member, format!("{pointer}/{}", pointer_part(name)))),
                ),
                _ => {}
            }
        }
        None
    }

    /// Adds what a reference may mean: all of it where that depends on the `$id` around.
    fn push_targets(&self, reference: &str, parts: &mut Vec<&'a Value>) {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if !fragment.is_empty() && !fragment.starts_with('/') {
            parts.extend(self.named.get(fragment).into_iter().flatten());
            return;
        }
        let pointer = percent_decode_str(fragment).decode_utf8_lossy();
        let bases = if base.is_empty() {
            self.resources.as_slice()
        } else {
            self.named.get(last_part(base)).map(Vec::as_slice).unwrap_or_default()
        };
        let around = bases.iter().filter(|base| !std::ptr::eq(**base, self.root));
        let is_root_meant = base.is_empty() || bases.iter().any(|base| std::ptr::eq(*base, self.root));
        parts.extend(self.at(&pointer).filter(|_| is_root_meant));
        parts.extend(around.filter_map(|base| base.pointer(&pointer)));
    }
}

/// Computes something of a schema from the same of its parts, each once. A schema that is met again inside of itself
/// counts as 1 there: the validator breaks such circles.
fn fold<'a>(
    schema: &'a Value,
    known: &mut HashMap<*const Value, u64>,
    parts: impl Fn(&'a Value) -> Vec<&'a Value>,
    combine: impl Fn(&Value, u64, u64) -> u64,
) -> u64 {
    if let Some(known) = known.get(&std::ptr::from_ref(schema)) {
        return *known;
    }
    let mut open = vec![(schema, parts(schema), 1)];
    known.insert(std::ptr::from_ref(schema), 1);
    while let Some((schema, left, total)) = open.last_mut() {
        if let Some(next) = left.pop() {
            if let Some(part) = known.get(&std::ptr::from_ref(next)) {
                *total = combine(schema, *total, *part);
            } else {
                known.insert(std::ptr::from_ref(next), 1);
                open.push((next, parts(next), 1));
            }
            continue;
        }
        let total = *total;
        known.insert(std::ptr::from_ref(*schema), total);
        open.pop();
        if let Some((above, _, sum)) = open.last_mut() {
            *sum = combine(above, *sum, total);
        }
    }
    known.get(&std::ptr::from_ref(schema)).copied().unwrap_or(1)
}

fn counted(schema: &Value, sum: u64, part: u64) -> u64 {
    let repeats = REPEATING.iter().filter(|key| schema.get(**key).is_some()).count();
    sum.saturating_add(part.saturating_mul(1 << repeats))
}

fn deepest(_: &Value, longest: u64, part: u64) -> u64 {
    longest.max(part.saturating_add(1))
}

/// Returns the part of an address that tells it from its siblings.
fn last_part(address: &str) -> &str {
    let address = address.trim_end_matches('#');
    address.rsplit(['/', '#', ':']).next().unwrap_or(address)
}
