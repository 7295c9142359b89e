//! The names of the tools of a document.

use toolcrib_model::QualifiedName;
use toolcrib_model::name::{MAX_NAME_CHARS, NAMESPACE_SEPARATOR};

use crate::unique_names::UniqueNames;

/// The properties of an operation that determine its name.
#[derive(Clone, Debug)]
pub(crate) struct OperationIdentity<'a> {
    /// The method in lower case.
    pub(crate) method: String,
    pub(crate) path: &'a str,
    pub(crate) operation_id: Option<&'a str>,
}

/// Returns a unique name for each operation, in the order of the list.
///
/// The name is the `operationId`, or else `{method}_{path}`. If several operations have the same one, the first by path
/// and method keeps it, and the method and path are appended to the others. So a name is stable when the document is
/// reordered.
pub(crate) fn assign_names(operations: &[OperationIdentity<'_>]) -> Vec<String> {
    let mut order: Vec<usize> = (0..operations.len()).collect();
    order.sort_by_key(|index| {
        operations.get(*index).map(|operation| (operation.path, operation.method.as_str()))
    });
    let mut taken = UniqueNames::default();
    let mut names = vec![String::new(); operations.len()];
    for index in order {
        if let (Some(operation), Some(name)) = (operations.get(index), names.get_mut(index)) {
            *name = free_name(operation, &mut taken);
        }
    }
    names
}

/// Returns the preferred name of an operation, which may not be unique.
pub(crate) fn preferred_name(operation: &OperationIdentity<'_>) -> String {
    match operation.operation_id {
        Some(id) if !id.trim().is_empty() => valid(id),
        _ => slug(operation),
    }
}

fn free_name(operation: &OperationIdentity<'_>, taken: &mut UniqueNames) -> String {
    let wanted = preferred_name(operation);
    if taken.take(&wanted) {
        return wanted;
    }
    let slug = slug(operation);
    let distinct = if wanted == slug { wanted } else { with_ending(&wanted, &format!("_{slug}")) };
    taken.take_numbered(&distinct, |name, count| with_ending(name, &format!("_{count}")))
}

/// Returns `get_pets_petid` for `GET /pets/{petId}`.
fn slug(operation: &OperationIdentity<'_>) -> String {
    let mut out = operation.method.clone();
    for word in operation.path.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        out.push('_');
        out.push_str(&word.to_lowercase());
    }
    if out == operation.method {
        out.push_str("_root");
    }
    out.chars().take(MAX_NAME_CHARS).collect()
}

/// Returns the text as a valid name, with invalid characters replaced.
fn valid(id: &str) -> String {
    if QualifiedName::new("namespace", id).is_ok() {
        return id.to_owned();
    }
    id.replace(NAMESPACE_SEPARATOR, "_")
        .chars()
        .map(|c| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' })
        .take(MAX_NAME_CHARS)
        .collect()
}

fn with_ending(name: &str, ending: &str) -> String {
    let kept = MAX_NAME_CHARS.saturating_sub(ending.chars().count());
    name.chars().take(kept).chain(ending.chars()).take(MAX_NAME_CHARS).collect()
}
