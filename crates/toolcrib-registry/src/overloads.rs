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
    entries: SmallVec<[&'a Arc<Entry>; 4]>,
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
        self.ranked(&Value::Object(arguments.clone())).into_iter().next().map(|ranked| ranked.entry)
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
        let ranked = self.ranked(&given);
        // The rules on names are not those of JSON Schema, so one that accepts may still refuse.
        let takes = |entry: &Entry| entry.schema.validate(&given).is_ok();
        let exact = ranked.iter().take_while(|ranked| ranked.accepts).find(|ranked| takes(ranked.entry));
        let Value::Object(arguments) = given else { return Err(None) };
        if let Some(Ranked { entry, .. }) = exact {
            let repaired = entry.schema.repair(arguments);
            return repaired
                .map(|repaired| (*entry, repaired))
                .map_err(|violations| failed(entry, violations));
        }
        let mut nearest = None;
        for Ranked { entry, .. } in ranked.iter().take(MAX_REPAIRED_OVERLOADS) {
            match entry.schema.repair(arguments.clone()) {
                Ok(repaired) => return Ok((*entry, repaired)),
                Err(violations) => nearest = nearest.or_else(|| failed(entry, violations)),
            }
        }
        Err(nearest)
    }

    /// All of them, what a call with these arguments means first.
    fn ranked(&self, arguments: &Value) -> SmallVec<[Ranked<'a>; 4]> {
        let rank = |entry: &'a Arc<Entry>| Ranked {
            entry,
            accepts: entry.schema.accepts(arguments),
            common: entry.tool.parameter_names().filter(|name| arguments.get(name).is_some()).count(),
        };
        let mut ranked: SmallVec<_> = self.iter().map(rank).collect();
        // Sorting is stable: equals stay in the order in which they were registered.
        ranked.sort_by_key(|ranked| Reverse((ranked.accepts, ranked.common)));
        ranked
    }
}

/// How well a tool fits the arguments of a call.
struct Ranked<'a> {
    entry: &'a Arc<Entry>,
    /// Whether its schema accepts them.
    accepts: bool,
    /// How many names of arguments are also its own.
    common: usize,
}
