//! Models that write their calls as text.

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_prompt::text_calls::{TextCall, TextReader, ToolNames, render_tool_result};

use super::message::RequestedCall;
use super::model::{ChatReply, ChatRequest, Piece, TextSink, ToolChoice};
use super::output_schema::with_instruction;
use crate::{ChatModel, Error, Message};

/// A model that writes its calls as text, as one that calls through its API: a conversation is turned into text on the
/// way there, and calls are taken out of the text on the way back.
///
/// ```
/// # use toolcrib_agent::ChatModel;
/// # use toolcrib_agent::chat::{ChatRequest, TextModel};
/// # use toolcrib_agent::recorded::RecordedModel;
/// # use toolcrib_prompt::system_prompt::CallStyle;
/// # use toolcrib_prompt::text_calls::ToolNames;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), toolcrib_agent::Error> {
/// let file = b"turns:\n  - text: 'I look. <tool_call>{\"name\": \"ls\", \"arguments\": {}}</tool_call>'\n";
/// let model = TextModel::new(RecordedModel::new("ls.yaml", file, CallStyle::Text)?, ToolNames::default());
/// let reply = model.complete(&ChatRequest::new("recorded", &[]), &mut |_| ()).await?;
/// assert_eq!((reply.content.as_str(), reply.tool_calls[0].name.as_str()), ("I look.", "ls"));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct TextModel<M> {
    inner: M,
    names: ToolNames,
    system_prompt: Option<String>,
}

impl<M> TextModel<M> {
    /// Creates the model, which may call tools of these names.
    pub fn new(inner: M, names: ToolNames) -> Self {
        Self { inner, names, system_prompt: None }
    }

    /// Sets what the model is told in place of the system prompt of its requests: one that says how calls are written.
    pub fn with_system_prompt(mut self, system_prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(system_prompt.into());
        self
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for TextModel<M> {
    async fn complete(&self, request: &ChatRequest<'_>, sink: &mut TextSink<'_>) -> Result<ChatReply, Error> {
        let messages = as_text(request.messages);
        // What the results in the conversation hold is no call when it is repeated.
        let results = messages.iter().filter_map(|message| match message {
            Message::User { content } => Some(content.as_str()),
            _ => None,
        });
        let mut reader = TextReader::new(&self.names).with_results(results.clone());
        let own = self.system_prompt.as_deref().filter(|_| !request.system.is_empty());
        let own = own.map(|own| with_instruction(own, request.output));
        let asked = ChatRequest {
            system: own.as_deref().unwrap_or(request.system),
            // A server that enforces the schema lets the model write no calls.
            output: request.output.filter(|_| !request.may_call()),
            tools: &[],
            messages: &messages,
            encoded: None,
            tool_choice: &ToolChoice::Auto,
            ..*request
        };
        let mut read = 0;
        let mut take = |piece: Piece<'_>| match piece {
            Piece::Text(text) => {
                read += text.len();
                let news = reader.push(text);
                if !news.is_empty() {
                    sink(Piece::Text(&news));
                }
            }
            other @ (Piece::Reasoning(_) | Piece::Notice(_)) => sink(other),
        };
        let reply = self.inner.complete(&asked, &mut take).await?;
        let (rest, message) = if read == reply.content.len() {
            reader.finish()
        } else {
            // Nothing was shown yet where pieces are not passed on as they arrive.
            let message = TextReader::new(&self.names).with_results(results).read(&reply.content);
            (message.prose.clone(), message)
        };
        if !message.reasoning.is_empty() {
            sink(Piece::Reasoning(&message.reasoning));
        }
        if !rest.is_empty() {
            sink(Piece::Text(&rest));
        }
        let alternatives = reply.alternatives.into_iter().map(|other| {
            let message = TextReader::new(&self.names).read(&other.content);
            let reasoning = joined([other.reasoning, message.reasoning]);
            let tool_calls = message.calls.into_iter().map(requested).collect();
            ChatReply { content: message.prose, reasoning, tool_calls, written: Some(other.content), ..other }
        });
        Ok(ChatReply {
            content: message.prose,
            reasoning: joined([reply.reasoning, message.reasoning]),
            tool_calls: message.calls.into_iter().map(requested).collect(),
            written: Some(reply.content),
            provider_items: reply.provider_items,
            usage: reply.usage,
            finish_reason: reply.finish_reason,
            model: reply.model,
            mean_log_probability: reply.mean_log_probability,
            alternatives: alternatives.collect(),
        })
    }

    fn provider(&self) -> &'static str {
        self.inner.provider()
    }

