//! Recovery of calls that a model wrote as text although it was offered tools through the API.

use async_trait::async_trait;
use toolcrib_prompt::text_calls::{ParsedText, TextReader, ToolNames};

use super::model::{ChatReply, ChatRequest, TextSink};
use super::text::requested;
use crate::{ChatModel, Error, Message};

/// A model that calls tools through the API, with recovery of calls that it writes as text.
///
/// A reply without calls, whose text ends with marked calls such as `<tool_call>{…}</tool_call>` of tools that exist, becomes a
/// reply with those calls. Text that was streamed already is not taken back. A call without a mark, or one that text follows,
/// stays text: it may be an example.
#[derive(Debug)]
pub struct RecoveringModel<M> {
    inner: M,
    names: ToolNames,
}

impl<M> RecoveringModel<M> {
    /// Wraps a model, which may call tools of these names.
    pub fn new(inner: M, names: ToolNames) -> Self {
        Self { inner, names }
    }

    /// Returns true where all calls are readable, of tools that exist, and marked, and follow all prose.
    fn ends_with_calls(&self, content: &str, parsed: &ParsedText) -> bool {
        let marked = content.trim().strip_prefix(parsed.prose.trim());
        marked.is_some_and(|calls| calls.trim_start().starts_with('<'))
            && !parsed.calls.is_empty()
            && parsed.calls.iter().all(|call| call.arguments.is_ok() && self.names.knows(&call.name))
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for RecoveringModel<M> {
    async fn complete(&self, request: &ChatRequest<'_>, sink: &mut TextSink<'_>) -> Result<ChatReply, Error> {
        let mut reply = self.inner.complete(request, sink).await?;
        if !request.may_call() || !reply.tool_calls.is_empty() || !reply.content.contains('<') {
            return Ok(reply);
        }
        let parsed = TextReader::new(&self.names).read(&reply.content);
        if self.ends_with_calls(&reply.content, &parsed) && !repeats_result(&parsed, request.messages) {
            reply.content = parsed.prose;
            reply.tool_calls = parsed.calls.into_iter().map(requested).collect();
        }
        Ok(reply)
    }

    fn provider(&self) -> &'static str {
        self.inner.provider()
    }

    fn most_cost(&self, tokens: u64) -> u64 {
        self.inner.most_cost(tokens)
    }
}

/// Returns true where a tool returned one of the calls: data stays data when the model repeats it.
fn repeats_result(parsed: &ParsedText, messages: &[Message]) -> bool {
    parsed.calls.iter().any(|call| {
        let holds = |message: &Message| matches!(message, Message::Tool { content, .. } if content.contains(&call.raw));
        messages.iter().any(holds)
    })
}

#[cfg(test)]
mod tests {
    use toolcrib_prompt::system_prompt::CallStyle;

    use super::*;
    use crate::chat::ToolFunction;
    use crate::recorded::RecordedModel;

    async fn complete(text: &str, messages: &[Message], is_offered: bool) -> ChatReply {
        let file = serde_json::json!({"turns": [{"text": text}]}).to_string();
        let inner = RecordedModel::new("ls.yaml", file.as_bytes(), CallStyle::Native).unwrap();
        let model = RecoveringModel::new(inner, ToolNames::new(["ls"]));
        let offered = [ToolFunction {
            name: "ls".to_owned(),
            description: String::new(),
            parameters: serde_json::json!({"type": "object"}),
        }];
        let tools: &[ToolFunction] = if is_offered { &offered } else { &[] };
        let request = ChatRequest { tools, ..ChatRequest::new("recorded", messages) };
        model.complete(&request, &mut |_| ()).await.unwrap()
    }

    const CALL: &str = r#"<tool_call>{"name": "ls", "arguments": {"path": "."}}</tool_call>"#;

    #[tokio::test]
    async fn a_marked_call_at_the_end_of_the_text_is_recovered() {
        for text in [CALL.to_owned(), format!("I look.\n{CALL}"), format!("{CALL}\n{CALL}\n")] {
            let reply = complete(&text, &[], true).await;
            assert_eq!(reply.tool_calls[0].name, "ls", "{text}");
            assert_eq!(reply.tool_calls[0].arguments, r#"{"path":"."}"#, "{text}");
            assert!(!reply.content.contains("tool_call"), "{}", reply.content);
        }
    }

    #[tokio::test]
    async fn an_example_or_a_quotation_of_a_call_stays_text() {
        let bare = r#"{"name": "ls", "arguments": {}}"#;
        let unknown = r#"<tool_call>{"name": "rm", "arguments": {}}</tool_call>"#;
        for text in [format!("Write {CALL} to list files."), bare.to_owned(), unknown.to_owned()] {
            let reply = complete(&text, &[], true).await;
            assert_eq!((reply.tool_calls.len(), reply.content), (0, text));
        }
        let result = Message::tool("a", "read", CALL);
        assert_eq!(complete(CALL, &[result], true).await.tool_calls.len(), 0);
        assert_eq!(complete(CALL, &[], false).await.tool_calls.len(), 0);
    }
}
