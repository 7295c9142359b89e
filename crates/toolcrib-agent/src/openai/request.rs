//! The body of a request.

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::{SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::json;

use super::Endpoint;
use crate::Message;
use crate::chat::{ChatRequest, Picture, RequestedCall, ToolChoice, ToolFunction, WireOptions};

/// The body of a request. What changes from turn to turn stands last, so that each request of a run begins with the
/// bytes of the one before it, and servers find it in their prompt caches.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    options: WireOptions<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [ToolFunction],
    #[serde(serialize_with = "messages")]
    messages: ChatRequest<'a>,
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

impl<'a> Body<'a> {
    pub(super) fn new(request: &ChatRequest<'a>, endpoint: &'a Endpoint) -> Self {
        let Endpoint { stream, provider, parameters, .. } = endpoint;
        let options = match request.options {
            Some(options) => Cow::Owned(options.or(parameters)),
            None => Cow::Borrowed(parameters),
        };
        // The pieces of several replies would come in any order.
        let stream = *stream && options.n.is_none_or(|n| n == 1);
        let wants_usage = stream && provider.wants_stream_options();
        Self {
            model: request.model,
            stream,
            stream_options: wants_usage.then_some(StreamOptions { include_usage: true }),
            options: WireOptions { options, max_tokens_key: endpoint.max_tokens_key },
            tools: request.tools,
            messages: *request,
            tool_choice: if request.tools.is_empty() { &ToolChoice::Auto } else { request.tool_choice },
        }
    }
}

impl Body<'_> {
    /// Returns true if the reply is asked for in pieces.
    pub(super) fn is_streamed(&self) -> bool {
        self.stream
    }

    /// Returns the number of replies.
    pub(super) fn replies(&self) -> u32 {
        self.options.options.n.unwrap_or(1)
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
    }
}

fn messages<S: Serializer>(request: &ChatRequest<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(None)?;
    if !request.system.is_empty() {
        list.serialize_element(&SystemMessage { role: "system", content: request.system })?;
    }
    for message in request.messages {
        list.serialize_element(&Wire(message))?;
    }
    list.end()
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
                if note.is_empty() {
                    map.serialize_entry("content", content)?;
                } else {
                    map.serialize_entry("content", &format_args!("{content}\n\n{note}"))?;
                }
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
    let Picture { call_id, media_type, data } = picture;
    [
        json!({"type": "text", "text": format!("[A picture of the result of call {call_id}:]")}),
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
