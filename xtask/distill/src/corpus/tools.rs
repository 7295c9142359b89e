//! The texts of tools: the description, the name with it, the parameters, and all together.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;
use toolcrib_model::Tool;
use toolcrib_model::text::words_of_name;

use super::Corpus;

/// How deep parameters are followed.
const MAX_DEPTH: usize = 2;

pub(super) fn read(file: &Path, corpus: &mut Corpus) -> Result<()> {
    let tools: Vec<Tool> = serde_json::from_slice(&fs::read(file)?)?;
    for tool in &tools {
        let name = words_of_name(tool.name.name()).join(" ");
        push(corpus, &name, &tool.description, &lines_of(tool.parameters.root()).join("\n"));
    }
    Ok(())
}

/// Adds the texts of one tool or operation.
pub(super) fn push(corpus: &mut Corpus, name: &str, description: &str, parameters: &str) {
    corpus.push("descriptions", description);
    corpus.push("names and descriptions", &format!("{name}\n{description}"));
    corpus.push("parameters", parameters);
    corpus.push("full texts", &format!("{name}\n{description}\n{parameters}"));
}

/// The words of the name of each parameter and its description, a line each.
fn lines_of(schema: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    collect(schema, MAX_DEPTH, &mut lines);
    lines
}

fn collect(schema: &Value, depth: usize, lines: &mut Vec<String>) {
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        lines.push(words_of_name(name).join(" "));
        lines.extend(property.get("description").and_then(Value::as_str).map(str::to_owned));
        if depth > 1 {
            collect(property, depth - 1, lines);
            collect(property.get("items").unwrap_or(&Value::Null), depth - 1, lines);
        }
    }
}
