//! What servers tell of their models, by their endpoints.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use super::{Provider, client};
use crate::api::{ApiModel, ApiSettings, ServerProfile};

/// A server that answers each path in the same way, and paths without an answer with status 404.
struct Described {
    base_url: String,
    paths: Arc<Mutex<Vec<String>>>,
}

impl Described {
    async fn start(answers: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let answers: BTreeMap<String, Value> = serde_json::from_value(answers).unwrap();
        let paths = Arc::new(Mutex::new(Vec::new()));
        let asked = Arc::clone(&paths);
        // Ends with the test's runtime.
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut reader = BufReader::new(&mut socket);
                let (mut first, mut length) = (String::new(), 0);
                reader.read_line(&mut first).await.unwrap();
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).await.unwrap();
                    match line.to_lowercase().strip_prefix("content-length: ") {
                        Some(bytes) => length = bytes.trim().parse().unwrap(),
                        None if line.trim().is_empty() => break,
                        None => {}
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).await.unwrap();
                let path = first.split(' ').nth(1).unwrap().to_owned();
                let (status, body) = match answers.get(&path) {
                    Some(answer) => ("200 OK", answer.to_string()),
                    None => ("404 Not Found", String::new()),
                };
                asked.lock().push(path);
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                socket.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { base_url, paths }
    }
}

async fn profile(provider: Provider, server: &Described, model: &str) -> ServerProfile {
    let settings = ApiSettings::new(provider).with_base_url(&server.base_url);
    ApiModel::new(settings, &client()).unwrap().server_profile(model).await
}

fn profiled(
    context_window: Option<u32>,
    calls_tools: Option<bool>,
    sees_pictures: Option<bool>,
) -> ServerProfile {
    ServerProfile { context_window, calls_tools, sees_pictures }
}

fn llama_cpp() -> Value {
    json!({
        "/v1/models": {"data": [{"id": "noise.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072}}]},
        "/props?model=noise": {
            "default_generation_settings": {"n_ctx": 4_096},
            "modalities": {"vision": true},
            "chat_template_caps": {"supports_tools": true},
        },
    })
}

fn sg_lang() -> Value {
    json!({
        "/v1/models": {"data": [{"id": "qwen", "owned_by": "sglang", "max_model_len": 32_768}]},
        "/get_model_info": {"has_image_understanding": false},
        "/get_server_info": {"context_length": null, "max_total_num_tokens": 20_000, "tool_call_parser": "qwen25"},
    })
}

#[tokio::test]
async fn a_server_is_asked_by_its_own_endpoints_also_behind_a_provider_of_another_name() {
    let lm_studio = json!({
        "/v1/models": {"data": [{"id": "qwen", "owned_by": "organization_owner"}]},
        "/api/v0/models": {"data": [{
            "id": "qwen", "type": "vlm", "max_context_length": 32_768, "loaded_context_length": 4_096,
            "capabilities": ["tool_use"],
        }]},
    });
    let ollama = json!({
        "/v1/models": {"data": [{"id": "qwen", "owned_by": "library"}]},
        "/api/ps": {"models": [{"name": "qwen:latest", "context_length": 16_384}]},
        "/api/show": {
            "model_info": {"qwen3.context_length": 40_960}, "capabilities": ["completion", "tools"],
        },
    });
    let vllm = json!({"/v1/models": {"data": [{"id": "qwen", "owned_by": "vllm", "max_model_len": 20_000}]}});
    let cases = [
        (llama_cpp(), Provider::LlamaCpp, "noise", profiled(Some(4_096), Some(true), Some(true))),
        (lm_studio, Provider::LmStudio, "qwen", profiled(Some(4_096), Some(true), Some(true))),
        (ollama, Provider::Ollama, "qwen", profiled(Some(16_384), Some(true), Some(false))),
        (sg_lang(), Provider::SgLang, "qwen", profiled(Some(20_000), Some(true), Some(false))),
        (vllm, Provider::Vllm, "qwen", profiled(Some(20_000), None, None)),
    ];
    for (answers, own, model, expected) in cases {
        let server = Described::start(answers).await;
        for provider in [own, Provider::OpenAi, Provider::OpenAiResponses, Provider::Anthropic] {
            assert_eq!(profile(provider, &server, model).await, expected, "{own} as {provider}");
        }
    }
}

#[tokio::test]
async fn a_server_that_describes_nothing_or_lies_has_no_profile() {
    let lies = json!({
        "/v1/models": {"data": [{"id": "m", "max_model_len": 5_000_000_000_u64}, {"id": "n", "max_model_len": "many"}]},
        "/props?model=m": {"default_generation_settings": {"n_ctx": 0}},
        "/api/v0/models": {"data": {}},
        "/api/show": [],
        "/get_server_info": {"max_total_num_tokens": -1},
    });
    for answers in [json!({}), lies] {
        let server = Described::start(answers).await;
        for provider in Provider::ALL.into_iter().filter(|provider| *provider != Provider::Recorded) {
            assert_eq!(profile(provider, &server, "m").await, ServerProfile::default(), "{provider}");
        }
    }
}

#[tokio::test]
async fn an_unknown_model_of_a_list_has_no_window_of_another() {
    let server = Described::start(json!({
        "/v1/models": {"data": [{"id": "other", "owned_by": "vllm", "max_model_len": 20_000}]},
    }))
    .await;
    assert_eq!(profile(Provider::Vllm, &server, "qwen").await, ServerProfile::default());
    assert_eq!(*server.paths.lock(), ["/v1/models"]);
}
