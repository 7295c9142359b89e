//! From the schemas of an OpenAPI document to JSON Schema 2020-12 that stands on its own.

mod convert;

#[cfg(test)]
mod tests;

pub(crate) use convert::{Budget, Converter, Direction};
