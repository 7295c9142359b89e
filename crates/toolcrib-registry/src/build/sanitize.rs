//! The removal of invisible characters from tools, and the rewriting of exclusive bounds to those of later drafts.
//! Every tool of any source passes through here once.

use std::borrow::Cow;
use std::sync::Arc;

use toolcrib_model::{JsonObject, Tool, visible_text};
use toolcrib_schema::{visible_data, with_numeric_bounds, without_hidden};

/// Returns the tool with visible text only, and with exclusive bounds as numbers; `None` if nothing has to change. The
/// error names the part that cannot be cleaned.
pub(super) fn sanitized(tool: &Tool) -> Result<Option<Arc<Tool>>, String> {
    let parameters = without_hidden(&tool.parameters).map_err(|error| format!("`parameters`: {error}"))?;
    let parameters = with_numeric_bounds(parameters.as_ref().unwrap_or(&tool.parameters)).or(parameters);
    let output = without_hidden(&tool.output_parameters).unwrap_or_else(|error| {
        tracing::warn!(tool = %tool.name, "the schema of its results is not used: {error}");
        Some(JsonObject::new().into())
    });
    let output = with_numeric_bounds(output.as_ref().unwrap_or(&tool.output_parameters)).or(output);
    let description = visible_text(&tool.description);
    let metadata = visible_metadata(&tool.metadata);
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
        visible.metadata = metadata;
    }
    Ok(Some(Arc::new(visible)))
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
