//! The conversion of the schemas of an OpenAPI document to self-contained JSON Schema 2020-12.

mod bundled_definition;
mod convert;
mod definitions;
mod keyword;
mod limits;
mod merge_all_of;
mod nullable;
mod read_write_only;

#[cfg(test)]
mod tests;

pub(crate) use bundled_definition::BundledDefinition;
pub(crate) use convert::{Converter, is_plain_example, left_open};
pub(crate) use definitions::{Direction, Schemas};
