//! Forms of tools that only some APIs have: lists of allowed tools, strict schemas, texts in place of arguments, and arguments
//! that are streamed as they are written.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_model::Secret;

use super::formats::{call, saying};
use super::server::{Answer, Server};
use super::{Provider, client};
use crate::api::{ApiModel, ApiSettings, ToolOptions};
use crate::chat::{ChatReply, ChatRequest, ToolChoice, ToolFunction};
use crate::{ChatModel as _, Error, Message};

fn tools() -> [ToolFunction; 2] {
    let tool = |name: &str, parameters: Value| ToolFunction {
        name: name.to_owned(),
        description: "Runs.".to_owned(),
        parameters,
    };
    let source = json!({"source": {"type": "string"}});
    [
        tool(
            "strict",
            json!({"type": "object", "properties": source, "required": ["source"], "additionalProperties": false}),
        ),
        tool("loose", json!({"type": "object", "properties": source})),
    ]
}

async fn ask(
    provider: Provider,
    server: &Server,
    tool_options: ToolOptions,
    request: &ChatRequest<'_>,
) -> Result<ChatReply, Error> {
    let settings = ApiSettings::new(provider)
        .with_base_url(&server.base_url)
        .with_api_key(Secret::new("sk"))
        .with_tool_options(tool_options)
        .with_retries(1, Duration::from_millis(1));
    ApiModel::new(settings, &client()).unwrap().complete(request, &mut |_| ()).await
}

/// Returns the body of a request with both tools.
async fn sent(provider: Provider, options: ToolOptions, messages: &[Message], choice: &ToolChoice) -> Value {
    let server = Server::start(vec![saying(provider, "Hello.")]).await;
    let tools = tools();
    let request = ChatRequest { tools: &tools, tool_choice: choice, ..ChatRequest::new("a-model", messages) };
    ask(provider, &server, options, &request).await.unwrap();
    server.received()[0].json()
}

