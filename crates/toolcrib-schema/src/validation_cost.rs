//! The cost of checking a value, estimated before the check.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::limits::MAX_VALUE_CHECKS;
use crate::pattern_cost::Cost;
use crate::schema_cost::Graph;
use crate::value_size::size;

/// The most steps whose errors are collected. Beyond it a value is refused without a reason for each part.
const MAX_EXPLAINED_CHECKS: u64 = 30_000;

/// The number of simultaneous states up to which the regex engine caches its work, so that each byte costs the same.
const MAX_PLAIN_WIDTH: u64 = 16;

/// The bytes of a text that are matched in one step, against a pattern that is plain.
const PLAIN_BYTES: u64 = 64;

/// The states of other patterns that are passed in one step.
const STATES_PER_STEP: u64 = 2;

/// The cost of an item that must differ from all others.
const UNIQUE_STEPS: u64 = 4;

/// The number of followed references from which the validator caches the result for a part.
const REMEMBERED_REFERENCES: u64 = 16;

impl Graph<'_> {
    /// Returns true if checking a value is within the limit. The validator caches the results of larger parts.
    pub(crate) fn is_checkable(&self, value: &Value) -> bool {
        Effort::new(self, MAX_VALUE_CHECKS, false).walk(value).is_some()
    }

    /// Returns true if collecting all errors of a value is within the limit: each part counts as often as it is reached, and
    /// alternatives copy the value.
    pub(crate) fn is_explainable(&self, value: &Value) -> bool {
        Effort::new(self, MAX_EXPLAINED_CHECKS, true).walk(value).is_some()
    }
}

type Pair = (*const Value, *const Value);

/// The pending work of a walk.
enum Step<'a, 'v> {
    Enter(&'a Value, &'v Value),
    /// The end of a part, with the steps left and the references followed at its start.
    Leave(Pair, u64, u64),
}

/// A walk through schema and value.
struct Effort<'a, 'g> {
    graph: &'g Graph<'a>,
    left: u64,
    references: u64,
    is_explaining: bool,
    /// The steps and references of pairs of parts; `None` while a pair is in progress.
    seen: HashMap<Pair, Option<(u64, u64)>>,
    parts: HashMap<*const Value, Rc<PartCost<'a>>>,
}

impl<'a, 'g> Effort<'a, 'g> {
    fn new(graph: &'g Graph<'a>, left: u64, is_explaining: bool) -> Self {
        Self { graph, left, references: 0, is_explaining, seen: HashMap::new(), parts: HashMap::new() }
    }

    fn spend(&mut self, steps: u64) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }

    fn walk(&mut self, value: &Value) -> Option<()> {
        let mut open = vec![Step::Enter(self.graph.root(), value)];
        while let Some(step) = open.pop() {
            let (schema, value) = match step {
                Step::Enter(schema, value) => (schema, value),
                Step::Leave(pair, left, references) => {
                    let known = (left.saturating_sub(self.left), self.references.saturating_sub(references));
                    self.seen.insert(pair, Some(known));
                    continue;
                }
            };
            self.spend(1)?;
            let Some(part) = self.part(schema) else { continue };
            let pair = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
            if !self.is_explaining && (value.is_array() || value.is_object()) {
                if let Some(known) = self.seen.get(&pair) {
                    let (steps, references) = known.unwrap_or_default();
                    if references < REMEMBERED_REFERENCES {
                        self.spend(steps)?;
                        self.references += references;
                    }
                    continue;
                }
                self.seen.insert(pair, None);
                open.push(Step::Leave(pair, self.left, self.references));
            }
            self.references += u64::from(part.is_reference);
            self.spend(part.own_steps(value))?;
            if self.is_explaining && part.has_alternatives {
                self.spend(size(value).saturating_mul(count(&part.same)))?;
            }
            open.extend(part.same.iter().map(|part| Step::Enter(part, value)));
            match value {
                Value::Object(members) => {
                    for (name, member) in members {
                        open.extend(part.members(name).map(|part| Step::Enter(part, member)));
                    }
                }
                Value::Array(items) => {
                    for (position, item) in items.iter().enumerate() {
                        open.extend(part.items(position).map(|part| Step::Enter(part, item)));
                    }
                }
                _ => {}
            }
            // What is noted for later counts, so that the notes stay as few.
            if count(&open) > self.left.saturating_mul(2) {
                return None;
            }
        }
        Some(())
    }

    fn part(&mut self, schema: &'a Value) -> Option<Rc<PartCost<'a>>> {
        let map = schema.as_object()?;
        let part = self
            .parts
            .entry(std::ptr::from_ref(schema))
            .or_insert_with(|| Rc::new(PartCost::new(map, self.graph.same_value(schema))));
        Some(Rc::clone(part))
    }
}

