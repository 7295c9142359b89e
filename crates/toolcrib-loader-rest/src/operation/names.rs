//! What the tools of a document are called.

use toolcrib_model::{MAX_NAME_CHARS, NAMESPACE_SEPARATOR, QualifiedName};

use crate::unique::UniqueNames;

/// An operation as far as its name is concerned.
#[derive(Clone, Debug)]
pub(crate) struct Unnamed<'a> {
    /// In lower case.
    pub(crate) method: String,
    pub(crate) path: &'a str,
    pub(crate) operation_id: Option<&'a str>,
}

/// Gives each operation a name of its own, in the order of the list.
///
/// The `operationId`, else `{method}_{path}`. Where two want the same, the first by path and method keeps it and the
/// others get their method and path behind it: so a name stays with its operation when the document is reordered.
pub(crate) fn allot(operations: &[Unnamed<'_>]) -> Vec<String> {
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

/// The name that an operation would have if it were alone.
pub(crate) fn wanted(operation: &Unnamed<'_>) -> String {
    match operation.operation_id {
        Some(id) if !id.trim().is_empty() => valid(id),
        _ => slug(operation),
    }
}

fn free_name(operation: &Unnamed<'_>, taken: &mut UniqueNames) -> String {
    let wanted = wanted(operation);
    if taken.take(&wanted) {
        return wanted;
    }
    let slug = slug(operation);
    let distinct = if wanted == slug { wanted } else { with_ending(&wanted, &format!("_{slug}")) };
    taken.take_numbered(&distinct, |name, count| with_ending(name, &format!("_{count}")))
}

/// `get_pets_petid` of `GET /pets/{petId}`.
fn slug(operation: &Unnamed<'_>) -> String {
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

/// The text itself where it can be a name, else with what cannot be in one replaced.
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
