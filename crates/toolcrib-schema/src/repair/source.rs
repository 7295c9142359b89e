//! Reads a schema into the parts of a plan.

use std::collections::HashMap;

use jsonschema::Draft;
use serde_json::{Map, Value};
use toolcrib_model::text::pointer_part;

use super::coerce;
use super::kind::Kinds;
use super::node::{Condition, Filling, MAX_PROBES, Node, NodeId, ProbeId, Union};
use crate::schema_cost::Graph;
use crate::validator::Probe;
use crate::value_size::json_within;

/// The most bytes of JSON that a default may be; a larger one is left to the tool.
const MAX_DEFAULT_BYTES: usize = 16 << 10;

/// The most references that are followed to find the default of a property.
const MAX_DEFAULT_STEPS: usize = 8;

/// The keywords of schemas whose default can be checked without a validator.
const PLAIN_KEYWORDS: [&str; 8] =
    ["type", "enum", "const", "default", "title", "description", "examples", "deprecated"];

/// A schema on its way into a plan. Every part is read once, however often it is referred to.
pub(super) struct Source<'a> {
    graph: Graph<'a>,
    draft: Draft,
    known: HashMap<*const Value, NodeId>,
    left: Vec<(NodeId, &'a Value, String)>,
    pub(super) nodes: Vec<Node>,
    pub(super) probes: Vec<Probe>,
}

impl<'a> Source<'a> {
    /// Returns all parts, the whole schema first.
    pub(super) fn read(schema: &'a Value, draft: Draft) -> Self {
        let mut source = Self {
            graph: Graph::new(schema),
            draft,
            known: HashMap::new(),
            left: Vec::new(),
            nodes: Vec::new(),
            probes: Vec::new(),
        };
        source.part(schema, String::new());
        while let Some((id, schema, pointer)) = source.left.pop() {
            let node = source.node(schema, &pointer);
            if let Some(place) = source.nodes.get_mut(id) {
                *place = node;
            }
        }
        source
    }

    /// Returns the number of a part, which is read later.
    fn part(&mut self, schema: &'a Value, pointer: String) -> NodeId {
        let id = self.nodes.len();
        let known = *self.known.entry(std::ptr::from_ref(schema)).or_insert(id);
        if known == id {
            self.nodes.push(Node::default());
            self.left.push((id, schema, pointer));
        }
        known
    }

    /// Returns the number of a probe, which is no probe's when there are too many.
    fn probe(&mut self, probe: Probe) -> ProbeId {
        if self.probes.len() >= MAX_PROBES {
            return MAX_PROBES;
        }
        self.probes.push(probe);
        self.probes.len() - 1
    }

