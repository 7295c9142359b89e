//! Digests of tool definitions.

use std::collections::HashMap;

use rmcp::model::Tool as WireTool;
use serde_json::{Value, json};
use toolcrib_model::Fingerprint;

/// The digest of each tool's definition, by tool name.
pub(crate) type Digests = HashMap<String, Fingerprint>;

/// Returns the definition of a tool: everything that a user who approves it has seen.
pub(crate) fn definition(tool: &WireTool) -> Value {
    let mut definition = json!({
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    });
    // The user interface, and who may call the tool. Other entries change often and have no such effect.
    let ui = tool.meta.as_ref().and_then(|meta| meta.get("ui"));
    if let (Some(ui), Some(entries)) = (ui, definition.as_object_mut()) {
        entries.insert("ui".to_owned(), ui.clone());
    }
    definition
}

/// Returns the digest of a tool's name and its [`definition`].
pub(crate) fn digest(name: &str, definition: &Value) -> Fingerprint {
    Fingerprint::of(&json!({"name": name, "definition": definition}))
}
