//! Models behind the Chat Completions API, at any server that speaks it.
//!
//! `async-openai` brings the request on its way and takes the events of the stream apart. What is sent is a
//! body of our own, so that its bytes do not change with the library; what comes back is read as JSON
//! and put together leniently, since servers differ.

mod context_overflow;
mod context_window;
mod error_response;
mod lines;
mod reasoning_tags;
mod reply;
mod request;
mod retry;
mod settings;
mod transport;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_trait::async_trait;
use futures::StreamExt as _;
use http::HeaderValue;
use serde_json::Value;
use toolcrib_io::http::{HttpClient, display_url};
use toolcrib_model::Secret;
use url::Url;

use self::error_response::{clean, refusal_within};
use self::reply::{Assembler, Fault};
use self::request::Body;
use self::retry::{Retries, chance};
use self::transport::{StreamOutcome, Transport};
use crate::chat::{ChatReply, ChatRequest, Piece, RequestOptions, ShownPieces, TextSink};
use crate::{ChatModel, Error, Provider};

pub use self::settings::{
    DEFAULT_ATTEMPTS, DEFAULT_IDLE_TIMEOUT, DEFAULT_REPLY_TIMEOUT, DEFAULT_RETRY_DELAY, OpenAiSettings,
    Prices,
};

/// The path that the API has below its base.
const COMPLETIONS_PATH: &str = "/chat/completions";

/// The time to wait after the end of a reply for its usage and for the mark of the stream's end.
const AFTER_THE_END: Duration = Duration::from_secs(5);

/// A model behind the Chat Completions API.
#[derive(Debug)]
pub struct OpenAiModel {
    endpoint: Arc<Endpoint>,
    config: OpenAIConfig,
    /// The base URL of the API.
    base: String,
    attempts: u32,
    retry_delay: Duration,
    prices: Option<Prices>,
}

/// The server and the facts known about it.
#[derive(Debug)]
struct Endpoint {
    provider: Provider,
    /// The address of the request, as it may be shown.
    url: String,
    client: reqwest::Client,
    authorization: Option<HeaderValue>,
    api_key: Option<Secret>,
    stream: bool,
    idle_timeout: Duration,
    reply_timeout: Duration,
    parameters: RequestOptions,
    max_tokens_key: &'static str,
}

impl OpenAiModel {
    /// Creates a model at the server of the settings. The client's policy decides which addresses it may have. Nothing
    /// is sent yet.
    pub fn new(settings: OpenAiSettings, http: &HttpClient) -> Result<Self, Error> {
        let provider = settings.provider;
        let base = match (&settings.base_url, provider.base_url()) {
            (Some(base), _) => base.trim_end_matches('/').to_owned(),
            (None, Some(base)) => base.to_owned(),
            (None, None) => {
                let advice = "give `base_url`, or play a recording";
                return Err(Error::NoServer { provider: provider.as_str(), advice });
            }
        };
        if let (None, None, Some(variable)) = (&settings.base_url, &settings.api_key, provider.key_variable())
        {
            return Err(Error::MissingKey { provider: provider.as_str(), variable });
        }
        let invalid =
            |error: url::ParseError| Error::InvalidBaseUrl { url: base.clone(), reason: error.to_string() };
        // Newer models of OpenAI take no other key, which servers that are only like theirs do not know.
        let is_openai = provider == Provider::OpenAi && settings.base_url.is_none();
        let max_tokens_key = if is_openai { "max_completion_tokens" } else { "max_tokens" };
        let url = Url::parse(&format!("{base}{COMPLETIONS_PATH}")).map_err(invalid)?;
        let shown = display_url(&url);
        http.check_url(&url).map_err(|source| Error::Forbidden { url: shown.clone(), source })?;
        // Keys come with the line end of the file or the command that they were read from.
        let api_key = settings.api_key.map(|key| Secret::new(key.expose().trim()));
        let authorization = api_key.as_ref().map(|key| authorization(provider, key)).transpose()?;
        Ok(Self {
            // All that the library would read from the environment is set.
            config: OpenAIConfig::new()
                .with_api_base(base.as_str())
                .with_api_key("")
                .with_org_id("")
                .with_project_id(""),
            base,
            attempts: settings.attempts.max(1),
            retry_delay: settings.retry_delay,
            prices: settings.prices,
            endpoint: Arc::new(Endpoint {
                provider,
                url: shown,
                client: http.reqwest_client().clone(),
                authorization,
                api_key,
                stream: settings.stream,
                idle_timeout: settings.idle_timeout,
                reply_timeout: settings.reply_timeout,
                parameters: settings.parameters,
                max_tokens_key,
            }),
        })
    }

