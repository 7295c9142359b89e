//! Requests of the Messages API.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use super::read_block;
use crate::api::body::{BodyWriter, Elements};
use crate::api::conversation::{add_extra, arguments, items_of, picture_label, result_text};
use crate::api::vertex::is_vertex;
use crate::api::{Endpoint, ToolOptions, WireFormat};
use crate::chat::{
    ChatRequest, DeferredTools, Picture, RequestOptions, RequestedCall, ResponseFormat, ToolChoice,
    ToolFunction,
};
use crate::{Error, Message, Provider};

/// The most tokens of one message, where the options do not say: the API requires a number. All models since Claude
/// 3.7 may write as many.
pub(crate) const DEFAULT_MAX_TOKENS: u32 = 16_384;

/// The revision of the API on Vertex AI.
const VERTEX_VERSION: &str = "vertex-2023-10-16";

/// The body of a request. What changes from turn to turn stands last. The marks say up to where the server keeps what
/// it reads: the system prompt, with the tools before it, and the conversation.
#[derive(Serialize)]
struct MessagesRequest<'a> {
    /// The revision of the API, where no header has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_version: Option<&'static str>,
    /// Absent where the address has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    stream: bool,
    #[serde(flatten)]
    options: JsonObject,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolDefinition<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[ContentBlock<'a>; 1]>,
}

/// The fields behind the messages.
#[derive(Serialize)]
struct MessagesTail {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

/// The mark of a part up to which the server may keep what it has read.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

#[derive(Serialize)]
struct ToolDefinition<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a Value,
    /// True for a tool that the model sees when a result refers to it. What it sees before does not change, so that the
    /// server keeps that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    defer_loading: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    eager_input_streaming: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct InputMessage<'a> {
    /// The position of its first message.
    #[serde(skip)]
    first: usize,
    role: Role,
    content: Vec<ContentBlock<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentBlock<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: &'a RawValue,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// As the API sent it.
    #[serde(untagged)]
    Kept(&'a Value),
}

/// The content of a result. The API takes references alone.
#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(Cow<'a, str>),
    References(Vec<Reference<'a>>),
}

/// A deferred tool that a result loads.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Reference<'a> {
    ToolReference { tool_name: &'a str },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
}

impl ContentBlock<'_> {
    /// Marks the block as the last that the server may keep. Calls and blocks of the API are never the last.
    fn mark(&mut self) {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => *cache_control = Some(CacheControl::Ephemeral),
            Self::ToolUse { .. } | Self::Kept(_) => {}
        }
    }
}

/// Returns the body of a request.
pub(in crate::api) fn body(
    request: &ChatRequest<'_>,
    options: &RequestOptions,
    stream: bool,
    endpoint: &Endpoint,
) -> Result<Bytes, Error> {
    let head = MessagesRequest::new(request, options, stream, &endpoint.tool_options);
    let head = if is_vertex(&endpoint.base) { head.for_vertex() } else { head };
    let mut body = BodyWriter::new(&head, "messages")?;
    // Results that load tools are written as references only where tools are deferred.
    let anchor = request.deferred.map(|_| 0);
    body.conversation(request, WireFormat::Messages, anchor, |messages, _| {
        let mut turns = turns(messages, request.deferred);
        let settled = mark(&mut turns);
        // The next request takes back the mark behind these.
        let settled_messages = turns.get(settled).map_or(0, |turn| turn.first);
        Elements { all: turns, settled, settled_messages }
    })?;
    body.finish(&MessagesTail {
        tool_choice: tool_choice(request.tool_choice).filter(|_| !request.tools.is_empty()),
    })
}

impl<'a> MessagesRequest<'a> {
    fn new(
        request: &ChatRequest<'a>,
        options: &RequestOptions,
        stream: bool,
        tool_options: &ToolOptions,
    ) -> Self {
        let tool = |function| tool(function, tool_options);
        let mut tools: Vec<_> = request.tools.iter().map(tool).collect();
        let mut system = text_block(request.system).map(|block| [block]);
        match (&mut system, tools.last_mut()) {
            (Some([system]), _) => system.mark(),
            (None, Some(last)) => last.cache_control = Some(CacheControl::Ephemeral),
            (None, None) => {}
        }
        if let Some(deferred) = request.deferred {
            let loaded = deferred.loaded.iter().map(tool);
            tools.extend(loaded.map(|tool| ToolDefinition { defer_loading: true, ..tool }));
        }
        Self {
            anthropic_version: None,
            model: Some(request.model),
            stream,
            options: options_of(options),
            tools,
            system,
        }
    }

    /// Returns the request as Vertex AI takes it: the model stands in the address, and the revision here.
    fn for_vertex(self) -> Self {
        Self { anthropic_version: Some(VERTEX_VERSION), model: None, ..self }
    }
}

