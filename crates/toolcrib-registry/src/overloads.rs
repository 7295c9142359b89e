//! Several tools under one name.

use std::sync::Arc;

use serde_json::Value;
use smallvec::SmallVec;
use toolcrib_model::JsonObject;
use toolcrib_schema::Violations;

use crate::Entry;

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
        let value = Value::Object(arguments.clone());
        let accepting: SmallVec<_> = self.iter().filter(|entry| entry.schema.accepts(&value)).collect();
        let candidates = if accepting.is_empty() { self.entries.clone() } else { accepting };
        let common =
            |entry: &Entry| entry.tool.parameter_names().filter(|name| arguments.contains_key(*name)).count();
        candidates.into_iter().reduce(|best, next| if common(next) > common(best) { next } else { best })
    }

    /// The tool that the call means, when its schema takes the arguments.
    pub fn validate(&self, arguments: &JsonObject) -> Result<&'a Arc<Entry>, Option<OverloadError<'a>>> {
        let nearest = self.choose(arguments).ok_or(None)?;
        match nearest.schema.validate(&Value::Object(arguments.clone())) {
            Ok(()) => Ok(nearest),
            Err(violations) => {
                Err(Some(OverloadError { nearest, violations, overloads: self.entries.len() }))
            }
        }
    }
}
