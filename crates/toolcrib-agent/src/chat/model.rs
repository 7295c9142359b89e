//! Something that continues a conversation.

use std::ops::AddAssign;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use toolcrib_model::Amount;

use super::encoded_prefix::EncodedPrefix;
use super::message::{ProviderItems, RequestedCall, ToolFunction};
use super::options::RequestOptions;
use super::output_schema::OutputSchema;
use crate::{Error, Message};

/// A piece of a streamed reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece<'a> {
    /// Of its message.
    Text(&'a str),
    /// Of what it thinks before, where its server shows that.
    Reasoning(&'a str),
    /// Something that happened on the way to the message, for the user: another attempt, or another model.
    Notice(&'a str),
}

/// Takes the pieces as they come.
pub type TextSink<'a> = dyn FnMut(Piece<'_>) + Send + 'a;

/// Something that continues a conversation: a server, or a recording of one.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Returns the next message of the assistant. Its text is given to `on_text` piece by piece as it comes, and as a
    /// whole in the reply. The future may be dropped at any time.
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error>;

    /// Returns the name of the provider for traces: `gen_ai.provider.name` of the conventions of `OpenTelemetry`.
    fn provider(&self) -> &'static str {
        "custom"
    }

    /// Returns the maximum cost of a number of tokens, in millionths of the currency of its
    /// [`Prices`](crate::api::Prices); zero without prices. It keeps concurrent requests within the cost limit of a
    /// run.
    fn most_cost(&self, _tokens: u64) -> u64 {
        0
    }
}

/// A conversation so far.
#[derive(Clone, Copy, Debug)]
pub struct ChatRequest<'a> {
    /// The model's name at its provider.
    pub model: &'a str,
    /// The system prompt; may be empty.
    pub system: &'a str,
    /// The tools that are offered through the API.
    pub tools: &'a [ToolFunction],
    /// The conversation, oldest first.
    pub messages: &'a [Message],
    /// The tools that a search loads; `None` if all tools are offered from the beginning.
    pub deferred: Option<DeferredTools<'a>>,
    /// The tool choice.
    pub tool_choice: &'a ToolChoice,
    /// The options that override those of the model.
    pub options: Option<&'a RequestOptions>,
    /// The schema of the answer. The system prompt has its [instruction](OutputSchema::instruction); a model whose API
    /// enforces schemas is also asked for it there.
    pub output: Option<&'a OutputSchema>,
    /// The encoded beginning of the messages, if the owner of the conversation keeps it.
    pub encoded: Option<&'a EncodedPrefix>,
}

impl<'a> ChatRequest<'a> {
    /// Creates a request without a system prompt, tools and options.
    pub fn new(model: &'a str, messages: &'a [Message]) -> Self {
        Self {
            model,
            system: "",
            tools: &[],
            messages,
            deferred: None,
            tool_choice: &ToolChoice::Auto,
            options: None,
            output: None,
            encoded: None,
        }
    }

    /// Returns true if the model may call tools.
    pub(crate) fn may_call(&self) -> bool {
        !self.tools.is_empty() && *self.tool_choice != ToolChoice::None
    }
}

/// The tools that a model does not see before a search has found them. Only for a model whose API
/// [defers tools](crate::Provider::defers_tools).
#[derive(Clone, Copy, Debug)]
pub struct DeferredTools<'a> {
    /// The wire name of the tool that searches, which is offered.
    pub search: &'a str,
    /// The tools that searches of the conversation have found, in the order in which they were.
    pub loaded: &'a [ToolFunction],
}

impl<'a> DeferredTools<'a> {
    /// Returns the tools that a result loads.
    pub(crate) fn of(self, loads: &'a [String]) -> impl Iterator<Item = &'a ToolFunction> {
        let loaded = self.loaded;
        loads.iter().filter_map(move |name| loaded.iter().find(|tool| tool.name == *name))
    }
}

/// The tool choice of a request to a model that calls through its API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It must answer without.
    None,
    /// It must call one.
    Required,
    /// It must call this one, by its wire name.
    Tool(String),
    /// It must call one or more of these, by their wire names. Not for Anthropic.
    OneOf(Vec<String>),
}

/// The finish reason of a message in which the model refuses to answer.
pub(crate) const REFUSAL: &str = "refusal";

/// The next message of the assistant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatReply {
    /// The text, without calls.
    pub content: String,
    /// The reasoning before the reply, if the server returns it.
    pub reasoning: String,
    /// The calls.
    pub tool_calls: Vec<RequestedCall>,
    /// The text with the calls in it, of a model that writes them as text.
    pub written: Option<String>,
    /// The parts that only the model's provider understands.
    pub provider_items: Option<ProviderItems>,
    /// The usage of the request.
    pub usage: Usage,
    /// The finish reason in the terms of the provider: `stop`, `tool_calls`, `length`, …; `refusal` for a message that
    /// the provider marks as one.
    pub finish_reason: Option<String>,
    /// The name of the model that answered, where it is not the one that was asked.
    pub model: Option<String>,
    /// The mean log-probability of the tokens, where the request asks for it and the server returns it.
    pub mean_log_probability: Option<f64>,
    /// The other replies, where the request asks for several. Their usage is part of that of this reply.
    pub alternatives: Vec<ChatReply>,
}

/// Tokens, as the server counts them; zero where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// Of the tokens read, those that the server had kept from an earlier request.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Of the tokens read, those that the server wrote to its cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// The cost, in millionths of the currency of the model's [`Prices`](crate::api::Prices); zero without prices.
    /// In JSON it is a number of the currency itself.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "units", deserialize_with = "millionths")]
    pub cost: u64,
}

impl Usage {
    /// Tokens read and written.
    pub fn tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}

impl From<Usage> for Amount {
    fn from(usage: Usage) -> Self {
        Self { tokens: usage.tokens(), cost: usage.cost, calls: 0 }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(crate) fn is_zero(figure: &u64) -> bool {
    *figure == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(crate) fn units<S: Serializer>(millionths: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    #[expect(clippy::cast_precision_loss, reason = "exact up to nine thousand million units")]
    serializer.serialize_f64(*millionths as f64 / 1e6)
}

pub(crate) fn millionths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates, also at zero")]
    f64::deserialize(deserializer).map(|units| (units * 1e6).round() as u64)
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // The figures are a server's, and may be anything.
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.cost = self.cost.saturating_add(other.cost);
    }
}

#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        (**self).complete(request, on_text).await
    }

    fn provider(&self) -> &'static str {
        (**self).provider()
    }

    fn most_cost(&self, tokens: u64) -> u64 {
        (**self).most_cost(tokens)
    }
}
