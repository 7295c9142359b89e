//! Playing turns from a file.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use toolcrib_prompt::system_prompt::CallStyle;

use super::format::{RecordedCall, Turn, read};
use super::request::{Difference, RecordedRequest, RequestDelta};
use crate::chat::{ChatReply, ChatRequest, Piece, RequestedCall, TextSink, written_call};
use crate::{ChatModel, Error, Message, Provider};

/// The length of the excerpt of an unexpected text, in characters.
const MAX_FOUND_CHARS: usize = 300;

/// Plays assistant turns from a file, one for each request.
///
/// ```
/// # use toolcrib_agent::ChatModel;
/// # use toolcrib_agent::chat::ChatRequest;
/// # use toolcrib_agent::recorded::RecordedModel;
/// # use toolcrib_prompt::system_prompt::CallStyle;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), toolcrib_agent::Error> {
/// let file = b"turns:\n  - calls: [{name: hello.greet, arguments: {name: Ada}}]\n  - text: Done.\n";
/// let model = RecordedModel::new("greet.yaml", file, CallStyle::Native)?;
/// let reply = model.complete(&ChatRequest::new("recorded", &[]), &mut |_| ()).await?;
/// assert_eq!(reply.tool_calls[0].name, "hello.greet");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct RecordedModel {
    file: String,
    turns: Vec<Turn>,
    style: CallStyle,
    next: AtomicUsize,
    /// The recorded request of the last turn.
    asked: Mutex<RecordedRequest>,
}

impl RecordedModel {
    /// Creates a model that plays the recording in `bytes`; `file` is its name, for errors. In [`CallStyle::Text`] the
    /// calls are written into the text, so that one file serves both styles. Names are sent as they are recorded.
    pub fn new(file: impl Into<String>, bytes: &[u8], style: CallStyle) -> Result<Self, Error> {
        let file = file.into();
        let turns = read(&file, bytes)?;
        Ok(Self { file, turns, style, next: AtomicUsize::new(0), asked: Mutex::default() })
    }

    /// Compares what is asked with what was recorded. In a text it is not as the loop asks it.
    fn compare(&self, turn: usize, asked: &RequestDelta, request: &ChatRequest<'_>) -> Result<(), Error> {
        let mut recorded = self.asked.lock();
        recorded.then(asked);
        if self.style == CallStyle::Text {
            return Ok(());
        }
        match recorded.difference(&RecordedRequest::of(request)) {
            None => Ok(()),
            Some(Difference { place, recorded, found }) => {
                Err(Error::RequestDiffers { file: self.file.clone(), turn, place, recorded, found })
            }
        }
    }

    fn check(&self, turn: usize, expected: &[String], messages: &[Message]) -> Result<(), Error> {
        let since = messages
            .iter()
            .rposition(|message| matches!(message, Message::Assistant { .. }))
            .map_or(0, |position| position + 1);
        let news: Vec<_> = messages.iter().skip(since).map(Message::content).collect();
        match expected.iter().find(|text| !news.iter().any(|content| content.contains(text.as_str()))) {
            None => Ok(()),
            Some(missing) => Err(Error::Unexpected {
                file: self.file.clone(),
                turn,
                missing: missing.clone(),
                found: news.join("\n").chars().take(MAX_FOUND_CHARS).collect(),
            }),
        }
    }
}

#[async_trait]
impl ChatModel for RecordedModel {
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        let position = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = self
            .turns
            .get(position)
            .ok_or_else(|| Error::RecordingEnded { file: self.file.clone(), turns: self.turns.len() })?;
        self.check(position + 1, &turn.expect, request.messages)?;
        if let Some(asked) = &turn.request {
            self.compare(position + 1, asked, request)?;
        }
        let (content, tool_calls) = match self.style {
            CallStyle::Native => (turn.text.clone(), turn.calls.iter().map(native_call).collect()),
            CallStyle::Text => (with_text_calls(turn), Vec::new()),
        };
        if !content.is_empty() {
            on_text(Piece::Text(&content));
        }
        let usual = if turn.calls.is_empty() { "stop" } else { "tool_calls" };
        let finish_reason = turn.finish_reason.as_deref().unwrap_or(usual);
        Ok(ChatReply {
            content,
            tool_calls,
            finish_reason: Some(finish_reason.to_owned()),
            mean_log_probability: turn.mean_log_probability,
            alternatives: turn.alternatives.iter().map(|text| alternative(text)).collect(),
            ..ChatReply::default()
        })
    }

    fn provider(&self) -> &'static str {
        Provider::Recorded.as_str()
    }
}

fn alternative(text: &str) -> ChatReply {
    ChatReply { content: text.to_owned(), finish_reason: Some("stop".to_owned()), ..ChatReply::default() }
}

fn native_call(call: &RecordedCall) -> RequestedCall {
    RequestedCall {
        id: String::new(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        problem: call.problem.clone(),
    }
}

/// Returns the turn as a model writes it that knows no other way than text.
fn with_text_calls(turn: &Turn) -> String {
    let calls = turn.calls.iter().map(|call| written_call(&call.name, &call.arguments));
    let text = Some(turn.text.clone()).filter(|text| !text.is_empty());
    text.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}
