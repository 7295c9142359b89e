//! The body of a request.

use serde::Serialize;
use serde::ser::{SerializeSeq as _, Serializer};
use serde_json::json;

use crate::{ChatRequest, ToolChoice, ToolFunction};

/// The body of a request. What changes from turn to turn stands last, so that each request of a run begins with the
/// bytes of the one before it, and servers find it in their prompt caches.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
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
    pub(super) fn new(request: &ChatRequest<'a>, stream: bool, wants_stream_options: bool) -> Self {
        Self {
            model: request.model,
            stream,
            stream_options: (stream && wants_stream_options).then_some(StreamOptions { include_usage: true }),
            tools: request.tools,
            messages: *request,
            tool_choice: if request.tools.is_empty() { &ToolChoice::Auto } else { request.tool_choice },
        }
    }
}

/// Which a server takes where nothing is said.
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
        list.serialize_element(message)?;
    }
    list.end()
}
