//! An OpenAPI document: its version, its files, and the resolution of its references.

mod files;
mod node;
mod reference;
mod security;

#[cfg(test)]
mod tests;

use crate::Error;

pub(crate) use files::{Documents, limits};
pub(crate) use node::Node;
pub(crate) use reference::ValueLocation;

/// The version of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dialect {
    /// Swagger 2.0: parameters are their own schemas, and bodies are parameters.
    Swagger20,
    /// OpenAPI 3.0: siblings of a `$ref` are ignored.
    OpenApi30,
    /// OpenAPI 3.1: schemas are JSON Schema 2020-12.
    OpenApi31,
    /// OpenAPI 3.2: custom methods, and the query as a whole.
    OpenApi32,
}

impl Dialect {
    /// Returns true if siblings of a schema's `$ref` apply.
    pub(crate) fn has_siblings(self) -> bool {
        self >= Self::OpenApi31
    }
}

/// A document with a known version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec<'a> {
    documents: &'a Documents,
    pub(crate) dialect: Dialect,
}

impl<'a> Spec<'a> {
    pub(crate) fn new(documents: &'a Documents) -> Result<Self, Error> {
        let root = documents.root();
        // YAML reads a version without quotes as a number.
        let version = |key| root.get(key).and_then(Node::plain);
        let dialect = match (version("openapi"), version("swagger")) {
            (Some(version), _) if is_minor(&version, "3.0") => Dialect::OpenApi30,
            (Some(version), _) if is_minor(&version, "3.1") => Dialect::OpenApi31,
            (Some(version), _) if is_minor(&version, "3.2") => Dialect::OpenApi32,
            (Some(version), _) => return Err(Error::Version { format: "OpenAPI", version }),
            (None, Some(version)) if version == "2" || is_minor(&version, "2.0") => Dialect::Swagger20,
            (None, Some(version)) => return Err(Error::Version { format: "Swagger", version }),
            (None, None) => return Err(Error::NotOpenApi),
        };
        Ok(Self { documents, dialect })
    }

    /// Returns the prefix for the names of definitions of a file, or `None` for the document itself.
    pub(crate) fn stem(&self, file: usize) -> Option<&'a str> {
        self.documents.stem(file)
    }

    /// Returns the root of the document.
    pub(crate) fn root(&self) -> Node<'a> {
        self.documents.root()
    }
}

fn is_minor(version: &str, minor: &str) -> bool {
    version.strip_prefix(minor).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}
