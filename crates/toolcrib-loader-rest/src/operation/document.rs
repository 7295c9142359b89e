//! The conversion of a document: each operation becomes a tool or a reject.

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
#[cfg(test)]
use serde_json::Value;
use toolcrib_port::{LoadOutcome, Reject, RejectKind};

use super::names;
use super::spec_operation::SpecOperation;
use super::{Operation, ServerSettings};
use crate::Error;
use crate::auth::BoundAuth;
use crate::error::beginning;
use crate::schema::Schemas;
use crate::selection::Selection;
#[cfg(test)]
use crate::spec::Documents;
use crate::spec::{Dialect, Node, Spec};

/// The methods of all OpenAPI versions.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "patch", "head", "options", "trace"];

/// The most operations of a document. The largest public documents have some thousands.
const MAX_OPERATIONS: usize = 20_000;

/// The most bytes of a path. No server accepts a longer one.
const MAX_PATH_BYTES: usize = 8 * 1024;

/// The settings that apply to all tools of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConversionSettings<'a> {
    pub(crate) source: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) base: ServerSettings<'a>,
    /// The credentials of the source, and the parameters that belong to them.
    pub(crate) auth: &'a BoundAuth,
    /// The selection of operations and their risks.
    pub(crate) selection: &'a Selection,
    /// True if a file argument may name a file of the workspace.
    pub(crate) has_workspace: bool,
}

/// The result of converting a document.
#[derive(Debug, Default)]
pub(crate) struct ConvertedDocument {
    pub(crate) loaded: LoadOutcome,
    /// The operations by tool name.
    pub(crate) operations: HashMap<String, Arc<Operation>>,
}

/// Converts all operations of a document that is a single file.
#[cfg(test)]
pub(crate) fn read_document(
    root: &Value,
    settings: &ConversionSettings<'_>,
) -> Result<ConvertedDocument, Error> {
    let documents = Documents::single(root.clone());
    read_documents(Spec::new(&documents)?, settings)
}

/// Converts all operations of a document. An error concerns the document as a whole.
pub(crate) fn read_documents(
    spec: Spec<'_>,
    settings: &ConversionSettings<'_>,
) -> Result<ConvertedDocument, Error> {
    let mut converted = ConvertedDocument::default();
    let mut found = Vec::new();
    for (path, item) in paths(spec.root())? {
        match operations(spec, path, item) {
            Ok(operations) => found.extend(operations),
            Err(error) => converted.reject(settings, path, &error),
        }
        if found.len() > MAX_OPERATIONS {
            return Err(Error::TooLarge { what: "the list of operations", max: MAX_OPERATIONS });
        }
    }
    let identity: Vec<_> = found.iter().map(SpecOperation::identity).collect();
    // A name does not depend on the operations that are excluded.
    let mut named: Vec<_> = found.into_iter().zip(names::assign_names(&identity)).collect();
    named.retain(|(found, name)| settings.selection.admits(&found.outline(name)));
    if named.is_empty() && settings.selection.narrows() {
        let reason = "`include` and `exclude` exclude all operations; remove them to list the operations";
        converted.loaded.rejected.push(Reject::tool(
            settings.source,
            "include",
            RejectKind::InvalidTool,
            reason,
        ));
    }
    let mut schemas = Schemas::new(spec);
    // Each operation has a schema of its arguments and one of its result.
    schemas.share_among(2 * named.len());
    for (found, name) in named {
        match found.read(&name, settings, &mut schemas) {
            Ok((tool, operation)) => {
                converted.loaded.tools.push(tool);
                converted.operations.insert(name, Arc::new(operation));
            }
            Err(error) => converted.reject(settings, &name, &error),
        }
    }
    Ok(converted)
}

impl ConvertedDocument {
    fn reject(&mut self, settings: &ConversionSettings<'_>, name: &str, error: &Error) {
        let reject = Reject::tool(settings.source, beginning(name), error.reject_kind(), error.to_string());
        self.loaded.rejected.push(reject);
    }
}

fn paths(root: Node<'_>) -> Result<impl Iterator<Item = (&str, Node<'_>)>, Error> {
    let paths = root.get_or_nothing("paths");
    if !paths.value.is_null() && !paths.value.is_object() {
        return Err(Error::malformed("`paths` must be an object"));
    }
    Ok(paths.entries().filter(|(path, _)| !path.starts_with("x-")))
}

/// Returns the operations of a path, in the order of the document. Siblings of a `$ref` take precedence over its
/// target.
fn operations<'a>(spec: Spec<'a>, path: &'a str, item: Node<'a>) -> Result<Vec<SpecOperation<'a>>, Error> {
    if path.len() > MAX_PATH_BYTES {
        return Err(Error::malformed(format!("the path has more than {MAX_PATH_BYTES} bytes")));
    }
    let target = spec.resolve(item)?;
    let is_reference = item.get("$ref").is_some();
    let own = is_reference.then_some(item);
    let mut found: Vec<SpecOperation<'a>> = Vec::new();
    for level in own.into_iter().chain([target]) {
        for (key, operation) in level.entries() {
            let listed = match key {
                "additionalOperations" if spec.dialect >= Dialect::OpenApi32 => Some(operation),
                key if METHODS.contains(&key) => None,
                "query" if spec.dialect >= Dialect::OpenApi32 => None,
                _ => continue,
            };
            let entries = listed.into_iter().flat_map(Node::entries);
            let single = listed.is_none().then_some((key, operation));
            for (written, operation) in single.into_iter().chain(entries) {
                let method = method(written, listed.is_some())?;
                if !found.iter().any(|earlier| earlier.method == method) {
                    found.push(SpecOperation { method, path, levels: [target, item], operation });
                }
                if found.len() > MAX_OPERATIONS {
                    return Err(Error::TooLarge { what: "the list of operations", max: MAX_OPERATIONS });
                }
            }
        }
    }
    Ok(found)
}

/// Parses the method of a key. The methods in `additionalOperations` are case-sensitive.
fn method(written: &str, is_exact: bool) -> Result<Method, Error> {
    let text = if is_exact { written.to_owned() } else { written.to_ascii_uppercase() };
    Method::from_bytes(text.as_bytes())
        .map_err(|_| Error::malformed(format!("`{}` is not an HTTP method", beginning(written))))
}
