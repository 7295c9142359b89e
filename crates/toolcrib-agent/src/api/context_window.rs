//! The context window of a model, as reported by its server.
//!
//! The Chat Completions API does not report it. Self-hosted servers report it, each by a different endpoint. It matters more
//! there, since most are started with a small part of the model's maximum.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::transport::read;
use super::{ApiModel, Endpoint};
use crate::Provider;
use crate::provider::LOCAL_CONTEXT_WINDOW;

/// The longest answer that is read, in bytes. `Ollama` sends the whole license of a model.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

impl ApiModel {
    /// Asks the server for the context window of a model as it runs there, in tokens. Returns `None` if the server is
    /// not self-hosted or does not report it.
    pub async fn context_window(&self, model: &str) -> Option<u32> {
        let endpoint = &self.endpoint;
        // Without the `/v1` below which the common API is.
        let root = endpoint.base.as_str().trim_end_matches('/').trim_end_matches("/v1").to_owned();
        match endpoint.provider {
            Provider::Ollama => {
                let running = get(endpoint, &format!("{root}/api/ps")).await;
                if let Some(window) = running.as_ref().and_then(|running| ollama_running(running, model)) {
                    return Some(window);
                }
                let url = format!("{root}/api/show");
                let request = endpoint.client.request(Method::POST, &url).json(&json!({"model": model}));
                ollama_shown(&answer(endpoint, request, &url).await?)
            }
            Provider::LmStudio => lm_studio(&get(endpoint, &format!("{root}/api/v0/models")).await?, model),
            Provider::Vllm => vllm(&get(endpoint, &format!("{root}/v1/models")).await?, model),
            _ => None,
        }
    }
}

async fn get(endpoint: &Endpoint, url: &str) -> Option<Value> {
    answer(endpoint, endpoint.client.request(Method::GET, url), url).await
}

async fn answer(endpoint: &Endpoint, request: RequestBuilder, url: &str) -> Option<Value> {
    let request = request.headers(endpoint.headers.clone());
    let response = request.send().await.ok().filter(|response| response.status().is_success())?;
    let (body, is_longer) = read(response, MAX_ANSWER_BYTES, url).await.ok()?;
    if is_longer { None } else { serde_json::from_slice(&body).ok() }
}

/// Returns the context window of a loaded model.
fn ollama_running(running: &Value, model: &str) -> Option<u32> {
    let models = running.get("models")?.as_array()?;
    // A name without a tag means this one.
    let tagged = format!("{model}:latest");
    let is_meant = |loaded: &&Value| {
        loaded.get("name").and_then(Value::as_str).is_some_and(|name| name == model || name == tagged)
    };
    tokens(models.iter().find(is_meant)?.get("context_length")?)
}

/// Returns the context window that a model will be loaded with: the parameter of its file. Otherwise the server's
/// default applies, which it does not report and which is below the model's maximum.
fn ollama_shown(shown: &Value) -> Option<u32> {
    let parameters = shown.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let set = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    if let Some(set) = set.filter(|set| *set > 0) {
        return Some(set);
    }
    let details = shown.get("model_info")?.as_object()?;
    let most = details.iter().find(|(key, _)| key.ends_with(".context_length"))?.1;
    tokens(most).map(|most| most.min(LOCAL_CONTEXT_WINDOW))
}

fn lm_studio(models: &Value, model: &str) -> Option<u32> {
    let found = listed(models, model)?;
    // Of one that is not loaded, only what it could take is known.
    let loaded = found.get("loaded_context_length").and_then(tokens);
    loaded.or_else(|| tokens(found.get("max_context_length")?).map(|most| most.min(LOCAL_CONTEXT_WINDOW)))
}

fn vllm(models: &Value, model: &str) -> Option<u32> {
    tokens(listed(models, model)?.get("max_model_len")?)
}

/// Returns the entry of a model in a list as the common API gives it.
fn listed<'a>(models: &'a Value, model: &str) -> Option<&'a Value> {
    let models = models.get("data")?.as_array()?;
    models.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(model))
}

fn tokens(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|tokens| u32::try_from(tokens).ok()).filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_says_how_much_its_models_take_in() {
        let running =
            json!({"models": [{"name": "qwen3:latest", "context_length": 4096}, {"name": "old:1b"}]});
        assert_eq!(ollama_running(&running, "qwen3"), Some(4096));
        assert_eq!(ollama_running(&running, "old:1b"), None);
        let shown = |parameters: &str, most: u64| json!({"parameters": parameters, "model_info": {"general.architecture": "qwen3", "qwen3.context_length": most}});
        assert_eq!(ollama_shown(&shown("stop \"x\"\nnum_ctx    16384", 40_960)), Some(16_384));
        assert_eq!(ollama_shown(&shown("", 40_960)), Some(LOCAL_CONTEXT_WINDOW));
        assert_eq!(ollama_shown(&shown("", 2_048)), Some(2_048));
        assert_eq!(ollama_shown(&json!({})), None);
        let models = json!({"data": [
            {"id": "a", "max_context_length": 32_768, "loaded_context_length": 4_096},
            {"id": "b", "max_context_length": 32_768},
            {"id": "c", "max_model_len": 20_000},
            {"id": "d", "max_model_len": 5_000_000_000_u64},
        ]});
        assert_eq!(
            (lm_studio(&models, "a"), lm_studio(&models, "b")),
            (Some(4_096), Some(LOCAL_CONTEXT_WINDOW))
        );
        assert_eq!((vllm(&models, "c"), vllm(&models, "d"), vllm(&models, "e")), (Some(20_000), None, None));
    }
}
