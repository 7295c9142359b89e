//! The reports of Ollama: of models that run, and of those that will be loaded.

use serde_json::Value;

use super::reports::tokens;
use super::{ServerProfile, named};
use crate::api::Endpoint;
use crate::provider::LOCAL_CONTEXT_WINDOW;

/// Asks for the model that runs, and for what is known of its file.
pub(super) async fn profile(endpoint: &Endpoint, model: &str) -> ServerProfile {
    let root = endpoint.root();
    let running = endpoint.get(&format!("{root}/api/ps")).await;
    let shown = endpoint.post(&format!("{root}/api/show"), &named(model)).await;
    let context_window = running.as_ref().and_then(|running| self::running(running, model));
    let loaded = ServerProfile { context_window, ..ServerProfile::default() };
    loaded.or(shown.as_ref().map(self::shown).unwrap_or_default())
}

/// Returns the context window of a loaded model.
pub(super) fn running(running: &Value, model: &str) -> Option<u32> {
    let models = running.get("models")?.as_array()?;
    // A name without a tag means this one.
    let tagged = format!("{model}:latest");
    let is_meant = |loaded: &&Value| {
        loaded.get("name").and_then(Value::as_str).is_some_and(|name| name == model || name == tagged)
    };
    tokens(models.iter().find(is_meant)?.get("context_length")?)
}

/// Returns the profile that a model will be loaded with. Its window is the parameter of its file. Otherwise the server's
/// default applies, which it does not report and which is below the model's maximum.
pub(super) fn shown(shown: &Value) -> ServerProfile {
    let parameters = shown.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let set = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    let most = || {
        let details = shown.get("model_info")?.as_object()?;
        let most = details.iter().find(|(key, _)| key.ends_with(".context_length"))?.1;
        tokens(most).map(|most| most.min(LOCAL_CONTEXT_WINDOW))
    };
    let has = |capability: &str| {
        let capabilities = shown.get("capabilities")?.as_array()?;
        Some(capabilities.iter().any(|listed| listed == capability))
    };
    ServerProfile {
        context_window: set.filter(|set| *set > 0).or_else(most),
        calls_tools: has("tools"),
        sees_pictures: has("vision"),
    }
}
