//! The walk through a value and its schema, side by side.

use serde_json::{Map, Value};

use super::kind::Kinds;
use super::node::{Node, NodeId};
use super::path::Path;
use super::plan::Plan;
use super::{Change, MAX_REPAIR_STEPS, MAX_REPAIRS, Repair, coerce, number};
use crate::value_size::size;

/// The maximum depth of a walk. Deeper values stay unchanged.
const MAX_WALK_DEPTH: usize = 48;

/// The maximum nesting of texts that were parsed inside parsed texts.
const MAX_TEXTS_INSIDE: usize = 4;

/// The maximum nesting of defaults inside filled defaults.
const MAX_FILLED_INSIDE: usize = 8;

/// The reason for ending a walk early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Nothing that is done to the value makes it fit.
    Hopeless,
    /// A bound is reached.
    Exhausted,
}

/// The purpose of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To make a value fit that does not, by its types alone.
    Mend,
    /// The same, with the defaults of what is required and left out.
    MendAndRequire,
    /// To write whole numbers as integers in a value that fits.
    Narrow,
    /// The same, and to fill in all defaults.
    Complete,
}

impl Purpose {
    fn is_mending(self) -> bool {
        matches!(self, Self::Mend | Self::MendAndRequire)
    }
}

/// Makes a value fit that does not. The caller checks whether it does.
pub(crate) fn mend(plan: &Plan, value: &Value) -> impl Iterator<Item = (Value, Vec<Repair>)> {
    attempts(plan, value, [Purpose::MendAndRequire, Purpose::Mend])
}

/// Fills the defaults of a value that fits, and writes whole numbers as integers. The caller checks whether it still
/// fits: defaults may contradict each other.
pub(crate) fn complete(plan: &Plan, value: &Value) -> impl Iterator<Item = (Value, Vec<Repair>)> {
    attempts(plan, value, [Purpose::Complete, Purpose::Narrow])
}

/// Tries the alternatives in order, each on a fresh copy.
fn attempts(
    plan: &Plan,
    value: &Value,
    purposes: [Purpose; 2],
) -> impl Iterator<Item = (Value, Vec<Repair>)> {
    purposes.into_iter().filter_map(move |purpose| {
        let mut copy = value.clone();
        let mut walk = RepairWalk::new(plan, purpose);
        walk.part(0, &mut copy, &Path::ROOT).ok()?;
        (!walk.repairs.is_empty()).then_some((copy, walk.repairs))
    })
}

/// Returns true if a valid value may have something to [`complete`]. Copies nothing.
pub(crate) fn wants(plan: &Plan, value: &Value) -> bool {
    wants_part(plan, 0, value, MAX_WALK_DEPTH)
}

fn wants_part(plan: &Plan, id: NodeId, value: &Value, depth: usize) -> bool {
    let node = plan.node(id);
    if !node.is_busy || depth == 0 {
        return false;
    }
    let below = |id, value| wants_part(plan, id, value, depth - 1);
    match value {
        Value::Number(number) => number.is_f64() && node.common_kinds.is_some_and(Kinds::is_whole_only),
        Value::Array(items) => plan.together(node).any(|part| {
            let mut items = items.iter().enumerate();
            items.any(|(position, item)| part.item(position).is_some_and(|id| below(id, item)))
        }),
        Value::Object(map) => plan.together(node).any(|part| {
            part.defaults.iter().any(|default| !map.contains_key(&default.name))
                || !part.patterns.is_empty()
                || map.iter().any(|(name, member)| {
                    let id = part.properties.get(name).copied().or(part.rest);
                    id.is_some_and(|id| below(id, member))
                })
        }),
        _ => false,
    }
}

/// A walk under way.
pub(super) struct RepairWalk<'p> {
    pub(super) plan: &'p Plan,
    purpose: Purpose,
    steps: u64,
    depth: usize,
    /// Around the value, how many texts were read and how many defaults filled.
    texts: usize,
    filled: usize,
    pub(super) repairs: Vec<Repair>,
}

impl<'p> RepairWalk<'p> {
    fn new(plan: &'p Plan, purpose: Purpose) -> Self {
        Self { plan, purpose, steps: MAX_REPAIR_STEPS, depth: 0, texts: 0, filled: 0, repairs: Vec::new() }
    }

    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Stop> {
        self.steps = self.steps.checked_sub(steps).ok_or(Stop::Exhausted)?;
        Ok(())
    }

    fn changed(
        &mut self,
        path: &Path<'_>,
        change: Change,
        from: Option<&Value>,
        to: Option<&Value>,
    ) -> Result<(), Stop> {
        if self.repairs.len() >= MAX_REPAIRS {
            return Err(Stop::Exhausted);
        }
        self.repairs.push(Repair::new(path.pointer(), change, from, to));
        Ok(())
    }

    /// One part of the schema on one value.
    pub(super) fn part(&mut self, id: NodeId, value: &mut Value, path: &Path<'_>) -> Result<(), Stop> {
        self.spend(1)?;
        let node = self.plan.node(id);
        let is_idle = !self.purpose.is_mending() && !node.is_busy;
        if is_idle || self.depth >= MAX_WALK_DEPTH {
            return Ok(());
        }
        self.depth += 1;
        let texts = self.texts;
        let outcome = self.fit(node, value, path);
        self.texts = texts;
        self.depth -= 1;
        outcome
    }

    fn fit(&mut self, node: &'p Node, value: &mut Value, path: &Path<'_>) -> Result<(), Stop> {
        self.fit_type(node, value, path)?;
        self.fit_inside(node, value, path)?;
        if !self.purpose.is_mending() {
            return Ok(());
        }
        let is_scalar = !value.is_array() && !value.is_object();
        self.fit_alternatives(node, value, path)?;
        // An alternative may have parsed the text, and the other parts have not seen its content.
        if is_scalar { self.fit_inside(node, value, path) } else { Ok(()) }
    }

