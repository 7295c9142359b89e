//! The conversion of the schemas of an OpenAPI document to self-contained JSON Schema 2020-12.

mod convert;
mod definitions;
mod fit;
mod keyword;
mod merge;
mod null;
mod visible;

#[cfg(test)]
mod tests;

pub(crate) use convert::{Converter, is_plain_example, left_open};
pub(crate) use definitions::{Direction, Schemas};
