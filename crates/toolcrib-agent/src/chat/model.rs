//! Something that continues a conversation.

use std::ops::AddAssign;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;

use crate::{Error, Message, RequestedCall, ToolFunction};

/// Takes the pieces of a text as they come.
pub type TextSink<'a> = dyn FnMut(&str) + Send + 'a;

/// Something that continues a conversation: a server, or a recording of one.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// The next message of the assistant. Its text is given to `on_text` piece by piece as it comes, and as a whole
    /// in the reply. The future may be dropped at any time.
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error>;

    /// Who runs it, as traces name it: `gen_ai.provider.name` of the conventions of `OpenTelemetry`.
    fn provider(&self) -> &'static str {
        "custom"
    }
}

/// A conversation so far.
#[derive(Clone, Copy, Debug)]
pub struct ChatRequest<'a> {
    /// The model's name at its provider.
    pub model: &'a str,
    /// What stands before the conversation; may be empty.
    pub system: &'a str,
    /// The tools that are offered through the API; none for a model that writes its calls as text.
    pub tools: &'a [ToolFunction],
    /// The conversation, oldest first.
    pub messages: &'a [Message],
}

/// The next message of the assistant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatReply {
    /// The text.
    pub content: String,
    /// The calls made through the API.
    pub tool_calls: Vec<RequestedCall>,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended, in the words of the provider: `stop`, `tool_calls`, `length`, …
    pub finish_reason: Option<String>,
}

/// Tokens, as the server counts them; zero where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // The figures are a server's, and may be anything.
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
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
}
