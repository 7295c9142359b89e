//! Overloads: several tools with one name.

use std::cmp::Reverse;
use std::sync::Arc;

use serde_json::Value;
use smallvec::SmallVec;
use toolcrib_model::JsonObject;
use toolcrib_schema::Violations;
use toolcrib_schema::repair::Repaired;

use crate::Entry;

/// The maximum number of tools of one name, the best matches first, whose schemas are tried for repairs.
const MAX_REPAIRED_OVERLOADS: usize = 16;

/// The tools of one name, in the order of their registration; at least one.
#[derive(Clone, Debug)]
pub struct Overloads<'a> {
    entries: Entries<'a>,
}

/// The error for arguments that no overload accepts.
#[derive(Debug)]
#[non_exhaustive]
pub struct OverloadError<'a> {
    /// The overload that matches the arguments best.
    pub nearest: &'a Arc<Entry>,
    /// The violations of that overload's schema.
    pub violations: Violations,
    /// The number of overloads.
    pub overloads: usize,
}

impl<'a> Overloads<'a> {
    pub(crate) fn new(entries: &'a [Arc<Entry>]) -> Self {
        Self { entries: entries.iter().collect() }
    }

    /// Returns the overloads that the caller may see; `None` if no overload is visible.
    pub fn visible(mut self, visible: impl Fn(&Entry) -> bool) -> Option<Self> {
        self.entries.retain(|entry| visible(entry));
        (!self.entries.is_empty()).then_some(self)
    }

    /// Returns an iterator over the overloads.
    pub fn iter(&self) -> impl Iterator<Item = &'a Arc<Entry>> {
        self.entries.iter().copied()
    }

    /// Returns the overload that was registered first.
    pub fn first(&self) -> Option<&'a Arc<Entry>> {
        self.entries.first().copied()
    }

    /// Returns the tool that a call with these arguments means. Among the overloads whose schema accepts the arguments
    /// (or among all, if none does) it is the one with the most argument names in common; of equals, the first
    /// registered.
    pub fn choose(&self, arguments: &JsonObject) -> Option<&'a Arc<Entry>> {
        if let [only] = self.entries.as_slice() {
            return Some(*only);
        }
        let given = Value::Object(arguments.clone());
        let Ranked { accepting, others } = self.ranked(&given);
        accepting.first().copied().or_else(|| by_names(others, &given).first().copied())
    }

    /// Returns the tool that the call means, and its final arguments: the first overload that accepts the arguments
    /// unchanged, else the first that accepts them after [repairs](toolcrib_schema::CompiledSchema::repair), in the
    /// order of [`choose`](Self::choose). Arguments that already fit one tool are never repaired to fit another.
    ///
    /// The error is `None` if there is no tool.
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
        // The project's rules on names go beyond JSON Schema, so a schema that accepts the arguments may still refuse
        // them.
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

/// The tools of one name, ranked for the arguments of a call.
struct Ranked<'a> {
    /// The tools whose schema accepts the arguments, the best match first.
    accepting: Entries<'a>,
    /// The tools whose schema does not accept them, in the order of their registration.
    others: Entries<'a>,
}

/// Sorts the tools by the number of argument names in common, the most first; equals keep their order.
fn by_names<'a>(mut entries: Entries<'a>, arguments: &Value) -> Entries<'a> {
    if entries.len() > 1 {
        let common = |entry: &&Arc<Entry>| {
            entry.tool.parameter_names().filter(|name| arguments.get(name).is_some()).count()
        };
        entries.sort_by_cached_key(|entry| Reverse(common(entry)));
    }
    entries
}
