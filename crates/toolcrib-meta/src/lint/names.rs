//! Names that collide after adaptation to an API.

use std::collections::BTreeMap;

use toolcrib_model::QualifiedName;

use super::{Kind, RawFinding, Tools};

/// The longest name that function-calling APIs accept.
const MAX_CHARS: usize = 64;

/// Returns the names that become identical.
pub(super) fn collisions<'a>(tools: &Tools<'a>) -> Vec<RawFinding<'a>> {
    let mut groups: BTreeMap<String, Vec<&'a QualifiedName>> = BTreeMap::new();
    for name in tools.keys() {
        groups.entry(sanitised(name)).or_default().push(name);
    }
    let found = groups.into_iter().filter(|(_, names)| names.len() > 1).map(|(left, names)| RawFinding {
        kind: Kind::NameCollision,
        names,
        message: format!("adapted to a function-calling API, they all become `{left}`; Toolcrib adds a hash to distinguish them, other programs do not"),
        next: "rename all but one, or give their sources other namespaces",
    });
    found.collect()
}

/// Returns a name as it is adapted to an API (`^[a-zA-Z0-9_-]{1,64}$`): runs of other characters become `_`, and long
/// names are truncated.
fn sanitised(name: &QualifiedName) -> String {
    let mut text = String::new();
    for c in format!("{}__{}", name.namespace(), name.name()).chars() {
        let is_portable = c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if is_portable {
            text.push(c);
        } else if !text.ends_with('_') {
            text.push('_');
        }
    }
    text.truncate(MAX_CHARS);
    text
}
