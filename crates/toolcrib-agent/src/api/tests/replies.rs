//! Replies of each wire format, in events and as a whole.

use serde_json::{Value, json};

use super::formats::ask;
use super::{Answer, Server};
use crate::chat::{ChatReply, ChatRequest, RequestOptions, ResponseFormat, Usage};
use crate::{Error, Message, Outcome, Provider};

/// Asks a server that answers like this.
async fn reply(provider: Provider, answer: Answer) -> Result<ChatReply, Error> {
    let server = Server::start(vec![answer]).await;
    ask(provider, &server, &ChatRequest::new("a-model", &[Message::user("Hi")])).await
}

/// Asks a server that answers with these events.
async fn streamed(provider: Provider, events: &[Value]) -> Result<ChatReply, Error> {
    let events: Vec<_> = events.iter().map(Value::to_string).collect();
    let events: Vec<_> = events.iter().map(String::as_str).collect();
    reply(provider, Answer::events(&events, true)).await
}

/// Returns the request that follows a reply.
async fn sent_back(provider: Provider, reply: ChatReply) -> Value {
    let hello = json!({
        "content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello."}]}],
        "candidates": [{"content": {"parts": [{"text": "Hello."}]}, "finishReason": "STOP"}],
    });
    let server = Server::start(vec![Answer::json(&hello)]).await;
    let results: Vec<_> =
        reply.tool_calls.iter().map(|call| Message::tool(&call.id, &call.name, "done")).collect();
    let mut messages = vec![
        Message::user("Hi"),
        Message::Assistant {
            content: reply.content,
            tool_calls: reply.tool_calls,
            reasoning: String::new(),
            written: None,
            provider_items: reply.provider_items,
        },
    ];
    messages.extend(results);
    ask(provider, &server, &ChatRequest::new("a-model", &messages)).await.unwrap();
    server.received()[0].json()
}

fn usage(prompt_tokens: u64, completion_tokens: u64, cached_tokens: u64) -> Usage {
    Usage { prompt_tokens, completion_tokens, cached_tokens, ..Usage::default() }
}

#[tokio::test]
async fn a_message_of_anthropic_comes_in_blocks_and_goes_back_as_it_came() {
    let delta =
        |index: u8, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let start = |index: u8, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let events = [
        json!({"type": "message_start", "message": {"content": [], "stop_reason": null, "usage": {
            "input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 70, "output_tokens": 1,
        }}}),
        json!({"type": "ping"}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "Hm, "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "a lamp."})),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        json!({"type": "content_block_stop", "index": 0}),
        start(1, json!({"type": "redacted_thinking", "data": "ZGF0YQ=="})),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "I look."})),
        delta(2, json!({"type": "citations_delta", "citation": {"cited_text": "lamp"}})),
        start(3, json!({"type": "tool_use", "id": "toolu_1", "name": "price", "input": {}})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"item\": \"la"})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "mp\"}"})),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 30}}),
        json!({"type": "message_stop"}),
    ];
    let streamed = streamed(Provider::Anthropic, &events).await.unwrap();
    let blocks = json!([
        {"type": "thinking", "thinking": "Hm, a lamp.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "I look.", "citations": [{"cited_text": "lamp"}]},
        {"type": "tool_use", "id": "toolu_1", "name": "price", "input": {"item": "lamp"}},
    ]);
    let whole = json!({"type": "message", "content": blocks, "stop_reason": "tool_use", "usage": {
        "input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 70, "output_tokens": 30,
    }});
    let mut whole = reply(Provider::Anthropic, Answer::json(&whole)).await.unwrap();
    // In a whole message the input is an object.
    assert_eq!(whole.tool_calls[0].arguments, r#"{"item":"lamp"}"#);
    whole.tool_calls[0].arguments = r#"{"item": "lamp"}"#.to_owned();
    assert_eq!(streamed, whole);
    assert_eq!((streamed.content.as_str(), streamed.reasoning.as_str()), ("I look.", "Hm, a lamp."));
    assert_eq!(streamed.usage, Usage { cache_write_tokens: 20, ..usage(100, 30, 70) });
    assert_eq!(sent_back(Provider::Anthropic, streamed).await["messages"][1]["content"], blocks);
}

#[tokio::test]
async fn a_response_comes_in_items_and_goes_back_as_it_came() {
    let output = json!([
        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "ZW5j"},
        {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
        {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "price", "arguments": "{\"item\":\"lamp\"}"},
    ]);
    let response = json!({"object": "response", "status": "completed", "error": null, "output": output, "usage": {
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 70}, "output_tokens": 30,
    }});
    let done = |place: usize| json!({"type": "response.output_item.done", "output_index": place, "item": output[place]});
    let added = |place: usize, item: Value| json!({"type": "response.output_item.added", "output_index": place, "item": item});
    let events = [
        json!({"type": "response.created", "response": {"status": "in_progress", "output": []}}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Hm."}),
        done(0),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "I "}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "look."}),
        json!({"type": "response.output_text.done", "output_index": 1, "text": "I look."}),
        done(1),
        added(2, json!({"type": "function_call", "call_id": "call_1", "name": "price", "arguments": ""})),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"item\":"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "\"lamp\"}"}),
        done(2),
        json!({"type": "response.completed", "response": response}),
    ];
    let streamed = streamed(Provider::OpenAiResponses, &events).await.unwrap();
    let whole = reply(Provider::OpenAiResponses, Answer::json(&response)).await.unwrap();
    assert_eq!(streamed, whole);
    assert_eq!((streamed.content.as_str(), streamed.reasoning.as_str()), ("I look.", "Hm."));
    assert_eq!(streamed.usage, usage(100, 30, 70));
    let input = sent_back(Provider::OpenAiResponses, streamed).await["input"].take();
    let call = json!({"type": "function_call", "call_id": "call_1", "name": "price", "arguments": "{\"item\":\"lamp\"}"});
    assert_eq!(input.as_array().unwrap()[1..4], [output[0].clone(), output[1].clone(), call]);
}

