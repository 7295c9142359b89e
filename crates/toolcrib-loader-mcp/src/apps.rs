//! User interfaces of tools (MCP Apps): the declaration of the extension, and the `_meta` of tools and results.

use rmcp::model::{ExtensionCapabilities, JsonObject, MetaObject, TASKS_EXTENSION_ID, Tool as WireTool};
use serde_json::json;
use toolcrib_model::tool::app::{APP_MEDIA_TYPE, APPS_EXTENSION, app_uri};

/// The prefix of the keys that the protocol uses between two peers.
const RESERVED_PREFIX: &str = "io.modelcontextprotocol/";

/// Returns the extensions that are declared to all servers, so that the cached and the approved tools of a server are the
/// same for hosts that render user interfaces as for agents.
pub(crate) fn extensions() -> ExtensionCapabilities {
    let apps = JsonObject::from_iter([("mimeTypes".to_owned(), json!([APP_MEDIA_TYPE]))]);
    [(TASKS_EXTENSION_ID.to_owned(), JsonObject::new()), (APPS_EXTENSION.to_owned(), apps)].into()
}

/// Returns true if a tool has a user interface.
pub(crate) fn has_app(tool: &WireTool) -> bool {
    tool.meta.as_ref().is_some_and(|meta| app_uri(&meta.0).is_some())
}

/// Returns the entries of `_meta` that are meant for the final recipient.
pub(crate) fn forwarded_meta(meta: Option<MetaObject>) -> JsonObject {
    let mut meta = meta.unwrap_or_default().0;
    meta.retain(|key, _| !key.starts_with(RESERVED_PREFIX));
    meta
}
