//! Requests of the Responses API.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use super::{CLIENT, CUSTOM_CALL, TOOL_SEARCH_CALL, read_item};
use crate::api::body::{BodyWriter, Elements};
use crate::api::conversation::{self, add_extra, items_of, picture_label, result_text};
use crate::api::{ToolOptions, WireFormat};
use crate::chat::{
    ChatRequest, DeferredTools, Picture, RequestOptions, RequestedCall, ResponseFormat, ToolChoice,
    ToolFunction,
};
use crate::{Error, Message, Provider};

/// The part of a reply that the server is asked for, since it keeps nothing itself: the reasoning, encrypted.
const REASONING: &str = "reasoning.encrypted_content";

/// The type of the tool that searches for others.
const TOOL_SEARCH: &str = "tool_search";

/// The status of an item that is complete.
const COMPLETED: &str = "completed";

/// The body of a request. What changes from turn to turn stands last.
#[derive(Serialize)]
struct ResponsesRequest<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(flatten)]
    options: JsonObject,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OfferedItem<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
}

/// The fields behind the conversation.
#[derive(Serialize)]
struct InputTail {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

/// A tool of the list.
#[derive(Serialize)]
#[serde(untagged)]
enum OfferedItem<'a> {
    Function(FunctionTool<'a>),
    /// A tool that takes a text.
    Custom {
        r#type: &'static str,
        name: &'a str,
        description: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        defer_loading: bool,
    },
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
    /// False for most: the server refuses other schemas.
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
        tools: Vec<OfferedItem<'a>>,
    },
    /// A call of a tool that takes a text.
    CustomCall {
        r#type: &'static str,
        call_id: &'a str,
        name: &'a str,
        input: String,
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

/// Returns the body of a request.
pub(in crate::api) fn body(
    request: &ChatRequest<'_>,
    options: &RequestOptions,
    stream: bool,
    tool_options: &ToolOptions,
) -> Result<Bytes, Error> {
    let mut body = BodyWriter::new(&ResponsesRequest::new(request, options, stream, tool_options), "input")?;
    let writer = ItemWriter { deferred: request.deferred, tool_options };
    body.conversation(request, WireFormat::Responses, Some(writer.fingerprint()), |messages, position| {
        let before = request.messages.get(..position).unwrap_or_default();
        Elements::settled(writer.items(before, messages), messages.len())
    })?;
    let search = request.deferred.map(|deferred| deferred.search);
    body.finish(&InputTail {
        tool_choice: tool_choice(request.tool_choice, search).filter(|_| !request.tools.is_empty()),
    })
}

impl<'a> ResponsesRequest<'a> {
    fn new(
        request: &ChatRequest<'a>,
        options: &RequestOptions,
        stream: bool,
        tool_options: &ToolOptions,
    ) -> Self {
        let search = request.deferred.map(|deferred| deferred.search);
        let tool = |tool: &'a ToolFunction| {
            if search != Some(tool.name.as_str()) {
                return offered(tool, tool_options);
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
            tools,
            instructions: request.system,
        }
    }
}

fn offered<'a>(tool: &'a ToolFunction, options: &ToolOptions) -> OfferedItem<'a> {
    let ToolFunction { name, description, parameters } = tool;
    let (strict, defer_loading) = (options.is_strict(parameters), false);
    match options.text_argument(name) {
        Some(_) => OfferedItem::Custom { r#type: "custom", name, description, defer_loading },
        None => OfferedItem::Function(FunctionTool {
            r#type: "function",
            name,
            description,
            parameters,
            strict,
            defer_loading,
        }),
    }
}

fn tool_choice(choice: &ToolChoice, search: Option<&str>) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        // It has no name there.
        ToolChoice::Tool(name) if search == Some(name) => Some(allowed(std::slice::from_ref(name), search)),
        ToolChoice::Tool(name) => Some(json!({"type": "function", "name": name})),
        ToolChoice::OneOf(names) => Some(allowed(names, search)),
    }
}

