//! Ranks tools, validates arguments, and decides about calls, without the executor.

use std::error::Error;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_policy::{Capabilities, Effect, Policy};
use toolcrib_schema::CompiledSchema;
use toolcrib_search::{SearchIndex, SearchOptions};

/// Returns the name of the best tool for a query.
pub fn best(tools: &[Tool], query: &str) -> Result<Option<String>, Box<dyn Error>> {
    let index = SearchIndex::build(tools)?;
    let found = index.search(query, &SearchOptions::default());
    Ok(found.hits.first().map(|hit| hit.name.dotted()))
}

/// Returns what is wrong with arguments.
pub fn violations(schema: &Value, arguments: &Value) -> Result<String, Box<dyn Error>> {
    let schema = CompiledSchema::compile(schema)?;
    Ok(schema.validate(arguments).err().map(|violations| violations.to_string()).unwrap_or_default())
}

/// Returns true if rules grant a tool.
pub fn grants(rules: Value, namespace: &str, name: &str) -> Result<bool, Box<dyn Error>> {
    let rules: Capabilities = serde_json::from_value(rules)?;
    let tool = Arc::new(Tool::new(QualifiedName::new(namespace, name)?));
    Ok(Policy::new(&rules, [])?.decide(&tool, "session").effect == Effect::Grant)
}
