//! The loop, with models that say what they are told to.

mod budget;
mod calls;
mod compaction;
mod conversations;
mod drops;
mod endings;
mod limits;
mod machine;
mod native;
mod notifications;
mod outputs;
mod repair;
mod resume;
mod styles;

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;
use toolcrib_model::{ErrorKind, QualifiedName, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, ToolCaller};
use toolcrib_prompt::system_prompt::CallStyle;
use toolcrib_prompt::text_calls::ToolNames;
use toolcrib_prompt::{InjectionSettings, Plan, WireNames};

use super::{Agent, AgentSettings, Conversation, RunLimits, RunReport};
use crate::chat::{ChatReply, ChatRequest, Piece, RequestedCall, TextModel, TextSink};
use crate::{ChatModel, Error, Message};

/// Knows `notes::search`, which finds, and answers everything else as an executor does that has no such tool.
#[derive(Default)]
pub(super) struct Caller {
    pub(super) seen: Mutex<Vec<ToolCall>>,
}

#[async_trait]
impl ToolCaller for Caller {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        assert_eq!(context.agent.as_deref(), Some("assistant"));
        assert!(context.deadline.is_some());
        self.seen.lock().push(call.clone());
        match call.name.as_str() {
            "notes::search" | "notes.search" => {
                ToolResult::ok(call.call_id, "notes::search", json!({"found": call.arguments.get("query")}))
            }
            name => {
                let error = ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"));
                ToolResult::failed(call.call_id, call.name, error.with_hint("search"))
            }
        }
    }
}

/// A tool that never comes back.
pub(super) struct Stuck;

#[async_trait]
impl ToolCaller for Stuck {
    async fn call(&self, _call: ToolCall, _context: &CallContext) -> ToolResult {
        std::future::pending().await
    }
}

/// Says whatever the function makes of the number of the request and the messages.
pub(super) struct Scripted<F>(F, Mutex<usize>);

#[async_trait]
impl<F: Fn(usize, &ChatRequest<'_>) -> ChatReply + Send + Sync> ChatModel for Scripted<F> {
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        let number = {
            let mut number = self.1.lock();
            *number += 1;
            *number
        };
        let reply = (self.0)(number, request);
        on_text(Piece::Text(&reply.content));
        Ok(reply)
    }
}

pub(super) fn scripted<F: Fn(usize, &ChatRequest<'_>) -> ChatReply + Send + Sync>(script: F) -> Scripted<F> {
    Scripted(script, Mutex::new(0))
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> RequestedCall {
    RequestedCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        ..RequestedCall::default()
    }
}

pub(super) fn calls(tool_calls: Vec<RequestedCall>) -> ChatReply {
    ChatReply { tool_calls, ..ChatReply::default() }
}

pub(super) fn says(content: &str) -> ChatReply {
    ChatReply { content: content.to_owned(), ..ChatReply::default() }
}

pub(super) fn agent() -> Agent {
    let tools = [Tool::new(QualifiedName::new("notes", "search").unwrap())
        .with_parameters(json!({"type": "object", "properties": {"query": {"type": "string"}}}))];
    let names = WireNames::new(&tools, "context_builder", &[]);
    let plan = Plan::new(&tools, &InjectionSettings::default(), &names).unwrap();
    let settings = AgentSettings::new("assistant", "a-model", &plan, names);
    Agent::new(settings.with_system_prompt("You are an assistant."))
}

pub(super) fn limited(limits: RunLimits) -> Agent {
    let settings = agent().settings().clone();
    Agent::new(settings.with_limits(limits))
}

pub(super) async fn run(agent: &Agent, model: &dyn ChatModel) -> (RunReport, Conversation, Vec<ToolCall>) {
    let (caller, mut conversation) = (Caller::default(), Conversation::new());
    let context = CallContext::new("session");
    let report = agent.run("Find paint.", &mut conversation, model, &caller, &context, &mut ()).await;
    (report, conversation, caller.seen.into_inner())
}

pub(super) fn results(conversation: &Conversation) -> Vec<(&str, &str)> {
    let results = conversation.messages().iter().filter_map(|message| match message {
        Message::Tool { call_id, content, .. } => Some((call_id.as_str(), content.as_str())),
        _ => None,
    });
    results.collect()
}

pub(super) const PAINT: &str = r#"
turns:
  - text: I search.
    calls:
      - {name: notes__search, arguments: {query: cobalt}}
      - {name: notes.search, arguments: '{"query": "umb'}
  - expect: ['"found":"cobalt"', malformed_call]
    calls:
      - {name: notes.search, arguments: {query: umber}}
  - expect: ['"found":"umber"']
    text: Two paints.
"#;

/// The model as an agent has it whose model calls in this style.
pub(super) fn styled(style: CallStyle, model: impl ChatModel + 'static) -> Arc<dyn ChatModel> {
    match style {
        CallStyle::Native => Arc::new(model),
        CallStyle::Text => {
            let names = ToolNames::from(&agent().settings().wire_names);
            Arc::new(TextModel::new(model, names))
        }
    }
}

/// What a model is sent.
pub(super) fn sent(request: &ChatRequest<'_>) -> String {
    json!({"tools": request.tools, "system": request.system, "messages": request.messages}).to_string()
}
