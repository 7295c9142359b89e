//! The reports of servers, as JSON.

use serde_json::Value;

use super::ServerProfile;
use crate::provider::LOCAL_CONTEXT_WINDOW;

/// The keys of a context window in a report, as vLLM and `SGLang`, Anthropic, Gemini, Groq, Together and `OpenRouter`,
/// and Mistral have it.
const WINDOWS: [&str; 6] = [
    "max_model_len",
    "max_input_tokens",
    "inputTokenLimit",
    "context_window",
    "context_length",
    "max_context_length",
];

/// The paths of a capability in a report: that a model sees pictures, and that it calls tools.
const PICTURES: [&str; 2] = ["/capabilities/image_input/supported", "/capabilities/vision"];
const TOOLS: [&str; 1] = ["/capabilities/function_calling"];

/// Returns the facts of an entry in a list of models, or of a model that is described by itself.
pub(super) fn reported(entry: &Value) -> ServerProfile {
    let flag = |paths: &[&str]| paths.iter().find_map(|path| entry.pointer(path)?.as_bool());
    ServerProfile {
        context_window: WINDOWS.iter().find_map(|key| tokens(entry.get(key)?)),
        calls_tools: flag(&TOOLS),
        sees_pictures: flag(&PICTURES),
    }
}

/// Reads the properties of a server of llama.cpp: what one conversation has of the window, and what the model's template
/// has a form for.
pub(super) fn llama_cpp(props: &Value) -> ServerProfile {
    let flag = |path: &str| props.pointer(path).and_then(Value::as_bool);
    let is_template_for_tools = flag("/chat_template_caps/supports_tools");
    ServerProfile {
        context_window: props.pointer("/default_generation_settings/n_ctx").and_then(tokens),
        // Without such a template, the server has models write calls in a generic form.
        calls_tools: is_template_for_tools,
        sees_pictures: flag("/modalities/vision"),
    }
}

/// Reads the models of LM Studio. Of one that is not loaded, only what it could take in is known.
pub(super) fn lm_studio(models: &Value, model: &str) -> Option<ServerProfile> {
    let found = listed(models, model)?;
    let loaded = found.get("loaded_context_length").and_then(tokens);
    let most = found.get("max_context_length").and_then(tokens).map(|most| most.min(LOCAL_CONTEXT_WINDOW));
    let capabilities = found.get("capabilities").and_then(Value::as_array);
    Some(ServerProfile {
        context_window: loaded.or(most),
        calls_tools: capabilities.map(|listed| listed.iter().any(|capability| capability == "tool_use")),
        sees_pictures: found.get("type").map(|kind| kind == "vlm"),
    })
}

/// Reads the model and the server of `SGLang`, and the entry in its list of models. A request is bound by the memory for
/// all requests too.
pub(super) fn sg_lang(model: &Value, server: &Value, by_list: ServerProfile) -> ServerProfile {
    let number = |key: &str| server.get(key).and_then(tokens);
    let length = number("context_length").or(by_list.context_window);
    ServerProfile {
        context_window: length.into_iter().chain(number("max_total_num_tokens")).min(),
        // It takes calls out of the text by a parser that it is started with.
        calls_tools: server.get("tool_call_parser").map(|parser| !parser.is_null()),
        sees_pictures: model.get("has_image_understanding").and_then(Value::as_bool),
    }
}

/// Returns the entry of a model in a list as the common API gives it.
pub(super) fn listed<'a>(models: &'a Value, model: &str) -> Option<&'a Value> {
    entries(models)?.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(model))
}

/// Returns the first entry of the list.
pub(super) fn first(models: &Value) -> Option<&Value> {
    entries(models)?.first()
}

/// Returns the entries. Together sends them without an object around them.
fn entries(models: &Value) -> Option<&Vec<Value>> {
    models.get("data").unwrap_or(models).as_array()
}

/// Returns a number of tokens that a window can have.
pub(super) fn tokens(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|tokens| u32::try_from(tokens).ok()).filter(|tokens| *tokens > 0)
}