    fn fit_inside(&mut self, node: &'p Node, value: &mut Value, path: &Path<'_>) -> Result<(), Stop> {
        match value {
            Value::Object(map) => self.fit_members(node, map, path),
            Value::Array(items) => self.fit_items(node, items, path),
            _ => Ok(()),
        }
    }

    /// Its type and the listed values.
    fn fit_type(&mut self, node: &'p Node, value: &mut Value, path: &Path<'_>) -> Result<(), Stop> {
        let kinds = node.common_kinds.unwrap_or(Kinds::ANY);
        let options = self.plan.together(node).filter_map(|part| part.options.as_deref());
        if self.purpose.is_mending() {
            for options in options.clone() {
                self.spend(u64::try_from(options.len()).unwrap_or(u64::MAX))?;
                if !is_listed(options, value)
                    && let Some((to, change)) = coerce::to_option(value, options)
                {
                    self.replace(value, to, change, path)?;
                }
            }
        }
        let kind = Kinds::of(value, self.plan.whole_floats_are_integers);
        if kinds.has(kind) {
            // `1.0` is an integer for JSON Schema, and not for every tool. One that is too large stays.
            let narrowed = value.as_number().filter(|_| kinds.is_whole_only()).and_then(number::narrowed);
            if let Some(narrowed) = narrowed {
                self.replace(value, narrowed.into(), Change::NumberToInteger, path)?;
            }
        } else {
            self.spend(size(value))?;
            let (to, change) = coerce::to_kind(value, kinds).ok_or(Stop::Hopeless)?;
            self.replace(value, to, change, path)?;
        }
        let is_unlisted = |options: &[Value]| !is_listed(options, value);
        if self.purpose.is_mending() && options.clone().any(is_unlisted) {
            Err(Stop::Hopeless)
        } else {
            Ok(())
        }
    }

    fn replace(&mut self, value: &mut Value, to: Value, change: Change, path: &Path<'_>) -> Result<(), Stop> {
        if change == Change::ParsedJson {
            self.texts += 1;
            if self.texts > MAX_TEXTS_INSIDE {
                return Err(Stop::Hopeless);
            }
        }
        self.changed(path, change, Some(value), Some(&to))?;
        *value = to;
        Ok(())
    }

    fn fit_members(
        &mut self,
        node: &'p Node,
        map: &mut Map<String, Value>,
        path: &Path<'_>,
    ) -> Result<(), Stop> {
        let plan = self.plan;
        let mut removed = Vec::new();
        for (name, member) in map.iter_mut() {
            self.spend(1)?;
            let here = path.name(name);
            if member.is_null() && self.purpose.is_mending() && self.is_absent(node, name) {
                self.changed(&here, Change::NullRemoved, Some(member), None)?;
                removed.push(name.clone());
                continue;
            }
            for part in plan.together(node) {
                self.spend(u64::try_from(part.patterns.len()).unwrap_or(u64::MAX))?;
                for id in part.members(plan, name) {
                    self.part(id, member, &here)?;
                }
            }
        }
        for name in removed {
            map.shift_remove(&name);
        }
        for part in plan.together(node) {
            for (name, id) in &part.dependents {
                if self.purpose.is_mending() && map.contains_key(name) {
                    let mut whole = Value::Object(std::mem::take(map));
                    let outcome = self.part(*id, &mut whole, path);
                    if let Value::Object(back) = whole {
                        *map = back;
                    }
                    outcome?;
                }
            }
        }
        self.fill(node, map, path)
    }

    /// Returns true if null means a missing property: the property is optional, and null is not one of its values.
    fn is_absent(&self, node: &'p Node, name: &str) -> bool {
        let mut listed = self.plan.together(node).filter_map(|part| part.properties.get(name));
        let is_refused = listed.any(|id| !self.plan.takes_null(*id));
        is_refused && !self.is_required(node, name)
    }

    fn is_required(&self, node: &'p Node, name: &str) -> bool {
        self.plan.together(node).any(|part| part.required.iter().any(|required| required == name))
    }

    fn fill(&mut self, node: &'p Node, map: &mut Map<String, Value>, path: &Path<'_>) -> Result<(), Stop> {
        for part in self.plan.together(node) {
            for default in &part.defaults {
                let is_meant = match self.purpose {
                    Purpose::Complete => true,
                    Purpose::MendAndRequire => self.is_required(node, &default.name),
                    Purpose::Mend | Purpose::Narrow => false,
                };
                if !is_meant || map.contains_key(&default.name) {
                    continue;
                }
                if self.filled >= MAX_FILLED_INSIDE {
                    return Err(Stop::Exhausted);
                }
                self.spend(size(&default.value))?;
                let here = path.name(&default.name);
                self.changed(&here, Change::DefaultFilled, None, Some(&default.value))?;
                let mut value = default.value.clone();
                self.filled += 1;
                let outcome = self.part(default.node, &mut value, &here);
                self.filled -= 1;
                outcome?;
                map.insert(default.name.clone(), value);
            }
        }
        Ok(())
    }

    fn fit_items(&mut self, node: &'p Node, items: &mut [Value], path: &Path<'_>) -> Result<(), Stop> {
        for part in self.plan.together(node) {
            for (position, item) in items.iter_mut().enumerate() {
                if let Some(id) = part.item(position) {
                    self.part(id, item, &path.position(position))?;
                }
            }
        }
        Ok(())
    }
}

fn is_listed(options: &[Value], value: &Value) -> bool {
    options.iter().any(|option| coerce::is_same(option, value))
}