    async fn attempt(&self, body: &Body<'_>, sink: &mut TextSink<'_>) -> Result<ChatReply, Error> {
        let outcome = Arc::new(StreamOutcome::default());
        let transport = Transport {
            endpoint: Arc::clone(&self.endpoint),
            is_streamed: body.is_streamed(),
            outcome: Arc::clone(&outcome),
        };
        let client =
            Client::build(self.endpoint.client.clone(), self.config.clone()).with_http_service(transport);
        let mut assembler = Assembler::new(body.replies());
        if !body.is_streamed() {
            let reply: Value = client.chat().create_byot(body).await.map_err(|error| self.explain(error))?;
            assembler.push(&reply, sink).map_err(|fault| self.fault(fault))?;
            return assembler.finish(true, sink).map_err(|fault| self.fault(fault));
        }
        let mut stream =
            client.chat().create_stream_byot::<_, Value>(body).await.map_err(|error| self.explain(error))?;
        let mut failure = None;
        loop {
            let next = if assembler.has_ended() {
                // Some servers never say that this was all.
                tokio::time::timeout(AFTER_THE_END, stream.next()).await.unwrap_or_default()
            } else {
                stream.next().await
            };
            match next {
                None => break,
                Some(Ok(piece)) => assembler.push(&piece, sink).map_err(|fault| self.fault(fault))?,
                // Nothing of the reply is missing.
                Some(Err(_)) if assembler.has_ended() => break,
                Some(Err(error)) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        drop(stream);
        if let Some(error) = failure {
            return Err(outcome.take_error().unwrap_or_else(|| self.explain(error)));
        }
        assembler.finish(outcome.is_marked.load(Ordering::Relaxed), sink).map_err(|fault| self.fault(fault))
    }

    fn explain(&self, error: OpenAIError) -> Error {
        let error = match error {
            OpenAIError::Boxed(error) => match error.downcast::<Error>() {
                Ok(error) => return *error,
                Err(other) => other.to_string(),
            },
            OpenAIError::JSONDeserialize(error, text) => format!("{error} in: {text}"),
            other => other.to_string(),
        };
        self.fault(Fault::NotAReply(error))
    }

    fn fault(&self, fault: Fault) -> Error {
        let url = self.endpoint.url.clone();
        match fault {
            Fault::Error(error) => refusal_within(&self.endpoint, &error),
            Fault::NotAReply(reason) => Error::NotAReply { url, reason: clean(&self.endpoint, &reason) },
            Fault::Interrupted(reason) => Error::Interrupted { url, reason: reason.to_owned() },
            Fault::TooLarge { limit, unit } => Error::TooLarge { url, limit, unit },
        }
    }
}

#[async_trait]
impl ChatModel for OpenAiModel {
    async fn complete(&self, request: &ChatRequest<'_>, sink: &mut TextSink<'_>) -> Result<ChatReply, Error> {
        if let Some((key, message)) = request.options.and_then(RequestOptions::problem) {
            return Err(Error::InvalidOption { key, message });
        }
        let body = Body::new(request, &self.endpoint);
        let mut retries = Retries::new(self.attempts, self.retry_delay);
        loop {
            let mut shown = ShownPieces::new(sink);
            let error = match self.attempt(&body, &mut |piece| shown.take(piece)).await {
                Ok(mut reply) => {
                    reply.usage.cost = self.prices.map_or(0, |prices| prices.cost(&reply.usage));
                    return Ok(reply);
                }
                Err(error) => error,
            };
            // What was shown cannot be taken back.
            let Some(pause) = retries.pause(&error, chance()).filter(|_| !shown.anything) else {
                return Err(error);
            };
            tracing::warn!(%error, ?pause, "asking the model again");
            sink(Piece::Notice(&format!("{error}; asking again in {:.1} s", pause.as_secs_f64())));
            tokio::time::sleep(pause).await;
        }
    }

    fn provider(&self) -> &'static str {
        self.endpoint.provider.trace_name()
    }

    fn most_cost(&self, tokens: u64) -> u64 {
        self.prices.map_or(0, |prices| prices.most_cost(tokens))
    }
}

fn authorization(provider: Provider, key: &Secret) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
        .map_err(|_| Error::InvalidKey { provider: provider.as_str() })?;
    value.set_sensitive(true);
    Ok(value)
}
