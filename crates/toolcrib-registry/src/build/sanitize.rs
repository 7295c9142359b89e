//! The removal of invisible characters from tools, and the rewriting of exclusive bounds to those of later drafts.
//! Every tool of any source passes through here once.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::text::visible_text;
use toolcrib_model::tool::{Definition, PerDefinition, Rewritten};
use toolcrib_model::{JsonObject, Schema, Tool};
use toolcrib_schema::{
    HiddenCharacter, definition_without_hidden, visible_data, with_numeric_bounds, without_hidden,
};

/// The definitions that were sanitized for several tools.
pub(super) type SanitizedDefinitions = PerDefinition<Rewritten<HiddenCharacter>>;

/// Returns the tool with visible text only, and with exclusive bounds as numbers; `None` if nothing has to change. The
/// error names the part that cannot be cleaned.
pub(super) fn sanitized(tool: &Tool, known: &SanitizedDefinitions) -> Result<Option<Arc<Tool>>, String> {
    let parameters =
        sanitized_schema(&tool.parameters, known).map_err(|error| format!("`parameters`: {error}"))?;
    let output = sanitized_schema(&tool.output_parameters, known).unwrap_or_else(|error| {
        tracing::warn!(tool = %tool.name, "the schema of its results is not used: {error}");
        Some(json!({}).into())
    });
    let description = visible_text(&tool.description);
    let metadata = visible_metadata(tool.metadata());
    if parameters.is_none() && output.is_none() && metadata.is_none() && description == tool.description {
        return Ok(None);
    }
    let mut visible = tool.clone().with_description(description);
    if let Some(parameters) = parameters {
        visible = visible.with_parameters(parameters);
    }
    if let Some(output) = output {
        visible = visible.with_output_parameters(output);
    }
    if let Some(metadata) = metadata {
        visible.change_metadata(|own| *own = metadata);
    }
    Ok(Some(Arc::new(visible)))
}

fn sanitized_schema(
    schema: &Schema,
    known: &SanitizedDefinitions,
) -> Result<Option<Schema>, HiddenCharacter> {
    let sanitized = |schema: &Value| {
        let visible = without_hidden(schema)?;
        Ok(with_numeric_bounds(visible.as_ref().unwrap_or(schema)).or(visible))
    };
    let definition = |definition: &Definition| {
        let visible = definition_without_hidden(definition)?;
        let bounds = with_numeric_bounds(&visible.as_ref().unwrap_or(definition).schema);
        Ok(bounds.map(|schema| Definition { name: definition.name.clone(), schema }).or(visible))
    };
    schema.rewritten(known, sanitized, definition)
}

fn visible_metadata(metadata: &JsonObject) -> Option<JsonObject> {
    let is_clean =
        |key: &str, value| matches!(visible_text(key), Cow::Borrowed(_)) && visible_data(value).is_none();
    if metadata.iter().all(|(key, value)| is_clean(key, value)) {
        return None;
    }
    let visible = metadata.iter().map(|(key, value)| {
        let value = visible_data(value).unwrap_or_else(|| value.clone());
        (visible_text(key).into_owned(), value)
    });
    Some(visible.collect())
}