    fn most_cost(&self, tokens: u64) -> u64 {
        self.inner.most_cost(tokens)
    }
}

/// Returns thoughts as one text.
fn joined(thoughts: [String; 2]) -> String {
    thoughts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

pub(super) fn requested(call: TextCall) -> RequestedCall {
    let (arguments, problem) = match call.arguments {
        Ok(arguments) => (Value::Object(arguments).to_string(), None),
        Err(problem) => (call.raw, Some(problem)),
    };
    RequestedCall { id: String::new(), name: call.name, arguments, problem }
}

/// Returns a call as models are told to write it. The arguments may be no JSON.
pub(crate) fn written_call(name: &str, arguments: &str) -> String {
    format!(r#"<tool_call>{{"name": {}, "arguments": {arguments}}}</tool_call>"#, json!(name))
}

/// Returns a conversation as a model reads it that knows no other way than text: the results behind a message come as
/// one, each labelled.
fn as_text(messages: &[Message]) -> Vec<Message> {
    let mut texts = Vec::with_capacity(messages.len());
    let mut results = Vec::new();
    let mut notes = Vec::new();
    let mut rest = messages.iter().peekable();
    while let Some(message) = rest.next() {
        match message {
            Message::Tool { call_id, name, content, note, .. } => {
                results.push(render_tool_result(name, call_id, content));
                if !note.is_empty() {
                    notes.push(note.clone());
                }
                if !matches!(rest.peek(), Some(Message::Tool { .. })) {
                    results.append(&mut notes);
                    texts.push(Message::user(std::mem::take(&mut results).join("\n\n")));
                }
            }
            Message::Assistant { content, tool_calls, reasoning, written, provider_items } => {
                let whole = written.clone().unwrap_or_else(|| {
                    let calls = tool_calls.iter().map(|call| written_call(&call.name, &call.arguments));
                    let prose = Some(content.clone()).filter(|content| !content.is_empty());
                    prose.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
                });
                texts.push(Message::Assistant {
                    content: whole,
                    tool_calls: Vec::new(),
                    reasoning: reasoning.clone(),
                    written: None,
                    provider_items: provider_items.clone(),
                });
            }
            other => texts.push(other.clone()),
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_of_another_style_reads_as_if_it_had_been_written() {
        let call = |id: &str| RequestedCall {
            id: id.to_owned(),
            name: "ls".to_owned(),
            arguments: r#"{"path":"."}"#.to_owned(),
            problem: None,
        };
        let mut second = Message::tool("b", "ls", "two");
        let Message::Tool { note, .. } = &mut second else { unreachable!() };
        "[A note.]".clone_into(note);
        let conversation = [
            Message::user("Look."),
            Message::Assistant {
                content: "I look.".to_owned(),
                tool_calls: vec![call("a"), call("b")],
                reasoning: String::new(),
                written: None,
                provider_items: None,
            },
            Message::tool("a", "ls", "</tool_result> one"),
            second,
            Message::user("And now?"),
            Message::Assistant {
                content: String::new(),
                tool_calls: vec![call("c")],
                reasoning: String::new(),
                written: Some("ls(path='.')".to_owned()),
                provider_items: None,
            },
            Message::tool("c", "ls", "three"),
        ];
        let roles = as_text(&conversation).into_iter().map(|message| match message {
            Message::User { content } => format!("# user\n{content}"),
            Message::Assistant { content, .. } => format!("# assistant\n{content}"),
            other => format!("{other:?}"),
        });
        insta::assert_snapshot!(roles.collect::<Vec<_>>().join("\n"));
    }
}
