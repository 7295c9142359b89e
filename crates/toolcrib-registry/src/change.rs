//! The difference between two snapshots.

use std::sync::Arc;

use serde::Serialize;
use toolcrib_model::{Fingerprint, QualifiedName};

use crate::{Entry, Snapshot};

/// The changes of a refresh, by name, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The generation after the refresh.
    pub generation: u64,
    /// The new names.
    pub added: Vec<QualifiedName>,
    /// The removed names.
    pub removed: Vec<QualifiedName>,
    /// The names with different tools.
    pub changed: Vec<ChangedTool>,
}

/// A name with different tools. If the fingerprints before and after are equal, something else changed, such as a
/// description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedTool {
    /// The name.
    pub name: QualifiedName,
    /// The fingerprints of the schemas before, in the order of the overloads.
    pub before: Vec<Fingerprint>,
    /// The fingerprints of the schemas after.
    pub after: Vec<Fingerprint>,
}

impl Change {
    /// Returns true if nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    pub(crate) fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let mut change = Self { generation: after.generation(), ..Self::default() };
        for named in after.named_tools() {
            let (old, new) = (before.overloads_of(&named.name), &named.overloads);
            if old.is_empty() {
                change.added.push(named.name.clone());
            } else if !same(old, new) {
                let (before, after) = (fingerprints(old), fingerprints(new));
                change.changed.push(ChangedTool { name: named.name.clone(), before, after });
            }
        }
        let is_gone = |name: &&QualifiedName| after.overloads_of(name).is_empty();
        change.removed = before.tool_names().filter(is_gone).cloned().collect();
        change
    }
}

fn same(before: &[Arc<Entry>], after: &[Arc<Entry>]) -> bool {
    let is_same = |old: &Arc<Entry>, new: &Arc<Entry>| Arc::ptr_eq(old, new) || old.tool == new.tool;
    before.len() == after.len() && before.iter().zip(after).all(|(old, new)| is_same(old, new))
}

fn fingerprints(overloads: &[Arc<Entry>]) -> Vec<Fingerprint> {
    overloads.iter().map(|entry| entry.fingerprint).collect()
}
