//! Requests of `generateContent`.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use super::{SIGNATURE, read_part};
use crate::api::WireFormat;
use crate::api::body::{BodyWriter, Elements};
use crate::api::conversation::{add_extra, arguments, items_of, picture_label, result_text};
use crate::chat::{
    ChatRequest, Picture, RequestOptions, RequestedCall, ResponseFormat, ToolChoice, ToolFunction,
};
use crate::{Error, Message, Provider};

/// The signature of a call that another model made. Newer models refuse a call of the current turn without one, and take
/// this text for it.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The roles of turns.
const USER: &str = "user";
const MODEL: &str = "model";

/// The body of a request. What changes from turn to turn stands last.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerateContentRequest<'a> {
    #[serde(flatten)]
    options: JsonObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction<'a>>,
}

/// The fields behind the conversation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContentsTail {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    /// Absent for a function without parameters: the API refuses an object without properties.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a Value>,
}

#[derive(Serialize)]
struct Instruction<'a> {
    parts: [ContentPart<'a>; 1],
}

#[derive(Serialize)]
struct Content<'a> {
    /// The position of its first message.
    #[serde(skip)]
    first: usize,
    role: &'static str,
    parts: Vec<ContentPart<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ContentPart<'a> {
    Text {
        text: Cow<'a, str>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: Call<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Result {
        function_response: FunctionResponse<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Picture {
        inline_data: Data<'a>,
    },
    /// As the API sent it.
    Kept(&'a Value),
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    name: &'a str,
    args: &'a RawValue,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    id: &'a str,
    name: &'a str,
    response: FunctionOutput<'a>,
}

#[derive(Serialize)]
struct FunctionOutput<'a> {
    output: Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    mime_type: &'a str,
    data: &'a str,
}

/// Returns the body of a request.
pub(in crate::api) fn body(request: &ChatRequest<'_>, options: &RequestOptions) -> Result<Bytes, Error> {
    let mut body = BodyWriter::new(&GenerateContentRequest::new(request, options), "contents")?;
    // Signatures are checked of the calls behind the last message of the user.
    let prompt = request.messages.iter().rposition(|message| matches!(message, Message::User { .. }));
    body.conversation(request, WireFormat::GenerateContent, prompt, |messages, start| {
        let current = prompt.map_or(0, |prompt| (prompt + 1).saturating_sub(start));
        let turns = turns(messages, current);
        // Results that follow join those before them, up to the next message of the model.
        let settled = turns.iter().rposition(|turn| turn.role == MODEL).unwrap_or_default();
        let settled_messages = turns.get(settled).map_or(0, |turn| turn.first);
        Elements { all: turns, settled, settled_messages }
    })?;
    body.finish(&ContentsTail {
        tool_config: tool_config(request.tool_choice).filter(|_| !request.tools.is_empty()),
    })
}

impl<'a> GenerateContentRequest<'a> {
    fn new(request: &ChatRequest<'a>, options: &RequestOptions) -> Self {
        let declarations: Vec<_> = request.tools.iter().map(declaration).collect();
        let has_tools = !declarations.is_empty();
        let system = Cow::Borrowed(request.system);
        Self {
            options: options_of(options),
            tools: has_tools.then_some([Tools { function_declarations: declarations }]),
            system_instruction: (!system.is_empty())
                .then_some(Instruction { parts: [ContentPart::Text { text: system }] }),
        }
    }
}

fn declaration(tool: &ToolFunction) -> Declaration<'_> {
    let ToolFunction { name, description, parameters } = tool;
    let properties = parameters.get("properties").and_then(Value::as_object);
    let parameters = properties.filter(|properties| !properties.is_empty()).map(|_| parameters);
    Declaration { name, description, parameters }
}

fn tool_config(choice: &ToolChoice) -> Option<Value> {
    let config = match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Tool(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
        ToolChoice::OneOf(names) => json!({"mode": "ANY", "allowedFunctionNames": names}),
    };
    Some(json!({ "functionCallingConfig": config }))
}

