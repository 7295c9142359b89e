//! Patterns that cannot be checked in linear time.
//!
//! A pattern with look-around or back-references may take for ever, and one that repeats something a hundred million
//! times has no room. A tool is worth more than the check of one text, so such a pattern is left out of the check, which
//! then accepts more than the schema says and never less. What is left out is remembered and can be told.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};
use toolcrib_model::text::ellipsize_bytes;

use crate::pattern_cost::{Cost, MAX_PATTERN_STATES};
use crate::schema_cost::Graph;
use crate::validator;
use crate::violation::pointer_below;

/// The most bytes of a pattern that are shown.
const MAX_SHOWN_BYTES: usize = 200;

/// The most patterns that are looked at one by one, and the most that are told.
const MAX_PATTERNS: usize = 1000;

/// A pattern of a schema that no value is checked against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unchecked {
    /// JSON pointer of the schema that has it.
    pub path: String,
    /// The pattern; a long one is cut.
    pub pattern: String,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, pattern, reason } = self;
        write!(f, "the pattern `{pattern}` at `{path}` is not checked: {reason}")
    }
}

/// Returns the schema without what cannot be checked; none where that is not what is wrong with it.
pub(crate) fn leave_out(schema: &Value) -> Option<(Value, Vec<Unchecked>)> {
    let marks = Marks::new(schema)?;
    let mut unchecked = Vec::new();
    let rest = marks.rebuild(schema, "", &mut unchecked);
    (!unchecked.is_empty()).then_some((rest, unchecked))
}

/// Properties of the parts of a schema that are computed before it is rebuilt.
struct Marks {
    /// Every part, and whether a pattern is left out of it or of something that it leads to.
    parts: HashMap<*const Value, bool>,
    /// The patterns that are left out, with the reason.
    patterns: HashMap<String, &'static str>,
    /// True if the properties left over by other keywords are no longer known.
    has_lost_properties: bool,
}

impl Marks {
    fn new(schema: &Value) -> Option<Self> {
        let graph = Graph::new(schema);
        let mut above: HashMap<*const Value, Vec<*const Value>> = HashMap::new();
        let mut seen = HashSet::from([std::ptr::from_ref(schema)]);
        let (mut left, mut wrong) = (vec![schema], Vec::new());
        let mut patterns: HashMap<String, Option<&'static str>> = HashMap::new();
        let mut has_lost_properties = false;
        let mut room = MAX_PATTERN_STATES;
        while let Some(part) = left.pop() {
            for pattern in patterns_of(part) {
                let reason = match patterns.get(pattern) {
                    Some(reason) => *reason,
                    None if patterns.len() >= MAX_PATTERNS => return None,
                    None => *patterns.entry(pattern.to_owned()).or_insert(reason(pattern, &mut room)),
                };
                if reason.is_some() {
                    wrong.push(std::ptr::from_ref(part));
                    has_lost_properties |= part.get("pattern").and_then(Value::as_str) != Some(pattern);
                }
            }
            for below in graph.parts(part) {
                above.entry(std::ptr::from_ref(below)).or_default().push(std::ptr::from_ref(part));
                if seen.insert(std::ptr::from_ref(below)) {
                    left.push(below);
                }
            }
        }
        let mut parts: HashMap<_, _> = seen.into_iter().map(|part| (part, false)).collect();
        while let Some(part) = wrong.pop() {
            if parts.insert(part, true) == Some(false) {
                wrong.extend(above.get(&part).into_iter().flatten());
            }
        }
        let patterns =
            patterns.into_iter().filter_map(|(pattern, reason)| Some((pattern, reason?))).collect();
        Some(Self { parts, patterns, has_lost_properties })
    }

    fn is_weaker(&self, part: &Value) -> bool {
        self.parts.get(&std::ptr::from_ref(part)) == Some(&true)
    }

