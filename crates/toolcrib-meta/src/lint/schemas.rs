//! Schemas that are too large, or have patterns that are not checked.

use serde_json::Value;
use toolcrib_model::Schema;
use toolcrib_schema::CompiledSchema;

use super::{Kind, RawFinding, Tools};

/// The most bytes that the schema of one tool should have, as JSON: the assumed cost of ten tools.
const MAX_SCHEMA_BYTES: usize = 8 * 1024;

/// Returns the tools with a larger schema.
pub(super) fn oversized<'a>(tools: &Tools<'a>) -> Vec<RawFinding<'a>> {
    let found = tools.iter().filter_map(|(name, (_, overloads))| {
        let texts = overloads.iter().map(|tool| tool.parameters.to_string());
        let text = texts.max_by_key(String::len).filter(|text| text.len() > MAX_SCHEMA_BYTES)?;
        Some(RawFinding {
            kind: Kind::OversizedSchema,
            names: vec![*name],
            message: format!(
                "the schema of its arguments has {} bytes, more than the recommended {MAX_SCHEMA_BYTES}; each \
                 display to a model costs its tokens",
                text.len()
            ),
            next: "shorten descriptions and lists of values, or split the tool",
        })
    });
    found.collect()
}

/// Returns the tools with patterns that are not checked: with look-around or back-references, or too large.
pub(super) fn unchecked<'a>(tools: &Tools<'a>) -> Vec<RawFinding<'a>> {
    let found = tools.iter().filter_map(|(name, (_, overloads))| {
        let schemas = overloads.iter().map(|tool| &tool.parameters).filter(|schema| has_pattern(schema));
        let unchecked = schemas.filter_map(|schema| {
            let compiled = CompiledSchema::compile(&schema.to_value()).ok()?;
            Some((compiled.unchecked().first()?.to_string(), compiled.unchecked().len()))
        });
        let unchecked: Vec<_> = unchecked.collect();
        let (first, _) = unchecked.first()?;
        let more = unchecked.iter().map(|(_, count)| count).sum::<usize>() - 1;
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        Some(RawFinding {
            kind: Kind::UncheckedPattern,
            names: vec![*name],
            message: format!("{first}{more}; arguments that break it reach the tool"),
            next: "write the pattern without look-around and back-references, or have the tool check the argument itself",
        })
    });
    found.collect()
}

/// Returns true if a schema may have a pattern. Compiling all schemas of a large catalogue would take long.
fn has_pattern(schema: &Schema) -> bool {
    let definitions = schema.definitions().iter().map(|definition| &definition.schema);
    let mut pending: Vec<&Value> = definitions.chain([schema.root()]).collect();
    while let Some(part) = pending.pop() {
        match part {
            Value::Object(map) if map.contains_key("pattern") || map.contains_key("patternProperties") => {
                return true;
            }
            Value::Object(map) => pending.extend(map.values()),
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
    false
}
