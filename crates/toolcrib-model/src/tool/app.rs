//! User interfaces of tools: the extension MCP Apps of the Model Context Protocol.

use serde_json::Value;

use crate::JsonObject;

/// The identifier of the extension MCP Apps.
pub const APPS_EXTENSION: &str = "io.modelcontextprotocol/ui";

/// The media type of user interfaces.
pub const APP_MEDIA_TYPE: &str = "text/html;profile=mcp-app";

/// The URI scheme of user interfaces.
pub const APP_SCHEME: &str = "ui://";

/// Returns the URI of the user interface that the `_meta` of a tool names; also under the key of the drafts of MCP
/// Apps.
pub fn app_uri(meta: &JsonObject) -> Option<&str> {
    let named = meta.get("ui").and_then(|ui| ui.get("resourceUri")).or_else(|| meta.get("ui/resourceUri"))?;
    named.as_str().filter(|uri| uri.starts_with(APP_SCHEME))
}

/// Returns true if the `_meta` of a tool declares that models may not see it.
pub(crate) fn is_only_for_apps(meta: &Value) -> bool {
    let audience = meta.pointer("/ui/visibility").and_then(Value::as_array);
    audience.is_some_and(|audience| audience.iter().all(|name| name != "model"))
}