    fn node(&mut self, schema: &'a Value, pointer: &str) -> Node {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(false) => return Node { kinds: Some(Kinds::NONE), ..Node::default() },
            _ => return Node::default(),
        };
        let references = self.references(map);
        // Up to draft 7, keywords next to a reference are ignored.
        if self.draft <= Draft::Draft7 && map.contains_key("$ref") {
            return Node { with: references, ..Node::default() };
        }
        let mut node = Node {
            kinds: map.get("type").map(|types| Kinds::of_keyword(Some(types))),
            options: options(map),
            required: texts(map.get("required")),
            with: references,
            ..Node::default()
        };
        self.members(map, pointer, &mut node);
        self.items(map, pointer, &mut node);
        for (position, part) in list(map, "allOf") {
            let id = self.part(part, format!("{pointer}/allOf/{position}"));
            node.with.push(id);
        }
        for (keyword, is_exclusive) in [("anyOf", false), ("oneOf", true)] {
            let mut branches = Vec::new();
            for (position, part) in list(map, keyword) {
                let pointer = format!("{pointer}/{keyword}/{position}");
                let probe = self.probe(Probe::Part(pointer.clone()));
                branches.push((self.part(part, pointer), probe));
            }
            if !branches.is_empty() {
                node.unions.push(Union { is_exclusive, branches });
            }
        }
        if map.contains_key("if") {
            let probe = self.probe(Probe::Part(format!("{pointer}/if")));
            let then = map.get("then").map(|part| self.part(part, format!("{pointer}/then")));
            let otherwise = map.get("else").map(|part| self.part(part, format!("{pointer}/else")));
            node.conditions.push(Condition { probe, then, otherwise });
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            for (name, part) in mapping(map, keyword).filter(|(_, part)| part.is_object()) {
                let id = self.part(part, member_pointer(pointer, keyword, name));
                node.dependents.push((name.clone(), id));
            }
        }
        node
    }

    fn members(&mut self, map: &'a Map<String, Value>, pointer: &str, node: &mut Node) {
        for (name, part) in mapping(map, "properties") {
            let pointer = member_pointer(pointer, "properties", name);
            let id = self.part(part, pointer.clone());
            node.properties.insert(name.clone(), id);
            node.defaults.extend(self.filling(name, part, id, pointer));
        }
        for (pattern, part) in mapping(map, "patternProperties") {
            let probe = self.probe(Probe::Pattern(pattern.clone()));
            let id = self.part(part, member_pointer(pointer, "patternProperties", pattern));
            node.patterns.push((probe, id));
        }
        let rest = map.get("additionalProperties").filter(|rest| rest.is_object());
        node.rest = rest.map(|rest| self.part(rest, format!("{pointer}/additionalProperties")));
    }

    fn items(&mut self, map: &'a Map<String, Value>, pointer: &str, node: &mut Node) {
        // Up to 2019-09 a list of schemas stood under `items`, and the schema of the rest under `additionalItems`.
        let (first, rest) = match map.get("items") {
            Some(Value::Array(_)) => ("items", "additionalItems"),
            _ => ("prefixItems", "items"),
        };
        for (position, part) in list(map, first) {
            let id = self.part(part, format!("{pointer}/{first}/{position}"));
            node.first.push(id);
        }
        let part = map.get(rest).filter(|part| part.is_object());
        node.items = part.map(|part| self.part(part, format!("{pointer}/{rest}")));
    }

    /// Returns the targets of the part's references, if they are unambiguous.
    fn references(&mut self, map: &'a Map<String, Value>) -> Vec<NodeId> {
        let mut found = Vec::new();
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let reference = map.get(keyword).and_then(Value::as_str);
            if let Some((part, pointer)) = reference.and_then(|reference| self.graph.target(reference)) {
                found.push(self.part(part, pointer));
            }
        }
        found
    }

    /// Returns the value for the property if it is missing.
    fn filling(&mut self, name: &str, part: &'a Value, node: NodeId, pointer: String) -> Option<Filling> {
        let value = self.default_of(part, MAX_DEFAULT_STEPS)?;
        if value.is_null() || json_within(value, MAX_DEFAULT_BYTES).is_err() {
            return None;
        }
        let map = part.as_object()?;
        let is_plain = map.keys().all(|keyword| PLAIN_KEYWORDS.contains(&keyword.as_str()));
        let kind = Kinds::of(value, self.draft != Draft::Draft4);
        let fits = || {
            let is_listed = options(map)
                .is_none_or(|options| options.iter().any(|option| coerce::is_same(option, value)));
            is_listed && Kinds::of_keyword(map.get("type")).has(kind)
        };
        if is_plain && !fits() {
            return None;
        }
        let probe = (!is_plain).then(|| self.probe(Probe::Part(pointer)));
        Some(Filling { name: name.to_owned(), value: value.clone(), node, probe })
    }

    /// Returns the default of a part: its own, else that of what it refers to.
    fn default_of(&self, part: &'a Value, steps: usize) -> Option<&'a Value> {
        let map = part.as_object().filter(|_| steps > 0)?;
        if let Some(own) = map.get("default") {
            return Some(own);
        }
        let reference = map.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|reference| self.graph.target(reference)).map(|(target, _)| target);
        let only = map.get("allOf").and_then(Value::as_array).and_then(|parts| match parts.as_slice() {
            [only] => Some(only),
            _ => None,
        });
        self.default_of(target.or(only)?, steps - 1)
    }
}

fn options(map: &Map<String, Value>) -> Option<Vec<Value>> {
    let listed = map.get("enum").and_then(Value::as_array).cloned();
    listed.or_else(|| map.get("const").map(|only| vec![only.clone()]))
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn list<'a>(
    map: &'a Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (usize, &'a Value)> + use<'a> {
    map.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate()
}

fn mapping<'a>(
    map: &'a Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    map.get(keyword).and_then(Value::as_object).into_iter().flatten()
}

fn member_pointer(pointer: &str, keyword: &str, name: &str) -> String {
    format!("{pointer}/{keyword}/{}", pointer_part(name))
}
