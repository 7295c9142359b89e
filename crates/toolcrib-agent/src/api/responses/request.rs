//! Requests of the Responses API.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use super::{CLIENT, TOOL_SEARCH_CALL, read_item};
use crate::api::conversation::{add_extra, arguments, items_of, picture_label, result_text};
use crate::chat::{
    ChatRequest, DeferredTools, Picture, RequestOptions, RequestedCall, ResponseFormat, ToolChoice,
    ToolFunction,
};
use crate::{Message, Provider};

/// The part of a reply that the server is asked for, since it keeps nothing itself: the reasoning, encrypted.
const REASONING: &str = "reasoning.encrypted_content";

/// The type of the tool that searches for others.
const TOOL_SEARCH: &str = "tool_search";

/// The status of an item that is complete.
const COMPLETED: &str = "completed";

/// The body of a request. What changes from turn to turn stands last.
#[derive(Serialize)]
pub(in crate::api) struct ResponsesRequest<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(flatten)]
    options: JsonObject,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OfferedItem<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<InputItem<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

/// A tool of the list.
#[derive(Serialize)]
#[serde(untagged)]
enum OfferedItem<'a> {
    Function(FunctionTool<'a>),
    /// The tool that searches, which the client runs.
    Search {
        r#type: &'static str,
        execution: &'static str,
        description: &'a str,
        parameters: &'a Value,
    },
}

#[derive(Serialize)]
struct FunctionTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// Always false: the server would refuse most schemas otherwise.
    strict: bool,
    /// True for a tool that a search loaded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    defer_loading: bool,
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
    /// A call of the tool that searches.
    Search {
        r#type: &'static str,
        execution: &'static str,
        status: &'static str,
        call_id: &'a str,
        arguments: &'a RawValue,
    },
    /// The tools that a search loads.
    Loaded {
        r#type: &'static str,
        execution: &'static str,
        status: &'static str,
        call_id: &'a str,
        tools: Vec<FunctionTool<'a>>,
    },
    /// As the API sent it.
    Kept(&'a Value),
}

#[derive(Serialize)]
#[serde(untagged)]
enum MessageContent<'a> {
    Text(&'a str),
    Told(Cow<'a, str>),
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

impl<'a> ResponsesRequest<'a> {
    pub(in crate::api) fn new(request: &ChatRequest<'a>, options: &RequestOptions, stream: bool) -> Self {
        let search = request.deferred.map(|deferred| deferred.search);
        let tool = |tool: &'a ToolFunction| {
            if search != Some(tool.name.as_str()) {
                return OfferedItem::Function(function(tool));
            }
            let ToolFunction { description, parameters, .. } = tool;
            OfferedItem::Search { r#type: TOOL_SEARCH, execution: CLIENT, description, parameters }
        };
        let tools: Vec<_> = request.tools.iter().map(tool).collect();
        Self {
            model: request.model,
            stream,
            store: false,
            options: options_of(options),
            tool_choice: tool_choice(request.tool_choice, search).filter(|_| !tools.is_empty()),
            tools,
            instructions: request.system,
            input: items_in(request.messages, request.deferred),
        }
    }
}

fn function(tool: &ToolFunction) -> FunctionTool<'_> {
    let ToolFunction { name, description, parameters } = tool;
    FunctionTool { r#type: "function", name, description, parameters, strict: false, defer_loading: false }
}

fn tool_choice(choice: &ToolChoice, search: Option<&str>) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        // It has no name there.
        ToolChoice::Tool(name) if search == Some(name) => {
            Some(json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": TOOL_SEARCH}]}))
        }
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
fn items_in<'a>(messages: &'a [Message], deferred: Option<DeferredTools<'a>>) -> Vec<InputItem<'a>> {
    let mut items = Vec::with_capacity(messages.len());
    // The calls of the tool that searches whose results follow.
    let mut searches = Vec::new();
    for message in messages {
        match message {
            Message::User { content } => items.push(user(MessageContent::Text(content))),
            Message::Assistant { tool_calls, .. } => {
                let is_search =
                    |call: &&RequestedCall| deferred.is_some_and(|deferred| deferred.search == call.name);
                searches = tool_calls.iter().filter(is_search).map(|call| call.id.as_str()).collect();
                answer(message, deferred.map(|deferred| deferred.search), &mut items);
            }
            Message::Tool { call_id, content, note, loads, .. } if searches.contains(&call_id.as_str()) => {
                let tools = deferred.iter().flat_map(|deferred| deferred.of(loads)).map(loaded);
                let tools: Vec<_> = tools.collect();
                // The result holds tools alone, so that what else there is to say follows it.
                let told = if tools.is_empty() { result_text(content, note) } else { note.as_str().into() };
                items.push(InputItem::Loaded {
                    r#type: "tool_search_output",
                    execution: CLIENT,
                    status: COMPLETED,
                    call_id,
                    tools,
                });
                if !told.is_empty() {
                    items.push(user(MessageContent::Told(told)));
                }
            }
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
fn answer<'a>(message: &'a Message, search: Option<&str>, input: &mut Vec<InputItem<'a>>) {
    let Message::Assistant { content, tool_calls, provider_items, .. } = message else { return };
    let items =
        items_of(provider_items.as_ref(), Provider::OpenAiResponses, content, tool_calls.len(), read_item);
    let mut calls = tool_calls.iter().map(|requested| call(requested, search));
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

fn loaded(tool: &ToolFunction) -> FunctionTool<'_> {
    FunctionTool { defer_loading: true, ..function(tool) }
}

fn call<'a>(call: &'a RequestedCall, search: Option<&str>) -> InputItem<'a> {
    if search == Some(call.name.as_str()) {
        return InputItem::Search {
            r#type: TOOL_SEARCH_CALL,
            execution: CLIENT,
            status: COMPLETED,
            call_id: &call.id,
            arguments: arguments(call),
        };
    }
    let RequestedCall { id, name, arguments, .. } = call;
    InputItem::Call { r#type: "function_call", call_id: id, name, arguments }
}

fn picture(picture: &Picture) -> [InputContent<'_>; 2] {
    let Picture { media_type, data, .. } = picture;
    let image_url = format!("data:{media_type};base64,{data}");
    [InputContent::InputText { text: picture_label(picture) }, InputContent::InputImage { image_url }]
}
