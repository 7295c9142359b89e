//! Requests of the Responses API.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use super::read_item;
use crate::api::WireFormat;
use crate::api::body::{BodyWriter, Elements};
use crate::api::conversation::{add_extra, items_of, picture_label, result_text};
use crate::chat::{
    ChatRequest, Picture, RequestOptions, RequestedCall, ResponseFormat, ToolChoice, ToolFunction,
};
use crate::{Error, Message, Provider};

/// The part of a reply that the server is asked for, since it keeps nothing itself: the reasoning, encrypted.
const REASONING: &str = "reasoning.encrypted_content";

/// The body of a request. What changes from turn to turn stands last.
#[derive(Serialize)]
struct ResponsesRequest<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(flatten)]
    options: JsonObject,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
}

/// The fields behind the conversation.
#[derive(Serialize)]
struct InputTail {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

#[derive(Serialize)]
struct FunctionTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// Always false: the server would refuse most schemas otherwise.
    strict: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum InputItem<'a> {
    Message {
        r#type: &'static str,
        role: &'static str,
        content: MessageContent<'a>,
    },
    Call {
        r#type: &'static str,
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    Result {
        r#type: &'static str,
        call_id: &'a str,
        output: Cow<'a, str>,
    },
    /// As the API sent it.
    Kept(&'a Value),
}

#[derive(Serialize)]
#[serde(untagged)]
enum MessageContent<'a> {
    Text(&'a str),
    Parts(Vec<InputContent<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputContent<'a> {
    InputText {
        text: String,
    },
    InputImage {
        image_url: String,
    },
    /// Text of the model.
    OutputText {
        text: &'a str,
    },
}

/// Returns the body of a request.
pub(in crate::api) fn body(
    request: &ChatRequest<'_>,
    options: &RequestOptions,
    stream: bool,
) -> Result<Bytes, Error> {
    let mut body = BodyWriter::new(&ResponsesRequest::new(request, options, stream), "input")?;
    body.conversation(request, WireFormat::Responses, None, |messages, _| {
        Elements::settled(items_in(messages), messages.len())
    })?;
    body.finish(&InputTail {
        tool_choice: tool_choice(request.tool_choice).filter(|_| !request.tools.is_empty()),
    })
}

impl<'a> ResponsesRequest<'a> {
    fn new(request: &ChatRequest<'a>, options: &RequestOptions, stream: bool) -> Self {
        let tool = |tool: &'a ToolFunction| {
            let ToolFunction { name, description, parameters } = tool;
            FunctionTool { r#type: "function", name, description, parameters, strict: false }
        };
        let tools: Vec<_> = request.tools.iter().map(tool).collect();
        Self {
            model: request.model,
            stream,
            store: false,
            options: options_of(options),
            tools,
            instructions: request.system,
        }
    }
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Tool(name) => Some(json!({"type": "function", "name": name})),
    }
}

fn options_of(options: &RequestOptions) -> JsonObject {
    let mut body = JsonObject::new();
    // Models that do not reason refuse it, so that `extra` may set another one.
    if !options.extra.contains_key("include") {
        body.insert("include".into(), json!([REASONING]));
    }
    if let Some(temperature) = options.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(top_p) = options.top_p {
        body.insert("top_p".into(), top_p.into());
    }
    if let Some(max_tokens) = options.max_tokens {
        body.insert("max_output_tokens".into(), max_tokens.into());
    }
    let format = options.response_format.as_ref().map(|format| match format {
        ResponseFormat::Text => json!({"type": "text"}),
        ResponseFormat::JsonObject => json!({"type": "json_object"}),
        ResponseFormat::JsonSchema { name, schema, strict } => {
            json!({"type": "json_schema", "name": name, "schema": schema, "strict": strict.unwrap_or(false)})
        }
    });
    if let Some(format) = format {
        body.insert("text".into(), json!({ "format": format }));
    }
    add_extra(&mut body, options);
    body
}

/// Returns the items of a conversation.
fn items_in(messages: &[Message]) -> Vec<InputItem<'_>> {
    let mut items = Vec::with_capacity(messages.len());
    for message in messages {
        match message {
            Message::User { content } => items.push(user(MessageContent::Text(content))),
            Message::Assistant { .. } => answer(message, &mut items),
            Message::Tool { call_id, content, note, .. } => {
                let output = result_text(content, note);
                items.push(InputItem::Result { r#type: "function_call_output", call_id, output });
            }
            Message::Pictures { pictures } => {
                items.push(user(MessageContent::Parts(pictures.iter().flat_map(picture).collect())));
            }
        }
    }
    items
}

/// Adds the items of a message of the model, as it sent them if only the API understands some of them.
fn answer<'a>(message: &'a Message, input: &mut Vec<InputItem<'a>>) {
    let Message::Assistant { content, tool_calls, provider_items, .. } = message else { return };
    let items =
        items_of(provider_items.as_ref(), Provider::OpenAiResponses, content, tool_calls.len(), read_item);
    let mut calls = tool_calls.iter().map(call);
    let Some(items) = items else {
        if !content.is_empty() {
            // Some servers take no plain text here.
            let content = MessageContent::Parts(vec![InputContent::OutputText { text: content }]);
            input.push(InputItem::Message { r#type: "message", role: "assistant", content });
        }
        input.extend(calls);
        return;
    };
    let item =
        |item| if read_item(item, &mut String::new()) { calls.next() } else { Some(InputItem::Kept(item)) };
    input.extend(items.iter().filter_map(item));
}

fn user(content: MessageContent<'_>) -> InputItem<'_> {
    InputItem::Message { r#type: "message", role: "user", content }
}

fn call(call: &RequestedCall) -> InputItem<'_> {
    let RequestedCall { id, name, arguments, .. } = call;
    InputItem::Call { r#type: "function_call", call_id: id, name, arguments }
}

fn picture(picture: &Picture) -> [InputContent<'_>; 2] {
    let Picture { media_type, data, .. } = picture;
    let image_url = format!("data:{media_type};base64,{data}");
    [InputContent::InputText { text: picture_label(picture) }, InputContent::InputImage { image_url }]
}
