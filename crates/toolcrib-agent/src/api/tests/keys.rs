//! Keys of clouds: as bearer tokens, and from a source that renews them.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use toolcrib_model::Secret;

use super::formats::saying;
use super::server::{Answer, Server};
use super::{Provider, client};
use crate::api::{ApiModel, ApiSettings, KeySource};
use crate::chat::ChatRequest;
use crate::{ChatModel as _, Error, Message};

/// Returns the key `token-1`, and another one after each that was refused.
#[derive(Debug, Default)]
struct Tokens(AtomicU32);

#[async_trait]
impl KeySource for Tokens {
    async fn key(&self) -> Result<Secret, Error> {
        Ok(Secret::new(format!("token-{}", self.0.load(Ordering::Relaxed) + 1)))
    }

    fn forget(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The clouds: the provider, the path of the base URL, and the model.
const CLOUDS: [(&str, Provider, &str, &str); 4] = [
    (
        "vertex_gemini",
        Provider::Gemini,
        "/v1/projects/p/locations/global/publishers/google",
        "gemini-2.5-flash",
    ),
    (
        "vertex_anthropic",
        Provider::Anthropic,
        "/v1/projects/p/locations/global/publishers/anthropic",
        "claude-sonnet-4-5@20250929",
    ),
    ("bedrock_anthropic", Provider::Anthropic, "/anthropic/v1", "anthropic.claude-sonnet-4-5"),
    ("bedrock_openai", Provider::OpenAi, "/openai/v1", "openai.gpt-oss-120b-1:0"),
];

fn settings(server: &Server, provider: Provider, path: &str) -> ApiSettings {
    let base_url = format!("{}{path}", server.base_url.trim_end_matches("/v1"));
    ApiSettings::new(provider)
        .with_base_url(base_url)
        .with_bearer(true)
        .with_key_source(Arc::new(Tokens::default()))
        .with_retries(1, Duration::from_millis(1))
}

async fn ask(settings: ApiSettings, model: &str) -> Result<String, Error> {
    let messages = [Message::user("Hi")];
    let request = ChatRequest { system: "Be brief.", ..ChatRequest::new(model, &messages) };
    let reply = ApiModel::new(settings, &client()).unwrap().complete(&request, &mut |_| ()).await;
    reply.map(|reply| reply.content)
}

#[tokio::test]
async fn a_cloud_is_asked_at_its_address_with_a_bearer_token() {
    let mut told = String::new();
    for (cloud, provider, path, model) in CLOUDS {
        for stream in [true, false] {
            let server = Server::start(vec![saying(provider, "Hello.")]).await;
            let settings = settings(&server, provider, path).with_stream(stream);
            assert_eq!(ask(settings, model).await.unwrap(), "Hello.", "{cloud}");
            let received = &server.received()[0];
            let lines = received.head.lines();
            let lines: Vec<_> = lines
                .filter(|line| !["host: ", "content-length: "].iter().any(|start| line.starts_with(start)))
                .collect();
            let body: Value = received.json();
            writeln!(told, "# {cloud}, streamed: {stream}\n{}\n{body}\n", lines.join("\n")).unwrap();
        }
    }
    insta::assert_snapshot!(told);
}

#[tokio::test]
async fn a_key_that_expired_is_renewed_once() {
    let expired = Answer::new("401 Unauthorized", "", r#"{"error": {"message": "expired token-1"}}"#);
    let server = Server::start(vec![expired.clone(), saying(Provider::Gemini, "Hello.")]).await;
    let (_, provider, path, model) = CLOUDS[0];
    assert_eq!(ask(settings(&server, provider, path), model).await.unwrap(), "Hello.");
    let keys: Vec<bool> = ["token-1", "token-2"]
        .iter()
        .zip(server.received())
        .map(|(key, received)| received.head.contains(&format!("authorization: bearer {key}")))
        .collect();
    assert_eq!(keys, [true, true]);

    let server = Server::start(vec![expired]).await;
    let error = ask(settings(&server, provider, path), model).await.unwrap_err();
    assert!(matches!(error, Error::Refused { status: 401, .. }), "{error}");
    assert_eq!(server.received().len(), 2);
}
