//! Several tools under one name.

use std::cmp::Reverse;
use std::sync::Arc;

use serde_json::Value;
use smallvec::SmallVec;
use toolcrib_model::JsonObject;
use toolcrib_schema::{Repaired, Violations};

use crate::Entry;

/// The most tools of one name, the likeliest first, into whose schemas arguments are repaired.
pub const MAX_REPAIRED_OVERLOADS: usize = 16;

/// The tools of one name, in the order in which they were registered; at least one.
#[derive(Clone, Debug)]
pub struct Overloads<'a> {
    entries: Entries<'a>,
}

/// No overload takes the arguments.
#[derive(Debug)]
pub struct OverloadError<'a> {
    /// The overload that the arguments come closest to.
    pub nearest: &'a Arc<Entry>,
    /// What is wrong with them there.
    pub violations: Violations,
    /// How many overloads there are.
    pub overloads: usize,
}

impl<'a> Overloads<'a> {
    pub(crate) fn new(entries: &'a [Arc<Entry>]) -> Self {
        Self { entries: entries.iter().collect() }
    }

    /// Only those that the caller may see; `None` when there are none.
    pub fn visible(mut self, visible: impl Fn(&Entry) -> bool) -> Option<Self> {
        self.entries.retain(|entry| visible(entry));
        (!self.entries.is_empty()).then_some(self)
    }

    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = &'a Arc<Entry>> {
        self.entries.iter().copied()
    }

    /// The one that was registered first.
    pub fn first(&self) -> Option<&'a Arc<Entry>> {
        self.entries.first().copied()
    }

    /// The tool that a call with these arguments means: of those whose schema accepts the arguments (of all, when none
    /// does) the one with the most argument names in common; of equals the first registered.
    pub fn choose(&self, arguments: &JsonObject) -> Option<&'a Arc<Entry>> {
        if let [only] = self.entries.as_slice() {
            return Some(*only);
        }
        let given = Value::Object(arguments.clone());
        let Ranked { accepting, others } = self.ranked(&given);
        accepting.first().copied().or_else(|| by_names(others, &given).first().copied())
    }

    /// The tool that the call means, and its final arguments: the first that takes the arguments as they are, else the
    /// first that takes them once they are [repaired](toolcrib_schema::CompiledSchema::repair), in the order in which
    /// [`choose`](Self::choose) prefers them. Arguments that already fit one tool are never bent towards another.
    ///
    /// There is no error in the error when there is no tool.
    pub fn repair(
        &self,
        arguments: JsonObject,
    ) -> Result<(&'a Arc<Entry>, Repaired), Option<OverloadError<'a>>> {
        let failed =
            |nearest, violations| Some(OverloadError { nearest, violations, overloads: self.entries.len() });
        if let [only] = self.entries.as_slice() {
            let repaired = only.schema.repair(arguments);
            return repaired.map(|repaired| (*only, repaired)).map_err(|violations| failed(only, violations));
        }
        let given = Value::Object(arguments);
        let Ranked { accepting, others } = self.ranked(&given);
        // The rules on names are not those of JSON Schema, so one that accepts may still refuse.
        let exact = accepting.iter().find(|entry| entry.schema.validate(&given).is_ok());
        let others = if exact.is_some() { Entries::new() } else { by_names(others, &given) };
        let Value::Object(arguments) = given else { return Err(None) };
        if let Some(entry) = exact {
            let repaired = entry.schema.repair(arguments);
            return repaired
                .map(|repaired| (*entry, repaired))
                .map_err(|violations| failed(entry, violations));
        }
        let mut nearest = None;
        for entry in accepting.into_iter().chain(others).take(MAX_REPAIRED_OVERLOADS) {
            match entry.schema.repair(arguments.clone()) {
                Ok(repaired) => return Ok((entry, repaired)),
                Err(violations) => nearest = nearest.or_else(|| failed(entry, violations)),
            }
        }
        Err(nearest)
    }

    fn ranked(&self, arguments: &Value) -> Ranked<'a> {
        let (accepting, others) = self.iter().partition(|entry| entry.schema.accepts(arguments));
        Ranked { accepting: by_names(accepting, arguments), others }
    }
}

type Entries<'a> = SmallVec<[&'a Arc<Entry>; 4]>;

/// The tools of one name, seen from the arguments of a call.
struct Ranked<'a> {
    /// Those whose schema accepts the arguments, the likeliest first.
    accepting: Entries<'a>,
    /// Those whose schema does not, as they were registered.
    others: Entries<'a>,
}

/// The tools with the most argument names in common first; equals stay in the order in which they were registered.
fn by_names<'a>(mut entries: Entries<'a>, arguments: &Value) -> Entries<'a> {
    if entries.len() > 1 {
        let common = |entry: &&Arc<Entry>| {
            entry.tool.parameter_names().filter(|name| arguments.get(name).is_some()).count()
        };
        entries.sort_by_cached_key(|entry| Reverse(common(entry)));
    }
    entries
}
