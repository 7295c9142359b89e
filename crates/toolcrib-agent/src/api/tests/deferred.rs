//! Tools that a search loads, in the formats that have them.

use serde_json::{Value, json};

use super::formats::{ask, call, common, saying, tools};
use super::server::{Answer, Server};
use crate::chat::{ChatRequest, DeferredTools, RequestedCall, ToolChoice, ToolFunction};
use crate::{Error, Message, Provider};

/// The providers whose APIs defer tools.
const PROVIDERS: [Provider; 2] = [Provider::Anthropic, Provider::OpenAiResponses];

fn search_tool() -> ToolFunction {
    ToolFunction {
        name: "search_tools".to_owned(),
        description: "Find tools.".to_owned(),
        parameters: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
    }
}

fn calling(calls: Vec<RequestedCall>) -> Message {
    Message::Assistant {
        content: String::new(),
        tool_calls: calls,
        reasoning: String::new(),
        written: None,
        provider_items: None,
    }
}

fn found(id: &str, note: &str, loads: &[&str]) -> Message {
    let mut message = Message::tool(id, "search_tools", "shop.price(item: str) — What an item costs.");
    if let Message::Tool { note: noted, loads: loaded, .. } = &mut message {
        note.clone_into(noted);
        *loaded = loads.iter().map(|name| (*name).to_owned()).collect();
    }
    message
}

/// A conversation with a search that found something, and one that found nothing, at the same time as another call.
fn conversation() -> Vec<Message> {
    let search = |id: &str, query: &str| call(id, "search_tools", &json!({"query": query}).to_string());
    vec![
        Message::user("What is a lamp?"),
        calling(vec![
            search("a", "what an item costs"),
            search("b", "weather"),
            call("c", "shop__list", "{}"),
        ]),
        found("a", "[A note.]", &["shop__price"]),
        Message::tool("b", "search_tools", r#"{"outcome":"no_match"}"#),
        Message::tool("c", "shop__list", "lamp"),
        calling(vec![call("d", "shop__price", r#"{"item":"lamp"}"#)]),
        Message::tool("d", "shop__price", "3 euro"),
    ]
}

/// Returns the body of a request with the first messages of the conversation.
async fn sent(provider: Provider, messages: &[Message], choice: &ToolChoice) -> String {
    let server = Server::start(vec![saying(provider, "Hello.")]).await;
    let [price, list]: [ToolFunction; 2] = tools().try_into().unwrap();
    let offered = [search_tool(), list];
    let is_loaded = messages.len() > 2;
    let loaded = [price];
    let request = ChatRequest {
        system: "Be brief.",
        tools: &offered,
        tool_choice: choice,
        deferred: Some(DeferredTools {
            search: "search_tools",
            loaded: if is_loaded { &loaded } else { &[] },
        }),
        ..ChatRequest::new("a-model", messages)
    };
    ask(provider, &server, &request).await.unwrap();
    server.received()[0].body.clone()
}

#[tokio::test]
async fn a_format_that_defers_tools_refers_to_those_that_a_search_found() {
    for provider in PROVIDERS {
        let body = sent(provider, &conversation(), &ToolChoice::Auto).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        insta::assert_snapshot!(format!("deferred_tools_of_{provider}"), format!("{body:#}"));
    }
}

/// Returns the body without the definitions of deferred tools, which stand in no prompt before a result refers to them.
fn rendered(body: &str) -> String {
    let mut body: Value = serde_json::from_str(body).unwrap();
    if let Some(tools) = body.get_mut("tools").and_then(Value::as_array_mut) {
        tools.retain(|tool| tool.get("defer_loading").is_none());
    }
    body.to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

#[tokio::test]
async fn a_tool_that_is_loaded_changes_nothing_before_the_result_that_loads_it() {
    for provider in PROVIDERS {
        let all = conversation();
        let mut before = rendered(&sent(provider, &all[..1], &ToolChoice::Auto).await);
        for count in [5, 7] {
            let next = sent(provider, &all[..count], &ToolChoice::Auto).await;
            if provider == Provider::OpenAiResponses {
                assert!(
                    !next.contains("defer_loading") || next.find("defer_loading") > next.find("\"input\"")
                );
            }
            let next = rendered(&next);
            assert!(common(&before, &next) >= before.len() - 3, "{provider}:\n{before}\n{next}");
            before = next;
        }
    }
}

#[tokio::test]
async fn the_tool_that_searches_can_be_the_chosen_one() {
    let choice = ToolChoice::Tool("search_tools".to_owned());
    let expected = [
        json!({"type": "tool", "name": "search_tools"}),
        json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "tool_search"}]}),
    ];
    for (provider, expected) in PROVIDERS.into_iter().zip(expected) {
        let body: Value = serde_json::from_str(&sent(provider, &conversation()[..1], &choice).await).unwrap();
        assert_eq!(body["tool_choice"], expected, "{provider}");
    }
}

#[tokio::test]
async fn a_search_of_the_responses_api_is_a_call_of_the_tool_that_searches() {
    let item = |arguments: Value| {
        json!({
            "id": "tsc_1", "type": "tool_search_call", "execution": "client", "status": "completed", "call_id": "a",
            "arguments": arguments,
        })
    };
    let whole = item(json!({"query": "prices"}));
    let response = json!({"output": [whole], "usage": {"input_tokens": 7, "output_tokens": 2}});
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": item(json!({}))});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": whole});
    let completed = json!({"type": "response.completed", "response": response});
    let events = [added.to_string(), done.to_string(), completed.to_string()];
    let events = [events[0].as_str(), events[1].as_str(), events[2].as_str()];
    for answer in [Answer::events(&events, true), Answer::json(&response)] {
        let server = Server::start(vec![answer]).await;
        let offered = [search_tool()];
        let messages = [Message::user("Price?")];
        let request = ChatRequest {
            tools: &offered,
            deferred: Some(DeferredTools { search: "search_tools", loaded: &[] }),
            ..ChatRequest::new("m", &messages)
        };
        let reply = ask(Provider::OpenAiResponses, &server, &request).await.unwrap();
        assert_eq!(reply.tool_calls, [call("a", "search_tools", r#"{"query":"prices"}"#)]);
        assert_eq!(reply.provider_items, None);
    }
}

#[tokio::test]
async fn a_format_without_deferred_tools_refuses_them_before_anything_is_sent() {
    for provider in [Provider::OpenAi, Provider::Gemini] {
        let server = Server::start(vec![saying(provider, "Hello.")]).await;
        let messages = [Message::user("Price?")];
        let deferred = Some(DeferredTools { search: "search_tools", loaded: &[] });
        let request = ChatRequest { deferred, ..ChatRequest::new("m", &messages) };
        let error = ask(provider, &server, &request).await.unwrap_err();
        assert!(matches!(&error, Error::InvalidOption { key: "tool_injection", .. }), "{error}");
        assert!(server.received().is_empty());
    }
}