fn options_of(options: &RequestOptions) -> JsonObject {
    let mut config = JsonObject::new();
    if let Some(temperature) = options.temperature {
        config.insert("temperature".into(), temperature.into());
    }
    if let Some(top_p) = options.top_p {
        config.insert("topP".into(), top_p.into());
    }
    if let Some(max_tokens) = options.max_tokens {
        config.insert("maxOutputTokens".into(), max_tokens.into());
    }
    if !options.stop.is_empty() {
        config.insert("stopSequences".into(), json!(options.stop));
    }
    if let Some(seed) = options.seed {
        config.insert("seed".into(), seed.into());
    }
    match &options.response_format {
        None | Some(ResponseFormat::Text) => {}
        Some(ResponseFormat::JsonObject) => {
            config.insert("responseMimeType".into(), "application/json".into());
        }
        Some(ResponseFormat::JsonSchema { schema, .. }) => {
            config.insert("responseMimeType".into(), "application/json".into());
            config.insert("responseJsonSchema".into(), Value::Object(schema.clone()));
        }
    }
    let mut body = JsonObject::new();
    if !config.is_empty() {
        body.insert("generationConfig".into(), config.into());
    }
    add_extra(&mut body, options);
    body
}

/// Returns the conversation. All results of a message are in one turn, as the API wants it. The calls of the message at
/// `current`, and of those behind it, need signatures.
fn turns(messages: &[Message], current: usize) -> Vec<Content<'_>> {
    let mut turns: Vec<Content<'_>> = Vec::with_capacity(messages.len());
    let (mut is_after_result, mut calls): (_, &[RequestedCall]) = (false, &[]);
    for (first, message) in messages.iter().enumerate() {
        let was_after_result =
            std::mem::replace(&mut is_after_result, matches!(message, Message::Tool { .. }));
        match message {
            Message::User { content } => {
                turns.push(Content { first, role: USER, parts: vec![text_part(content)] });
            }
            Message::Assistant { tool_calls, .. } => {
                calls = tool_calls;
                turns.push(Content { first, role: MODEL, parts: answer(message, first >= current) });
            }
            Message::Tool { call_id, name, content, note, .. } => {
                let response = FunctionOutput { output: result_text(content, note) };
                // The result has the name that the call has there.
                let call = calls.iter().find(|call| call.id == *call_id);
                let name = call.map_or(name, |call| &call.name);
                let part = ContentPart::Result {
                    function_response: FunctionResponse { id: call_id, name, response },
                };
                match turns.last_mut().filter(|_| was_after_result) {
                    Some(turn) => turn.parts.push(part),
                    None => turns.push(Content { first, role: USER, parts: vec![part] }),
                }
            }
            Message::Pictures { pictures } => {
                let parts = pictures.iter().flat_map(picture).collect();
                turns.push(Content { first, role: USER, parts });
            }
        }
    }
    turns.retain(|turn| !turn.parts.is_empty());
    turns
}

/// Returns the parts of a message of the model, as it sent them if some are signed.
fn answer(message: &Message, is_current: bool) -> Vec<ContentPart<'_>> {
    let Message::Assistant { content, tool_calls, provider_items, .. } = message else { return Vec::new() };
    let items = items_of(provider_items.as_ref(), Provider::Gemini, content, tool_calls.len(), read_part);
    let mut calls = tool_calls.iter();
    let Some(items) = items else {
        let text = Some(text_part(content)).filter(|_| !content.is_empty());
        let signed = |(number, call)| call_part(call, (is_current && number == 0).then_some(NO_SIGNATURE));
        return text.into_iter().chain(calls.enumerate().map(signed)).collect();
    };
    let part = |item| {
        if read_part(item, &mut String::new()) {
            calls.next().map(|call| call_part(call, item.get(SIGNATURE).and_then(Value::as_str)))
        } else {
            Some(ContentPart::Kept(item))
        }
    };
    items.iter().filter_map(part).collect()
}

fn text_part(text: &str) -> ContentPart<'_> {
    ContentPart::Text { text: Cow::Borrowed(text) }
}

fn call_part<'a>(call: &'a RequestedCall, signature: Option<&'a str>) -> ContentPart<'a> {
    let function_call = Call { id: &call.id, name: &call.name, args: arguments(call) };
    ContentPart::Call { function_call, thought_signature: signature }
}

fn picture(picture: &Picture) -> [ContentPart<'_>; 2] {
    let Picture { media_type, data, .. } = picture;
    let label = ContentPart::Text { text: Cow::Owned(picture_label(picture)) };
    [label, ContentPart::Picture { inline_data: Data { mime_type: media_type, data } }]
}
