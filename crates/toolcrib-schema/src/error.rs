//! Why a schema cannot be used.

use crate::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES};

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It refers to something outside of itself.
    #[error(
        "the schema refers to `{reference}`, which is outside of it; nothing is fetched, so put it under `$defs`"
    )]
    ExternalRef {
        /// What it refers to.
        reference: String,
    },
    /// It is not valid JSON Schema.
    #[error("not a valid JSON Schema{}: {message}", place(.path))]
    Invalid {
        /// JSON pointer of the wrong part.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// Nested deeper than [`MAX_SCHEMA_DEPTH`].
    #[error("the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels")]
    TooDeep,
    /// More than [`MAX_SCHEMA_NODES`] values.
    #[error("the schema has more than {MAX_SCHEMA_NODES} values")]
    TooLarge,
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at `{path}`") }
}