/// Marks the end of the conversation, and the end that the request before had: the server looks for what it keeps only a
/// few blocks before a mark. Returns the number of messages before the marks.
fn mark(messages: &mut [InputMessage<'_>]) -> usize {
    let answer = messages.iter().rposition(|message| message.role == Role::Assistant);
    let before = answer.and_then(|answer| answer.checked_sub(1));
    for position in [before, messages.len().checked_sub(1)].into_iter().flatten() {
        let block = messages.get_mut(position).and_then(|message| message.content.last_mut());
        if let Some(block) = block {
            block.mark();
        }
    }
    before.unwrap_or_default()
}

fn tool<'a>(tool: &'a ToolFunction, options: &ToolOptions) -> ToolDefinition<'a> {
    let ToolFunction { name, description, parameters } = tool;
    ToolDefinition {
        name,
        description,
        input_schema: parameters,
        defer_loading: false,
        strict: options.is_strict(parameters),
        eager_input_streaming: options.eager_streaming,
        cache_control: None,
    }
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!({"type": "none"})),
        // A list is refused before.
        ToolChoice::Required | ToolChoice::OneOf(_) => Some(json!({"type": "any"})),
        ToolChoice::Tool(name) => Some(json!({"type": "tool", "name": name})),
    }
}

fn options_of(options: &RequestOptions) -> JsonObject {
    let mut body = JsonObject::new();
    body.insert("max_tokens".into(), options.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS).into());
    if let Some(temperature) = options.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(top_p) = options.top_p {
        body.insert("top_p".into(), top_p.into());
    }
    if !options.stop.is_empty() {
        body.insert("stop_sequences".into(), json!(options.stop));
    }
    if let Some(ResponseFormat::JsonSchema { schema, .. }) = &options.response_format {
        body.insert("output_config".into(), json!({"format": {"type": "json_schema", "schema": schema}}));
    }
    add_extra(&mut body, options);
    body
}

/// Returns the conversation: what the user and the tools say between two answers is one message.
fn turns<'a>(messages: &'a [Message], deferred: Option<DeferredTools<'a>>) -> Vec<InputMessage<'a>> {
    let mut turns: Vec<InputMessage<'_>> = Vec::with_capacity(messages.len());
    // The notes on results of references, which stand behind all results.
    let mut notes = Vec::new();
    for (position, message) in messages.iter().enumerate() {
        let role = if matches!(message, Message::Assistant { .. }) { Role::Assistant } else { Role::User };
        if turns.last().is_none_or(|turn| turn.role != role) {
            turns.push(InputMessage { first: position, role, content: Vec::new() });
        }
        let Some(InputMessage { content: blocks, .. }) = turns.last_mut() else { continue };
        match message {
            Message::User { content } => blocks.extend(text_block(content)),
            Message::Assistant { .. } => answer(message, blocks),
            Message::Tool { call_id, content, note, loads, .. } => {
                let loaded = deferred.iter().flat_map(|deferred| deferred.of(loads));
                let references: Vec<_> =
                    loaded.map(|tool| Reference::ToolReference { tool_name: &tool.name }).collect();
                let content = if references.is_empty() {
                    ResultContent::Text(result_text(content, note))
                } else {
                    notes.extend(text_block(note));
                    ResultContent::References(references)
                };
                let tool_use_id = id_of(call_id);
                blocks.push(ContentBlock::ToolResult { tool_use_id, content, cache_control: None });
                if !matches!(messages.get(position + 1), Some(Message::Tool { .. })) {
                    blocks.append(&mut notes);
                }
            }
            Message::Pictures { pictures } => blocks.extend(pictures.iter().flat_map(picture)),
        }
    }
    turns.retain(|turn| !turn.content.is_empty());
    turns
}

/// Adds the blocks of a message of the model, as it sent them if only the API understands some of them.
fn answer<'a>(message: &'a Message, blocks: &mut Vec<ContentBlock<'a>>) {
    let Message::Assistant { content, tool_calls, provider_items, .. } = message else { return };
    let items = items_of(provider_items.as_ref(), Provider::Anthropic, content, tool_calls.len(), read_block);
    let mut calls = tool_calls.iter().map(tool_use);
    match items {
        Some(items) => {
            let block = |item| {
                let mut text = String::new();
                let is_blank = |text: &str| !text.is_empty() && text.trim().is_empty();
                if read_block(item, &mut text) {
                    calls.next()
                } else {
                    (!is_blank(&text)).then_some(ContentBlock::Kept(item))
                }
            };
            blocks.extend(items.iter().filter_map(block));
        }
        None => blocks.extend(text_block(content).into_iter().chain(calls)),
    }
}

/// Returns the block of a text. The API refuses a blank one.
fn text_block(text: &str) -> Option<ContentBlock<'_>> {
    (!text.trim().is_empty()).then_some(ContentBlock::Text { text: Cow::Borrowed(text), cache_control: None })
}

fn tool_use(call: &RequestedCall) -> ContentBlock<'_> {
    ContentBlock::ToolUse { id: id_of(&call.id), name: &call.name, input: arguments(call) }
}

/// Returns the id of a call with the characters that the API takes. Other servers give ids of any form.
fn id_of(id: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if id.chars().all(is_plain) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(id.chars().map(|c| if is_plain(c) { c } else { '_' }).collect())
}

fn picture(picture: &Picture) -> [ContentBlock<'_>; 2] {
    let Picture { media_type, data, .. } = picture;
    let label = ContentBlock::Text { text: Cow::Owned(picture_label(picture)), cache_control: None };
    [label, ContentBlock::Image { source: Source::Base64 { media_type, data }, cache_control: None }]
}