#[tokio::test]
async fn one_of_several_tools_can_be_required_where_an_api_takes_a_list() {
    let choice = ToolChoice::OneOf(vec!["strict".to_owned(), "loose".to_owned()]);
    let messages = [Message::user("Hi")];
    let function = |name: &str| json!({"type": "function", "function": {"name": name}});
    for (provider, pointer, expected) in [
        (
            Provider::OpenAi,
            "/tool_choice",
            json!({"type": "allowed_tools", "allowed_tools": {
                "mode": "required", "tools": [function("strict"), function("loose")],
            }}),
        ),
        (
            Provider::OpenAiResponses,
            "/tool_choice",
            json!({"type": "allowed_tools", "mode": "required", "tools": [
                {"type": "function", "name": "strict"}, {"type": "function", "name": "loose"},
            ]}),
        ),
        (
            Provider::Gemini,
            "/toolConfig/functionCallingConfig",
            json!({"mode": "ANY", "allowedFunctionNames": ["strict", "loose"]}),
        ),
    ] {
        let body = sent(provider, ToolOptions::default(), &messages, &choice).await;
        assert_eq!(body.pointer(pointer), Some(&expected), "{provider}");
    }
    let server = Server::start(vec![saying(Provider::Anthropic, "Hello.")]).await;
    let tools = tools();
    let request = ChatRequest { tools: &tools, tool_choice: &choice, ..ChatRequest::new("m", &messages) };
    let error = ask(Provider::Anthropic, &server, ToolOptions::default(), &request).await.unwrap_err();
    assert!(matches!(&error, Error::InvalidOption { key: "tool_choice", .. }), "{error}");
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn calls_are_kept_to_the_schemas_that_an_api_can_keep_them_to() {
    let messages = [Message::user("Hi")];
    for provider in [Provider::Anthropic, Provider::OpenAiResponses] {
        for strict in [false, true] {
            let options = ToolOptions { strict, ..ToolOptions::default() };
            let body = sent(provider, options, &messages, &ToolChoice::Auto).await;
            let told = ["/tools/0/strict", "/tools/1/strict"]
                .map(|pointer| body.pointer(pointer) == Some(&true.into()));
            assert_eq!(told, [strict, false], "{provider}: {body}");
        }
    }
}

#[tokio::test]
async fn arguments_are_streamed_as_they_are_written_where_the_app_asks_for_it() {
    let messages = [Message::user("Hi")];
    for eager_streaming in [false, true] {
        let options = ToolOptions { eager_streaming, ..ToolOptions::default() };
        let body = sent(Provider::Anthropic, options, &messages, &ToolChoice::Auto).await;
        let expected = eager_streaming.then_some(&Value::Bool(true));
        assert_eq!(body.pointer("/tools/0/eager_input_streaming"), expected);
    }
}

/// The arguments of a stream that nobody checked: cut off, and no JSON.
#[tokio::test]
async fn arguments_that_are_streamed_unchecked_and_are_no_json_come_as_they_are() {
    let events = [
        json!({"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 5}}}),
        json!({"type": "content_block_start", "index": 0, "content_block":
            {"type": "tool_use", "id": "a", "name": "loose", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta":
            {"type": "input_json_delta", "partial_json": "{\"source\": \"let x"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let server = Server::start(vec![Answer::events(&events, true)]).await;
    let messages = [Message::user("Hi")];
    let options = ToolOptions { eager_streaming: true, ..ToolOptions::default() };
    let reply = ask(Provider::Anthropic, &server, options, &ChatRequest::new("m", &messages)).await.unwrap();
    assert_eq!(reply.tool_calls, [call("a", "loose", r#"{"source": "let x"#)]);
    assert_eq!(reply.finish_reason.as_deref(), Some("max_tokens"));
}

fn with_text() -> ToolOptions {
    let text_arguments = [("loose".to_owned(), "source".to_owned())].into();
    ToolOptions { text_arguments, ..ToolOptions::default() }
}

#[tokio::test]
async fn a_tool_that_takes_a_text_is_a_custom_tool_of_the_responses_api() {
    let source = "const x = \"a\";\n";
    let arguments = json!({"source": source}).to_string();
    let messages = [
        Message::user("Run it."),
        Message::Assistant {
            content: String::new(),
            tool_calls: vec![call("a", "loose", &arguments), call("b", "strict", &arguments)],
            reasoning: String::new(),
            written: None,
            provider_items: None,
        },
        Message::tool("a", "loose", "ran"),
        Message::tool("b", "strict", "ran too"),
    ];
    let body = sent(Provider::OpenAiResponses, with_text(), &messages, &ToolChoice::Auto).await;
    assert_eq!(body["tools"][1], json!({"type": "custom", "name": "loose", "description": "Runs."}));
    let items = [1, 2, 3, 4].map(|place| body["input"][place].clone());
    assert_eq!(
        items,
        [
            json!({"type": "custom_tool_call", "call_id": "a", "name": "loose", "input": source}),
            json!({"type": "function_call", "call_id": "b", "name": "strict", "arguments": arguments}),
            json!({"type": "custom_tool_call_output", "call_id": "a", "output": "ran"}),
            json!({"type": "function_call_output", "call_id": "b", "output": "ran too"}),
        ]
    );

    let item = |input: &str| json!({"id": "ctc_1", "type": "custom_tool_call", "call_id": "a", "name": "loose", "input": input});
    let response = json!({"output": [item(source)], "usage": {}});
    let events = [
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("")}),
        json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": source}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item(source)}),
        json!({"type": "response.completed", "response": response}),
    ];
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    for answer in [Answer::events(&events, true), Answer::json(&response)] {
        let server = Server::start(vec![answer]).await;
        let request = ChatRequest::new("m", &messages[..1]);
        let reply = ask(Provider::OpenAiResponses, &server, with_text(), &request).await.unwrap();
        assert_eq!(reply.tool_calls, [call("a", "loose", &arguments)]);
    }
}
