//! Schemas that take too much of a model's window.

use super::{Found, Kind, Tools};

/// The most bytes that the schema of one tool should have, as JSON: what ten tools are taken to cost.
pub const MAX_SCHEMA_BYTES: usize = 8 * 1024;

/// The tools with a schema of more.
pub(super) fn oversized<'a>(tools: &Tools<'a>) -> Vec<Found<'a>> {
    let found = tools.iter().filter_map(|(name, (_, overloads))| {
        let texts = overloads.iter().map(|tool| tool.parameters.to_string());
        let text = texts.max_by_key(String::len).filter(|text| text.len() > MAX_SCHEMA_BYTES)?;
        Some(Found {
            kind: Kind::OversizedSchema,
            names: vec![*name],
            message: format!(
                "the schema of its arguments has {} bytes, where {MAX_SCHEMA_BYTES} are plenty; a model pays for it \
                 whenever it is shown",
                text.len()
            ),
            next: "shorten descriptions and lists of values, or split the tool",
        })
    });
    found.collect()
}