/// The cost of a part of a schema.
#[derive(Default)]
struct PartCost<'a> {
    /// The schemas that apply to the same value.
    same: Vec<&'a Value>,
    properties: Option<&'a Map<String, Value>>,
    /// The schemas of all other members; too many rather than too few.
    rest: Vec<&'a Value>,
    first: &'a [Value],
    later: Vec<&'a Value>,
    is_reference: bool,
    has_alternatives: bool,
    /// The cost of comparing with the listed values, for a text and for any other value.
    listed: (u64, u64),
    /// The number of states that the pattern reaches at once.
    pattern: u64,
    /// The number of required names.
    required: u64,
    /// The costs of an item, of a member, and of a byte of its name.
    per_item: u64,
    per_member: u64,
    name_width: u64,
}

impl<'a> PartCost<'a> {
    fn new(map: &'a Map<String, Value>, same: Vec<&'a Value>) -> Self {
        let again = count(&same) + 1;
        let mut part = Self { same, per_item: 1, per_member: 1, ..Self::default() };
        for (keyword, value) in map {
            match keyword.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => part.is_reference = true,
                "anyOf" | "oneOf" => part.has_alternatives = true,
                "properties" => part.properties = value.as_object(),
                "additionalProperties" => part.rest.push(value),
                "unevaluatedProperties" => {
                    part.rest.push(value);
                    part.per_member += again;
                }
                "patternProperties" => {
                    let patterns = value.as_object().into_iter().flatten();
                    for (pattern, schema) in patterns {
                        part.rest.push(schema);
                        part.per_member += 1;
                        part.name_width = part.name_width.saturating_add(width(pattern));
                    }
                }
                "propertyNames" => {
                    part.per_member += size(value);
                    part.name_width = part.name_width.saturating_add(widths(value));
                }
                "items" => match value {
                    Value::Array(items) => part.first = items,
                    schema => part.later.push(schema),
                },
                "prefixItems" => part.first = value.as_array().map(Vec::as_slice).unwrap_or_default(),
                "additionalItems" | "contains" => part.later.push(value),
                "unevaluatedItems" => {
                    part.later.push(value);
                    part.per_item += again;
                }
                "uniqueItems" => part.per_item += UNIQUE_STEPS,
                "enum" | "const" => {
                    let options = value.as_array().filter(|_| keyword == "enum");
                    // Lists of texts are looked up, and not compared one by one.
                    let is_looked_up = options.is_none_or(|options| options.iter().all(Value::is_string));
                    let steps = size(value);
                    part.listed.0 += if is_looked_up { 1 } else { steps };
                    part.listed.1 += steps;
                }
                "pattern" => part.pattern = value.as_str().map_or(0, width),
                "required" | "dependentRequired" | "dependencies" => part.required += size(value),
                _ => {}
            }
        }
        part
    }

    /// Returns the cost of the keywords without subschemas.
    fn own_steps(&self, value: &Value) -> u64 {
        match value {
            Value::String(text) => self.listed.0.saturating_add(match_steps(self.pattern, text.len())),
            Value::Array(items) => self.listed.1.saturating_add(count(items).saturating_mul(self.per_item)),
            Value::Object(members) => {
                let names = members.keys().map(|name| match_steps(self.name_width, name.len()));
                let members =
                    u64::try_from(members.len()).unwrap_or(u64::MAX).saturating_mul(self.per_member);
                let fixed = self.listed.1.saturating_add(self.required).saturating_add(members);
                names.fold(fixed, u64::saturating_add)
            }
            _ => self.listed.1,
        }
    }

    fn members(&self, name: &str) -> impl Iterator<Item = &'a Value> {
        let listed = self.properties.and_then(|properties| properties.get(name));
        listed.into_iter().chain(self.rest.iter().copied())
    }

    fn items(&self, position: usize) -> impl Iterator<Item = &'a Value> {
        self.first.get(position).into_iter().chain(self.later.iter().copied())
    }
}

/// Returns the number of steps to match a text against patterns that reach `width` states at once.
fn match_steps(width: u64, length: usize) -> u64 {
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    match width {
        0 => 0,
        _ if width <= MAX_PLAIN_WIDTH => length / PLAIN_BYTES,
        _ => length.saturating_mul(width) / STATES_PER_STEP,
    }
}

fn width(pattern: &str) -> u64 {
    Cost::of(pattern).width
}

/// Returns the widths of all patterns somewhere inside.
fn widths(schema: &Value) -> u64 {
    let mut found = 0_u64;
    let mut left = vec![schema];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(items) => left.extend(items),
            Value::Object(map) => {
                let own = map.get("pattern").and_then(Value::as_str);
                found = found.saturating_add(own.map_or(0, width));
                left.extend(map.values());
            }
            _ => {}
        }
    }
    found
}

fn count<T>(items: &[T]) -> u64 {
    u64::try_from(items.len()).unwrap_or(u64::MAX)
}
