//! Names that are the same once they are made to fit an API.

use std::collections::BTreeMap;

use toolcrib_model::QualifiedName;

use super::{Found, Kind, Tools};

/// The longest name that function-calling APIs accept.
const MAX_CHARS: usize = 64;

/// The names of which the same is left.
pub(super) fn collisions<'a>(tools: &Tools<'a>) -> Vec<Found<'a>> {
    let mut groups: BTreeMap<String, Vec<&'a QualifiedName>> = BTreeMap::new();
    for name in tools.keys() {
        groups.entry(sanitised(name)).or_default().push(name);
    }
    let found = groups.into_iter().filter(|(_, names)| names.len() > 1).map(|(left, names)| Found {
        kind: Kind::NameCollision,
        names,
        message: format!("made to fit a function-calling API they are all `{left}`; here a hash tells them apart, elsewhere nothing does"),
        next: "rename all but one, or give their sources other namespaces",
    });
    found.collect()
}

/// What is left of a name when it is made to fit an API (`^[a-zA-Z0-9_-]{1,64}$`): runs of other characters become `_`,
/// and what is too long is cut.
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