fn allowed(names: &[String], search: Option<&str>) -> Value {
    let tool = |name: &String| {
        if search == Some(name) {
            json!({ "type": TOOL_SEARCH })
        } else {
            json!({"type": "function", "name": name})
        }
    };
    let tools: Vec<_> = names.iter().map(tool).collect();
    json!({"type": "allowed_tools", "mode": "required", "tools": tools})
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

/// Writes the items of conversations.
#[derive(Clone, Copy)]
struct ItemWriter<'a, 'o> {
    deferred: Option<DeferredTools<'a>>,
    tool_options: &'o ToolOptions,
}

impl<'a> ItemWriter<'a, '_> {
    /// Returns a number that differs where messages are written in another way.
    fn fingerprint(self) -> usize {
        let mut hasher = DefaultHasher::new();
        self.deferred.map(|deferred| deferred.search).hash(&mut hasher);
        self.tool_options.text_arguments.hash(&mut hasher);
        hasher.finish().try_into().unwrap_or(usize::MAX)
    }

    /// Returns the items of messages behind others.
    fn items(self, before: &'a [Message], messages: &'a [Message]) -> Vec<InputItem<'a>> {
        let mut items = Vec::with_capacity(messages.len());
        // The calls whose results follow.
        let mut calls: &[RequestedCall] = before.iter().rev().find_map(calls_of).unwrap_or_default();
        for message in messages {
            match message {
                Message::User { content } => items.push(user(MessageContent::Text(content))),
                Message::Assistant { tool_calls, .. } => {
                    calls = tool_calls;
                    self.answer(message, &mut items);
                }
                Message::Tool { call_id, .. } => {
                    let name = calls.iter().find(|call| call.id == *call_id).map(|call| call.name.as_str());
                    self.result(message, name.unwrap_or_default(), &mut items);
                }
                Message::Pictures { pictures } => {
                    items.push(user(MessageContent::Parts(pictures.iter().flat_map(picture).collect())));
                }
            }
        }
        items
    }

    /// Adds the items of the result of a call with this name.
    fn result(self, message: &'a Message, name: &str, input: &mut Vec<InputItem<'a>>) {
        let Message::Tool { call_id, content, note, loads, .. } = message else { return };
        if !self.is_search(name) {
            let is_text = self.tool_options.text_argument(name).is_some();
            let r#type = if is_text { "custom_tool_call_output" } else { "function_call_output" };
            input.push(InputItem::Result { r#type, call_id, output: result_text(content, note) });
            return;
        }
        let loaded = self.deferred.into_iter().flat_map(|deferred| deferred.of(loads));
        let tools: Vec<_> = loaded.map(|tool| offered(tool, self.tool_options).deferred()).collect();
        // The result holds tools alone, so that what else there is to say follows it.
        let told = if tools.is_empty() { result_text(content, note) } else { note.as_str().into() };
        let (r#type, status) = ("tool_search_output", COMPLETED);
        input.push(InputItem::Loaded { r#type, execution: CLIENT, status, call_id, tools });
        if !told.is_empty() {
            input.push(user(MessageContent::Told(told)));
        }
    }

    /// Adds the items of a message of the model, as it sent them if only the API understands some of them.
    fn answer(self, message: &'a Message, input: &mut Vec<InputItem<'a>>) {
        let Message::Assistant { content, tool_calls, provider_items, .. } = message else { return };
        let provider = Provider::OpenAiResponses;
        let items = items_of(provider_items.as_ref(), provider, content, tool_calls.len(), read_item);
        let mut calls = tool_calls.iter().map(|requested| self.call(requested));
        let Some(items) = items else {
            if !content.is_empty() {
                // Some servers take no plain text here.
                let content = MessageContent::Parts(vec![InputContent::OutputText { text: content }]);
                input.push(InputItem::Message { r#type: "message", role: "assistant", content });
            }
            input.extend(calls);
            return;
        };
        let item = |item| {
            if read_item(item, &mut String::new()) { calls.next() } else { Some(InputItem::Kept(item)) }
        };
        input.extend(items.iter().filter_map(item));
    }

    fn call(self, call: &'a RequestedCall) -> InputItem<'a> {
        let RequestedCall { id, name, arguments, .. } = call;
        if self.is_search(name) {
            let (r#type, arguments) = (TOOL_SEARCH_CALL, conversation::arguments(call));
            return InputItem::Search {
                r#type,
                execution: CLIENT,
                status: COMPLETED,
                call_id: id,
                arguments,
            };
        }
        match self.tool_options.text_argument(name) {
            Some(argument) => {
                let arguments: JsonObject = serde_json::from_str(arguments).unwrap_or_default();
                let input = arguments.get(argument).and_then(Value::as_str).unwrap_or_default().to_owned();
                InputItem::CustomCall { r#type: CUSTOM_CALL, call_id: id, name, input }
            }
            None => InputItem::Call { r#type: "function_call", call_id: id, name, arguments },
        }
    }

    fn is_search(self, name: &str) -> bool {
        self.deferred.is_some_and(|deferred| deferred.search == name)
    }
}

impl OfferedItem<'_> {
    /// Returns the tool as a search loads it.
    fn deferred(mut self) -> Self {
        match &mut self {
            Self::Function(FunctionTool { defer_loading, .. }) | Self::Custom { defer_loading, .. } => {
                *defer_loading = true;
            }
            Self::Search { .. } => {}
        }
        self
    }
}

fn calls_of(message: &Message) -> Option<&[RequestedCall]> {
    match message {
        Message::Assistant { tool_calls, .. } => Some(tool_calls),
        _ => None,
    }
}

fn user(content: MessageContent<'_>) -> InputItem<'_> {
    InputItem::Message { r#type: "message", role: "user", content }
}

fn picture(picture: &Picture) -> [InputContent<'_>; 2] {
    let Picture { media_type, data, .. } = picture;
    let image_url = format!("data:{media_type};base64,{data}");
    [InputContent::InputText { text: picture_label(picture) }, InputContent::InputImage { image_url }]
}