    /// The same value, where parts of the schema have lost what cannot be checked. A schema is no deeper than its bound.
    fn rebuild(&self, value: &Value, path: &str, unchecked: &mut Vec<Unchecked>) -> Value {
        match value {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(at, item)| self.rebuild(item, &format!("{path}/{at}"), unchecked)).collect()
            }
            Value::Object(map) => {
                let mut rest: Map<String, Value> = map
                    .iter()
                    .map(|(name, member)| {
                        (name.clone(), self.rebuild(member, &pointer_below(path, name), unchecked))
                    })
                    .collect();
                if self.parts.contains_key(&std::ptr::from_ref(value)) {
                    self.weaken(map, &mut rest, path, unchecked);
                }
                Value::Object(rest)
            }
            other => other.clone(),
        }
    }

    fn weaken(
        &self,
        map: &Map<String, Value>,
        rest: &mut Map<String, Value>,
        path: &str,
        unchecked: &mut Vec<Unchecked>,
    ) {
        let mut tell = |path: String, pattern: &str| {
            let reason = self.patterns.get(pattern).copied();
            if let Some(reason) = reason.filter(|_| unchecked.len() < MAX_PATTERNS) {
                unchecked.push(Unchecked {
                    path,
                    pattern: ellipsize_bytes(pattern, MAX_SHOWN_BYTES).into_owned(),
                    reason: reason.to_owned(),
                });
            }
            reason.is_some()
        };
        if map.get("pattern").and_then(Value::as_str).is_some_and(|pattern| tell(path.to_owned(), pattern)) {
            rest.shift_remove("pattern");
        }
        let names = map.get("patternProperties").and_then(Value::as_object);
        for pattern in names.into_iter().flat_map(Map::keys) {
            if tell(format!("{path}/patternProperties"), pattern) {
                rest.get_mut("patternProperties")
                    .and_then(Value::as_object_mut)
                    .and_then(|names| names.shift_remove(pattern));
                // What the pattern would have matched must not count as unknown.
                rest.shift_remove("additionalProperties");
            }
        }
        if self.has_lost_properties {
            rest.shift_remove("unevaluatedProperties");
        }
        // A part that accepts more makes these refuse more, so they go with it.
        let is_weaker = |keyword: &str| map.get(keyword).is_some_and(|part| self.is_weaker(part));
        if is_weaker("not") {
            rest.shift_remove("not");
        }
        if is_weaker("if") {
            for keyword in ["if", "then", "else"] {
                rest.shift_remove(keyword);
            }
        }
        if is_weaker("contains") {
            rest.shift_remove("maxContains");
        }
        let branches = map.get("oneOf").and_then(Value::as_array);
        if branches.is_some_and(|branches| branches.iter().any(|branch| self.is_weaker(branch)))
            && let Some(branches) = rest.shift_remove("oneOf")
        {
            let part = json!({"anyOf": branches});
            match rest.get_mut("allOf").and_then(Value::as_array_mut) {
                Some(parts) => parts.push(part),
                None => drop(rest.insert("allOf".into(), vec![part].into())),
            }
        }
    }
}

/// The most states of a small pattern, so that those of a simple schema are within the limits together.
const MAX_SMALL_STATES: u64 = 200;

/// Returns true if a pattern is certain to be checked, wherever it stands: it is small and can be matched in linear time.
pub fn is_small_pattern(pattern: &str) -> bool {
    Cost::of(pattern).to_compile() <= MAX_SMALL_STATES && validator::is_linear(pattern)
}

fn patterns_of(part: &Value) -> impl Iterator<Item = &str> {
    let own = part.get("pattern").and_then(Value::as_str);
    let names = part.get("patternProperties").and_then(Value::as_object);
    own.into_iter().chain(names.into_iter().flat_map(Map::keys).map(String::as_str))
}

/// Returns the reason for not checking a pattern, or `None` if it can be checked or is invalid. `room` is the number of
/// states that the patterns of the schema may still have.
fn reason(pattern: &str, room: &mut u64) -> Option<&'static str> {
    let Some(rest) = room.checked_sub(Cost::of(pattern).to_compile()) else {
        return Some("it is too large, or the patterns of the schema are together");
    };
    *room = rest;
    if validator::is_linear(pattern) || !validator::is_pattern(pattern) {
        None
    } else if validator::needs_backtracking(pattern) {
        Some("look-around and back-references cannot be matched in linear time")
    } else {
        Some("it is too large, or written in a way that is not supported")
    }
}
