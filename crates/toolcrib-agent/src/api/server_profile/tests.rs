//! The reports of providers, as they have them.

use serde_json::json;

use super::ollama::{running, shown};
use super::reports::{listed, lm_studio, reported};
use super::*;
use crate::provider::LOCAL_CONTEXT_WINDOW;

#[test]
fn each_provider_reports_the_window_of_a_model_by_a_key_of_its_own() {
    for (entry, window, sees_pictures) in [
        (
            json!({"id": "claude", "max_input_tokens": 1_000_000, "capabilities": {"image_input": {"supported": true}}}),
            1_000_000,
            Some(true),
        ),
        (
            json!({"name": "models/gemini", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536}),
            1_048_576,
            None,
        ),
        (json!({"id": "llama", "context_window": 131_072}), 131_072, None),
        (json!({"id": "qwen", "context_length": 32_768}), 32_768, None),
        (
            json!({"id": "mistral", "max_context_length": 128_000, "capabilities": {"vision": false}}),
            128_000,
            Some(false),
        ),
    ] {
        let found = reported(&entry);
        assert_eq!((found.context_window, found.sees_pictures), (Some(window), sees_pictures), "{entry}");
    }
}

#[test]
fn a_model_that_is_not_loaded_has_no_more_than_a_server_gives_one_by_default() {
    let models = json!({"models": [{"name": "qwen3:latest", "context_length": 4096}, {"name": "old:1b"}]});
    assert_eq!((running(&models, "qwen3"), running(&models, "old:1b")), (Some(4096), None));
    let window = |parameters: &str, most: u64| {
        let details = json!({"general.architecture": "qwen3", "qwen3.context_length": most});
        shown(&json!({"parameters": parameters, "model_info": details})).context_window
    };
    assert_eq!(window("stop \"x\"\nnum_ctx    16384", 40_960), Some(16_384));
    assert_eq!(window("", 40_960), Some(LOCAL_CONTEXT_WINDOW));
    assert_eq!(window("", 2_048), Some(2_048));
    assert_eq!(shown(&json!({})), ServerProfile::default());
    let models = json!({"data": [{"id": "b", "max_context_length": 32_768}]});
    assert_eq!(lm_studio(&models, "b").unwrap().context_window, Some(LOCAL_CONTEXT_WINDOW));
    // Together sends a list without an object around it.
    assert!(listed(&json!([{"id": "b"}]), "b").is_some());
}
