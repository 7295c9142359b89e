//! Errors of schemas.

use crate::limits::{MAX_REFERENCE_DEPTH, MAX_SCHEMA_CHECKS, MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES};

/// An error of a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It refers to something outside of itself.
    #[error(
        "the schema refers to `{reference}`, which is outside of it; nothing is fetched, so put it under `$defs`"
    )]
    ExternalRef {
        /// The reference.
        reference: String,
    },
    /// It is not valid JSON Schema.
    #[error("not a valid JSON Schema{}: {message}", place(.path))]
    Invalid {
        /// JSON pointer of the wrong part.
        path: String,
        /// The problem.
        message: String,
    },
    /// Nested deeper than [`MAX_SCHEMA_DEPTH`], or than [`MAX_REFERENCE_DEPTH`] through references.
    #[error(
        "the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels, or than {MAX_REFERENCE_DEPTH} through `$ref`"
    )]
    TooDeep,
    /// It has a thousand patterns and more, and they are too large together.
    #[error(
        "the patterns of the schema are too many and too large together; make them shorter, or leave some out"
    )]
    PatternsTooLarge,
    /// More than [`MAX_SCHEMA_NODES`] values.
    #[error("the schema has more than {MAX_SCHEMA_NODES} values")]
    TooLarge,
    /// Its parts refer to each other so often that one value may need more than [`MAX_SCHEMA_CHECKS`] checks.
    #[error(
        "checking one value may take more than {MAX_SCHEMA_CHECKS} steps; let `anyOf`, `oneOf`, `allOf` and `if` refer \
         to the same parts less often"
    )]
    TooMuchWork,
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at `{path}`") }
}
