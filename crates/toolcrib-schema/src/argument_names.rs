//! Names of arguments that a schema does not list, or that look like one that it lists.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use toolcrib_model::text::is_invisible;

use crate::Violation;
use crate::repair::Plan;
use crate::violation::{MAX_VIOLATIONS, mistaken_name, pointer_below, unknown_argument};

/// Keywords by which a schema takes more properties than it lists, or lists them elsewhere.
const OPEN_KEYWORDS: [&str; 14] = [
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "propertyNames",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "dependentSchemas",
    "dependencies",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
];

/// The number of listed names that may be skipped before a name is looked up.
const MAX_SKIPPED: usize = 4;

/// The names that a schema knows.
#[derive(Debug)]
pub(crate) struct ArgumentNames {
    /// Those of the arguments themselves, in the order of the schema.
    listed: Vec<Box<str>>,
    /// The same, to find one.
    known: HashSet<Box<str>>,
    /// True if other names are refused.
    is_closed: bool,
    /// Those of all objects together. Empty where no object is left open, so that there is nothing to mistake.
    everywhere: HashSet<Box<str>>,
    /// The same, as they look.
    looks: HashSet<Box<str>>,
}

impl ArgumentNames {
    pub(crate) fn new(schema: &Value) -> Self {
        let root = schema.as_object();
        let listed = root.and_then(|map| map.get("properties")?.as_object());
        let is_open =
            |map: &Map<String, Value>| OPEN_KEYWORDS.iter().any(|keyword| map.contains_key(*keyword));
        let is_closed = listed.is_some() && root.is_some_and(|map| !is_open(map));
        let mut names = Self {
            listed: listed.into_iter().flat_map(Map::keys).map(|name| name.as_str().into()).collect(),
            known: listed.into_iter().flat_map(Map::keys).map(|name| name.as_str().into()).collect(),
            is_closed,
            everywhere: HashSet::new(),
            looks: HashSet::new(),
        };
        let mut has_open_objects = !is_closed;
        let mut left = vec![(schema, true)];
        while let Some((value, is_root)) = left.pop() {
            match value {
                Value::Array(items) => left.extend(items.iter().map(|item| (item, false))),
                Value::Object(map) => {
                    left.extend(map.values().map(|member| (member, false)));
                    let Some(properties) = map.get("properties").and_then(Value::as_object) else { continue };
                    has_open_objects |=
                        !is_root && map.get("additionalProperties") != Some(&Value::Bool(false));
                    names.everywhere.extend(properties.keys().map(|name| name.as_str().into()));
                    names.looks.extend(properties.keys().map(|name| look(name).into()));
                }
                _ => {}
            }
        }
        if !has_open_objects {
            names.everywhere.clear();
            names.looks.clear();
        }
        names
    }

    /// Returns true if a quick check finds every name listed or left to the schema. Every call pays for this check, so it
    /// is fastest for names in the order of the schema, which most callers use.
    pub(crate) fn are_plain(&self, value: &Value) -> bool {
        let Some(map) = value.as_object() else { return true };
        let mut listed = self.listed.iter();
        map.iter().all(|(name, member)| {
            let is_next = listed.by_ref().take(MAX_SKIPPED).any(|listed| **listed == **name);
            let is_known = is_next || self.known.contains(name.as_str());
            (is_known || !self.is_closed && self.is_unmistaken(name)) && self.are_plain_below(member)
        })
    }

    fn are_plain_below(&self, value: &Value) -> bool {
        match value {
            _ if self.everywhere.is_empty() => true,
            Value::Array(items) => items.iter().all(|item| self.are_plain_below(item)),
            Value::Object(map) => {
                map.iter().all(|(name, member)| self.is_unmistaken(name) && self.are_plain_below(member))
            }
            _ => true,
        }
    }

    /// Returns true if the name occurs in the schema, or resembles no name in it.
    fn is_unmistaken(&self, name: &str) -> bool {
        self.everywhere.contains(name) || !self.looks.contains(&*look(name))
    }

    /// Names that the schema does not know, where it lists what it knows.
    pub(crate) fn unknown<'a>(
        &'a self,
        schema: &'a Value,
        value: &'a Value,
    ) -> impl Iterator<Item = Violation> + 'a {
        let given = value.as_object().filter(|_| self.is_closed).into_iter().flat_map(Map::keys);
        given
            .filter(|name| !self.known.contains(name.as_str()))
            .map(|name| unknown_argument("", name, Some(schema)))
    }
}

/// The most steps of one search for names that look like others.
const MAX_NAME_STEPS: usize = 50_000;

/// Returns the names that differ from a name listed at the same place only in case or in invisible characters. Some JSON
/// parsers confuse them, so the tool would get a value other than the checked one.
pub(crate) fn mistaken(plan: &Plan, value: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut left = vec![(vec![0], value, String::new())];
    let mut steps = 0;
    while let Some((parts, value, pointer)) = left.pop() {
        let parts = plan.everything(parts);
        steps += 1 + parts.len();
        match value {
            Value::Object(map) => {
                let known: HashMap<_, _> =
                    plan.property_names(&parts).map(|name| (look(name), name)).collect();
                steps += known.len() + map.len() * (1 + plan.patterns(&parts));
                if steps > MAX_NAME_STEPS {
                    return vec![Violation::unexplained()];
                }
                for (name, member) in map {
                    if let Some(meant) = known.get(&look(name))
                        && !plan.lists(&parts, name)
                    {
                        found.push(mistaken_name(&pointer, name, meant));
                    }
                    left.push((plan.members(&parts, name), member, pointer_below(&pointer, name)));
                }
            }
            Value::Array(items) => {
                steps += items.len();
                for (position, item) in items.iter().enumerate() {
                    left.push((plan.items(&parts, position), item, format!("{pointer}/{position}")));
                }
            }
            _ => {}
        }
        if steps > MAX_NAME_STEPS {
            found.push(Violation::unexplained());
            break;
        }
    }
    found.truncate(MAX_VIOLATIONS);
    found
}

/// Names with a character in them at which some readers stop.
pub(crate) fn cut_short(value: &Value) -> Option<Violation> {
    let mut left = vec![(value, String::new())];
    while let Some((value, pointer)) = left.pop() {
        match value {
            Value::Object(map) => {
                for (name, member) in map {
                    if name.contains('\0') {
                        return Some(Violation::with_nul(&pointer, name));
                    }
                    left.push((member, pointer_below(&pointer, name)));
                }
            }
            Value::Array(items) => {
                left.extend(items.iter().enumerate().map(|(at, item)| (item, format!("{pointer}/{at}"))));
            }
            _ => {}
        }
    }
    None
}

/// Returns a name in lower case and without invisible characters.
fn look(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase();
    if name.bytes().all(is_plain) {
        return name.into();
    }
    let seen = name.chars().filter(|c| !is_invisible(*c) && !c.is_whitespace());
    seen.flat_map(char::to_lowercase).collect()
}