#[tokio::test]
async fn citations_of_a_response_go_back_as_they_came() {
    let citation = json!({"type": "url_citation", "start_index": 0, "end_index": 7, "url": "https://lamps.example/", "title": "Lamps"});
    let output = json!([
        {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": [citation]}]},
        {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "price", "arguments": "{\"item\":\"lamp\"}"},
    ]);
    let response = json!({"object": "response", "status": "completed", "error": null, "output": output});
    let reply = reply(Provider::OpenAiResponses, Answer::json(&response)).await.unwrap();
    let input = sent_back(Provider::OpenAiResponses, reply).await["input"].take();
    assert_eq!(input[1], output[0]);
    assert_eq!(input[2]["call_id"], "call_1");
}

#[tokio::test]
async fn parts_of_gemini_come_in_pieces_and_go_back_as_they_came() {
    let chunk = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
    let events = [
        chunk(json!([{"text": "Hm.", "thought": true}])),
        chunk(json!([{"text": "I "}])),
        chunk(json!([{"text": "look."}])),
        chunk(json!([
            {"functionCall": {"name": "price", "args": {"item": "lamp"}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"id": "b", "name": "list"}},
        ])),
        json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}], "usageMetadata": {
            "promptTokenCount": 100, "cachedContentTokenCount": 70, "candidatesTokenCount": 20, "thoughtsTokenCount": 10,
        }}),
    ];
    let mut streamed = streamed(Provider::Gemini, &events).await.unwrap();
    assert_eq!((streamed.content.as_str(), streamed.reasoning.as_str()), ("I look.", "Hm."));
    assert_eq!(streamed.usage, usage(100, 30, 70));
    let calls: Vec<_> =
        streamed.tool_calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())).collect();
    assert_eq!(calls, [("", r#"{"item":"lamp"}"#), ("b", "")]);
    "a".clone_into(&mut streamed.tool_calls[0].id);
    let parts = json!([
        {"text": "I look."},
        {"functionCall": {"id": "a", "name": "price", "args": {"item": "lamp"}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"id": "b", "name": "list", "args": {}}},
    ]);
    let body = sent_back(Provider::Gemini, streamed).await;
    assert_eq!(body["contents"][1]["parts"], parts);
    assert_eq!(body["contents"][2]["parts"].as_array().unwrap().len(), 2, "both results in one turn");
}

#[tokio::test]
async fn a_call_that_the_server_could_not_read_is_told_to_the_model() {
    let candidate = json!({"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "price(item=lamp"});
    let reply = streamed(Provider::Gemini, &[json!({"candidates": [candidate]})]).await.unwrap();
    assert_eq!(reply.tool_calls[0].arguments, "price(item=lamp");
    let problem = reply.tool_calls[0].problem.as_deref();
    assert_eq!(problem, Some("the server could not read it (MALFORMED_FUNCTION_CALL)"));
}

#[tokio::test]
async fn each_format_says_why_an_answer_is_none_or_not_whole() {
    let message = |reason: &str| json!({"content": [{"type": "text", "text": "I"}], "stop_reason": reason});
    let response = |reason: &str| json!({"output": [], "incomplete_details": {"reason": reason}});
    let candidate =
        |reason: &str| json!({"candidates": [{"content": {"parts": []}, "finishReason": reason}]});
    let refusal =
        json!({"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]});
    for (provider, answer, expected) in [
        (Provider::Anthropic, message("end_turn"), "completed"),
        (Provider::Anthropic, message("max_tokens"), "truncated"),
        (Provider::Anthropic, message("model_context_window_exceeded"), "truncated"),
        (Provider::Anthropic, message("pause_turn"), "truncated"),
        (Provider::Anthropic, message("refusal"), "refused"),
        (Provider::OpenAiResponses, response("max_output_tokens"), "truncated"),
        (Provider::OpenAiResponses, response("max_messages"), "truncated"),
        (Provider::OpenAiResponses, response("content_filter"), "content_filter"),
        (Provider::OpenAiResponses, refusal, "refused"),
        (Provider::Gemini, candidate("STOP"), "completed"),
        (Provider::Gemini, candidate("MAX_TOKENS"), "truncated"),
        (Provider::Gemini, candidate("SAFETY"), "content_filter"),
        (Provider::Gemini, candidate("RECITATION"), "content_filter"),
        (Provider::Gemini, candidate("MODEL_ARMOR"), "content_filter"),
        (Provider::Gemini, json!({"promptFeedback": {"blockReason": "OTHER"}}), "content_filter"),
    ] {
        let reply = reply(provider, Answer::json(&answer)).await.unwrap();
        let outcome = Outcome::of_finish_reason(reply.finish_reason.as_deref()).unwrap_or(Outcome::Completed);
        assert_eq!(serde_json::to_value(&outcome).unwrap()["outcome"], expected, "{answer}");
    }
}

#[tokio::test]
async fn an_error_in_a_stream_is_tried_again_as_one_with_its_status() {
    let overloaded = r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#;
    let failed =
        r#"{"type": "response.failed", "response": {"error": {"code": "server_error", "message": "Oops"}}}"#;
    let exhausted = r#"{"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}"#;
    for (provider, event, status) in [
        (Provider::Anthropic, overloaded, 529),
        (Provider::OpenAiResponses, failed, 500),
        (Provider::Gemini, exhausted, 503),
    ] {
        let server = Server::start(vec![Answer::events(&[event], true)]).await;
        let request = ChatRequest::new("a-model", &[]);
        let error = ask(provider, &server, &request).await.unwrap_err();
        assert!(matches!(error, Error::Refused { status: found, .. } if found == status), "{error}");
        assert_eq!(server.received().len(), 4, "{provider}");
    }
}

#[tokio::test]
async fn a_server_says_in_its_own_words_when_to_ask_again_and_what_is_missing() {
    let body = json!([{"error": {"code": 429, "message": "Quota", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
    ]}}]);
    let error = reply(Provider::Gemini, Answer::new("429 -", "", &body.to_string())).await.unwrap_err();
    assert!(
        matches!(error, Error::Refused { retry_after: Some(wait), .. } if wait.as_millis() == 34_500),
        "{error}"
    );
    let body = r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low."}}"#;
    let error = reply(Provider::Anthropic, Answer::new("400 -", "", body)).await.unwrap_err();
    assert!(matches!(error, Error::QuotaExhausted { .. }), "{error}");
    let body = r#"{"error": {"message": "Encrypted content is not supported with this model."}}"#;
    let error = reply(Provider::OpenAiResponses, Answer::new("400 -", "", body)).await.unwrap_err();
    assert!(error.to_string().ends_with("set `extra: {include: []}` of its `brain`"), "{error}");
}

#[tokio::test]
async fn an_option_that_a_format_has_no_key_for_is_refused_before_anything_is_sent() {
    let extra = |key: &str| RequestOptions {
        extra: [(key.to_owned(), json!(1))].into_iter().collect(),
        ..RequestOptions::default()
    };
    let seed = RequestOptions { seed: Some(1), ..RequestOptions::default() };
    let two = RequestOptions { n: Some(2), ..RequestOptions::default() };
    let json_object =
        RequestOptions { response_format: Some(ResponseFormat::JsonObject), ..RequestOptions::default() };
    for (provider, options, expected) in [
        (Provider::Anthropic, &seed, "invalid `seed`: the Messages API has no `seed`; remove it"),
        (Provider::Anthropic, &json_object, "the Messages API has no `json_object`; give a `json_schema`"),
        (Provider::Anthropic, &extra("system"), "`system` is not set by `extra`"),
        (Provider::OpenAiResponses, &seed, "the Responses API has no `seed`"),
        (Provider::OpenAiResponses, &extra("store"), "`store` is not set by `extra`"),
        (Provider::Gemini, &two, "the Gemini API has no `n`"),
    ] {
        let server = Server::start(Vec::new()).await;
        let request = ChatRequest { options: Some(options), ..ChatRequest::new("a-model", &[]) };
        let error = ask(provider, &server, &request).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(server.received().is_empty());
    }
}
