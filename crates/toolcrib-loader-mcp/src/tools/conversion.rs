//! The conversion of a server's tool into a tool of the runtime.

use rmcp::model::{Tool as WireTool, ToolAnnotations};
use serde_json::Value;
use toolcrib_model::text::words_of_name;
use toolcrib_model::{Fingerprint, NameError, QualifiedName, Risk, Tool};

use crate::McpSource;
use crate::apps::forwarded_meta;
use crate::text::{MAX_DESCRIPTION_CHARS, MAX_TITLE_CHARS, clean};
use crate::tools::digest::{definition, digest};

/// The metadata key for the digest of the server's definition. A call carries it, so that the call is compared with the
/// definition it was authorized for, even if the tools are loaded again in between.
const DIGEST: &str = "mcp_digest";

/// Converts a tool. The schemas remain as the server wrote them, so that fingerprints agree.
pub(crate) fn convert(source: &McpSource, wire: WireTool) -> Result<Tool, NameError> {
    let digest = digest(&wire.name, &definition(&wire));
    let name = QualifiedName::new(&*source.namespace, wire.name)?;
    let (risk, word) = risk(name.name(), wire.annotations.as_ref(), source.trusted);
    let mut tool = Tool::new(name)
        .with_description(clean(wire.description.as_deref().unwrap_or_default(), MAX_DESCRIPTION_CHARS))
        .with_parameters(Value::Object(wire.input_schema.as_ref().clone()))
        .with_risk(risk)
        .with_metadata(DIGEST, digest.to_string());
    if let Some(word) = word {
        tool = tool.with_metadata("risk_reason", format!("the word `{word}` in its name"));
    }
    let meta = forwarded_meta(wire.meta);
    if !meta.is_empty() {
        tool = tool.with_metadata(Tool::PROTOCOL_META, meta);
    }
    if let Some(schema) = wire.output_schema {
        tool = tool.with_output_parameters(Value::Object(schema.as_ref().clone()));
    }
    let annotated = wire.annotations.as_ref().and_then(|annotations| annotations.title.clone());
    if let Some(title) = wire.title.or(annotated) {
        tool = tool.with_metadata("title", clean(&title, MAX_TITLE_CHARS));
    }
    if let Some(annotations) = wire.annotations {
        if source.trusted && annotations.is_idempotent() {
            tool = tool.with_metadata("idempotent", true);
        }
        tool = tool.with_metadata("annotations", hints(&annotations));
    }
    Ok(tool)
}

/// Returns the digest of the definition that a tool was loaded from; `None` for a tool of another loader.
pub(crate) fn loaded_digest(tool: &Tool) -> Option<Fingerprint> {
    tool.metadata().get(DIGEST)?.as_str()?.try_into().ok()
}

/// Returns the reason that no arguments can fit the tool, if its schema excludes objects.
pub(crate) fn schema_problem(wire: &WireTool) -> Option<String> {
    let kind = wire.input_schema.get("type")?;
    let others = ["array", "boolean", "integer", "null", "number", "string"];
    // The schema compiler reports invalid types, with their position in the schema.
    let is_other = |kind: &Value| kind.as_str().is_some_and(|kind| others.contains(&kind));
    let is_misfit = is_other(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().all(is_other));
    is_misfit.then(|| format!("its `inputSchema` is of type {kind}, and arguments are an object"))
}

/// Returns the hints of the annotations, without the title: the metadata contains it already, cleaned.
fn hints(annotations: &ToolAnnotations) -> Value {
    let hints = [
        ("readOnlyHint", annotations.read_only_hint),
        ("destructiveHint", annotations.destructive_hint),
        ("idempotentHint", annotations.idempotent_hint),
        ("openWorldHint", annotations.open_world_hint),
    ];
    hints.into_iter().filter_map(|(key, hint)| Some((key.to_owned(), Value::Bool(hint?)))).collect()
}

/// Returns the risk of a tool, and the word of its name that it follows from. A hint of danger is believed from any
/// server, a hint of harmlessness only from a trusted one.
fn risk(name: &str, annotations: Option<&ToolAnnotations>, trusted: bool) -> (Risk, Option<&'static str>) {
    let hint = |read: fn(&ToolAnnotations) -> Option<bool>| annotations.and_then(read) == Some(true);
    if trusted && hint(|annotations| annotations.read_only_hint) {
        (Risk::Low, None)
    } else if hint(|annotations| annotations.destructive_hint) {
        (Risk::High, None)
    } else {
        Risk::of_words(&words_of_name(name))
    }
}
