//! Requests of the Chat Completions API.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::json;

use crate::api::body::{BodyWriter, Elements};
use crate::api::conversation::{picture_label, result_text};
use crate::api::{Endpoint, WireFormat};
use crate::chat::{
    ChatRequest, Picture, RequestOptions, RequestedCall, ToolChoice, ToolFunction, WireOptions,
};
use crate::{Error, Message, Provider};

/// The body of a request. What changes from turn to turn stands last, so that each request of a run begins with the
/// bytes of the one before it, and servers find it in their prompt caches.
#[derive(Serialize)]
struct CompletionRequest<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    options: WireOptions<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [ToolFunction],
}

/// The fields behind the messages.
#[derive(Serialize)]
struct CompletionTail<'a> {
    #[serde(skip_serializing_if = "is_auto", serialize_with = "tool_choice")]
    tool_choice: &'a ToolChoice,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct SystemMessage<'a> {
    role: &'static str,
    content: &'a str,
}

/// Returns the body of a request.
pub(in crate::api) fn body(
    request: &ChatRequest<'_>,
    options: &RequestOptions,
    stream: bool,
    endpoint: &Endpoint,
) -> Result<Bytes, Error> {
    let mut body = BodyWriter::new(&CompletionRequest::new(request, options, stream, endpoint), "messages")?;
    if !request.system.is_empty() {
        body.element(&SystemMessage { role: "system", content: request.system })?;
    }
    body.conversation(request, WireFormat::ChatCompletions, None, |messages, _| {
        Elements::settled(messages.iter().map(Wire).collect(), messages.len())
    })?;
    body.finish(&CompletionTail {
        tool_choice: if request.tools.is_empty() { &ToolChoice::Auto } else { request.tool_choice },
    })
}

impl<'a> CompletionRequest<'a> {
    fn new(
        request: &ChatRequest<'a>,
        options: &'a RequestOptions,
        stream: bool,
        endpoint: &Endpoint,
    ) -> Self {
        let wants_usage = stream && endpoint.provider.wants_stream_options();
        // Newer models of OpenAI take no other key, which servers that are only like theirs do not know.
        let is_openai = endpoint.provider == Provider::OpenAi && endpoint.is_own_server;
        let max_tokens_key = if is_openai { "max_completion_tokens" } else { "max_tokens" };
        Self {
            model: request.model,
            stream,
            stream_options: wants_usage.then_some(StreamOptions { include_usage: true }),
            options: WireOptions { options: Cow::Borrowed(options), max_tokens_key },
            tools: request.tools,
        }
    }
}

/// Returns true for the tool choice that servers default to.
fn is_auto(choice: &ToolChoice) -> bool {
    *choice == ToolChoice::Auto
}

fn tool_choice<S: Serializer>(choice: &ToolChoice, serializer: S) -> Result<S::Ok, S::Error> {
    match choice {
        ToolChoice::Auto => serializer.serialize_str("auto"),
        ToolChoice::None => serializer.serialize_str("none"),
        ToolChoice::Required => serializer.serialize_str("required"),
        ToolChoice::Tool(name) => {
            json!({"type": "function", "function": {"name": name}}).serialize(serializer)
        }
        ToolChoice::OneOf(names) => {
            let tool = |name: &String| json!({"type": "function", "function": {"name": name}});
            let tools: Vec<_> = names.iter().map(tool).collect();
            json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": tools}})
                .serialize(serializer)
        }
    }
}

/// A message in the form of the Chat Completions API.
struct Wire<'a>(&'a Message);

impl Serialize for Wire<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            Message::User { content } => {
                map.serialize_entry("role", "user")?;
                map.serialize_entry("content", content)?;
            }
            Message::Assistant { content, tool_calls, reasoning, .. } => {
                map.serialize_entry("role", "assistant")?;
                if !reasoning.is_empty() {
                    map.serialize_entry("reasoning_content", reasoning)?;
                }
                if tool_calls.is_empty() {
                    map.serialize_entry("content", content)?;
                } else {
                    // As the API itself writes a message that consists of calls.
                    map.serialize_entry("content", &Some(content).filter(|content| !content.is_empty()))?;
                    let calls: Vec<_> = tool_calls.iter().map(WireCall::of).collect();
                    map.serialize_entry("tool_calls", &calls)?;
                }
            }
            Message::Tool { call_id, content, note, .. } => {
                map.serialize_entry("role", "tool")?;
                map.serialize_entry("tool_call_id", call_id)?;
                map.serialize_entry("content", &result_text(content, note))?;
            }
            // Results take text only; what is seen stands behind them.
            Message::Pictures { pictures } => {
                map.serialize_entry("role", "user")?;
                map.serialize_entry("content", &pictures.iter().flat_map(parts).collect::<Vec<_>>())?;
            }
        }
        map.end()
    }
}

fn parts(picture: &Picture) -> [serde_json::Value; 2] {
    let Picture { media_type, data, .. } = picture;
    [
        json!({"type": "text", "text": picture_label(picture)}),
        json!({"type": "image_url", "image_url": {"url": format!("data:{media_type};base64,{data}")}}),
    ]
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> WireCall<'a> {
    fn of(call: &'a RequestedCall) -> Self {
        let RequestedCall { id, name, arguments, .. } = call;
        Self { id, r#type: "function", function: WireFunction { name, arguments } }
    }
}
