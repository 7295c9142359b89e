//! The changes of tools by enrichments.

use std::sync::Arc;

use toolcrib_schema::CompiledSchema;

use super::key_order::is_identical_tool;
use super::sanitize::{SanitizedDefinitions, sanitized};
use crate::enrichment::ToolPatch;
use crate::{Entry, Snapshot};

/// Returns the entry with a patch. An entry that the snapshot before has already is reused.
pub(crate) fn patched(entry: &Entry, patch: &ToolPatch, before: &Snapshot) -> Result<Arc<Entry>, String> {
    let error = |message: &str| format!("the patch of `{}` is invalid: {message}", entry.tool.name.dotted());
    let mut tool = entry.tool.as_ref().clone();
    if let Some(description) = &patch.description {
        tool = tool.with_description(description.clone());
    }
    if let Some(schema) = &patch.output_parameters {
        CompiledSchema::compile(&schema.to_value()).map_err(|cause| error(&cause.to_string()))?;
        tool = tool.with_output_parameters(schema.clone());
    }
    let visible = sanitized(&tool, &SanitizedDefinitions::default()).map_err(|cause| error(&cause))?;
    let tool = visible.unwrap_or_else(|| Arc::new(tool));
    let mut old = before.overloads_of(&tool.name).iter();
    let identical = |old: &&Arc<Entry>| {
        old.fingerprint == entry.fingerprint
            && old.source == entry.source
            && is_identical_tool(&old.tool, &tool)
    };
    if let Some(old) = old.find(identical) {
        return Ok(Arc::clone(old));
    }
    let (fingerprint, source, schema) = (entry.fingerprint, Arc::clone(&entry.source), entry.schema.clone());
    let originals = entry.originals.clone();
    Ok(Arc::new(Entry { tool, fingerprint, source, schema, originals }))
}
