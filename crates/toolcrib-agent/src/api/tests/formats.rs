//! What is the same in all wire formats: a conversation goes there and comes back.

use std::fmt::Write as _;

use serde_json::{Value, json};
use toolcrib_model::Secret;

use super::{Answer, Server, client};
use crate::api::{ApiModel, ApiSettings};
use crate::chat::{
    ChatReply, ChatRequest, Picture, ProviderItems, RequestOptions, RequestedCall, ToolChoice, ToolFunction,
};
use crate::{ChatModel as _, Error, Message, Provider};

/// One provider for each format.
const PROVIDERS: [Provider; 4] =
    [Provider::OpenAi, Provider::Anthropic, Provider::OpenAiResponses, Provider::Gemini];

/// The turns of a long run.
const TURNS: usize = 30;

/// Asks a model of a provider at this server, without waiting between attempts.
pub(super) async fn ask(
    provider: Provider,
    server: &Server,
    request: &ChatRequest<'_>,
) -> Result<ChatReply, Error> {
    let settings = ApiSettings::new(provider)
        .with_base_url(&server.base_url)
        .with_api_key(Secret::new("sk-secret"))
        .with_retries(4, std::time::Duration::from_millis(1));
    ApiModel::new(settings, &client()).unwrap().complete(request, &mut |_| ()).await
}

/// Returns an answer that says this and nothing else, as a whole.
pub(super) fn saying(provider: Provider, text: &str) -> Answer {
    Answer::json(&match provider {
        Provider::Anthropic => {
            json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"})
        }
        Provider::OpenAiResponses => {
            json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}]})
        }
        Provider::Gemini => {
            json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]})
        }
        _ => json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}),
    })
}

pub(super) fn tools() -> Vec<ToolFunction> {
    let tool = |name: &str, parameters: Value| ToolFunction {
        name: name.to_owned(),
        description: format!("The tool {name}."),
        parameters,
    };
    vec![
        tool("shop__price", json!({"type": "object", "properties": {"item": {"type": "string"}}})),
        tool("shop__list", json!({"type": "object", "properties": {}})),
    ]
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> RequestedCall {
    RequestedCall { id: id.into(), name: name.into(), arguments: arguments.into(), problem: None }
}

/// Returns the items of the message below at a provider that has some.
fn items(provider: Provider) -> Option<ProviderItems> {
    let items = match provider {
        Provider::Anthropic => vec![
            json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}),
            json!({"type": "redacted_thinking", "data": "ZGF0YQ=="}),
            json!({"type": "text", "text": "I look."}),
            json!({"type": "tool_use"}),
            json!({"type": "tool_use"}),
        ],
        Provider::OpenAiResponses => vec![
            json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "ZW5j"}),
            json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}),
            json!({"type": "function_call"}),
            json!({"type": "function_call"}),
        ],
        Provider::Gemini => vec![
            json!({"text": "I look."}),
            json!({"functionCall": {}, "thoughtSignature": "c2ln"}),
            json!({"functionCall": {}}),
        ],
        _ => return None,
    };
    Some(ProviderItems { provider: provider.as_str().to_owned(), items })
}

/// Returns a conversation with everything that there can be.
fn conversation(provider: Provider) -> Vec<Message> {
    let mut second = Message::tool("call b", "shop__list", "");
    let Message::Tool { note, .. } = &mut second else { unreachable!() };
    "[A note.]".clone_into(note);
    vec![
        Message::user("What is a lamp?"),
        Message::Assistant {
            content: "I look.".to_owned(),
            tool_calls: vec![
                call("a", "shop__price", r#"{"item":"lamp"}"#),
                call("call b", "shop__list", "{}"),
            ],
            reasoning: String::new(),
            written: None,
            provider_items: items(provider),
        },
        Message::tool("a", "shop.price", "3 euro"),
        second,
        Message::Pictures {
            pictures: vec![Picture {
                call_id: "a".into(),
                media_type: "image/png".into(),
                data: "iVBO".into(),
            }],
        },
        Message::assistant("Three euro."),
        Message::user("And a chair?"),
    ]
}

/// Returns the request of a conversation, as the server got it.
async fn sent(provider: Provider, messages: &[Message], options: Option<&RequestOptions>) -> (String, Value) {
    let server = Server::start(vec![saying(provider, "Hello.")]).await;
    let tools = tools();
    let request = ChatRequest {
        system: "Be brief.",
        tools: &tools,
        tool_choice: &ToolChoice::Required,
        options,
        ..ChatRequest::new("a-model", messages)
    };
    assert_eq!(ask(provider, &server, &request).await.unwrap().content, "Hello.");
    let received = &server.received()[0];
    (received.head.clone(), received.json())
}

#[tokio::test]
async fn each_format_writes_a_conversation_in_its_own_way() {
    let options =
        RequestOptions { temperature: Some(0.5), max_tokens: Some(100), ..RequestOptions::default() };
    for provider in PROVIDERS {
        let (head, body) = sent(provider, &conversation(provider), Some(&options)).await;
        let lines = head.lines().filter(|line| !line.starts_with("host: "));
        let mut told = String::new();
        lines.for_each(|line| writeln!(told, "{line}").unwrap());
        // Its length follows from the body.
        told = told.lines().filter(|line| !line.starts_with("content-length")).collect::<Vec<_>>().join("\n");
        let told = format!("{told}\n\n{body:#}");
        insta::assert_snapshot!(format!("request_of_{provider}"), told);
    }
}

#[tokio::test]
async fn what_only_its_provider_understands_goes_to_no_other() {
    for from in PROVIDERS {
        for to in PROVIDERS.into_iter().filter(|to| *to != from) {
            let (_, with) = sent(to, &conversation(from), None).await;
            let (_, without) = sent(to, &conversation(Provider::OpenAi), None).await;
            assert_eq!(with, without, "{from} to {to}");
        }
    }
}

#[tokio::test]
async fn items_that_the_text_or_the_calls_no_longer_fit_are_left_out() {
    for provider in PROVIDERS {
        let (_, plain) = sent(provider, &conversation(Provider::OpenAi), None).await;
        let mut messages = conversation(provider);
        let Message::Assistant { provider_items, .. } = &mut messages[1] else { unreachable!() };
        let Some(items) = provider_items else { continue };
        items.items.pop();
        let (_, body) = sent(provider, &messages, None).await;
        assert_eq!(body, plain, "{provider}");
    }
}

#[test]
fn a_session_keeps_what_only_the_provider_understands() {
    for provider in PROVIDERS {
        for message in conversation(provider) {
            let kept = serde_json::to_string(&message).unwrap();
            assert_eq!(serde_json::from_str::<Message>(&kept).unwrap(), message);
        }
    }
}

/// Returns the bodies of the requests of a run, one for each turn.
async fn run(provider: Provider) -> Vec<String> {
    let server = Server::start(vec![saying(provider, "Hello.")]).await;
    let tools = tools();
    let system = "You are a clerk. ".repeat(50);
    let mut messages = vec![Message::user("What is a lamp?")];
    for turn in 0..TURNS {
        let request =
            ChatRequest { system: &system, tools: &tools, ..ChatRequest::new("a-model", &messages) };
        ask(provider, &server, &request).await.unwrap();
        let id = format!("call_{turn}");
        let mut items = items(provider);
        if let Some(items) = &mut items {
            items.items.pop();
        }
        messages.push(Message::Assistant {
            content: "I look.".to_owned(),
            tool_calls: vec![call(&id, "shop__price", r#"{"item":"lamp"}"#)],
            reasoning: String::new(),
            written: None,
            provider_items: items,
        });
        messages.push(Message::tool(id, "shop__price", "3 euro, and the lamp is green. ".repeat(turn % 5)));
    }
    server.received().into_iter().map(|received| received.body).collect()
}

/// The mark of Anthropic, which the server does not count as content.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

pub(super) fn common(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

#[tokio::test]
async fn each_request_of_a_run_begins_with_the_bytes_of_the_one_before() {
    for provider in PROVIDERS {
        let bodies: Vec<_> = run(provider).await.iter().map(|body| body.replace(MARK, "")).collect();
        for pair in bodies.windows(2) {
            let (one, next) = (&pair[0], &pair[1]);
            // All but the brackets at the end.
            assert!(common(one, next) >= one.len() - 3, "{provider}:\n{one}\n{next}");
        }
    }
}

#[tokio::test]
async fn a_server_that_keeps_what_is_marked_reads_nine_tenths_of_the_prefixes_from_its_cache() {
    for provider in PROVIDERS {
        let bodies = run(provider).await;
        // What the server has kept: all up to a mark, or all that it has read where it needs none.
        let mut kept: Vec<String> = Vec::new();
        let (mut read, mut prefixes) = (0, 0);
        let mut before: Option<String> = None;
        for body in &bodies {
            let plain = body.replace(MARK, "");
            let ends = body.match_indices(MARK).map(|(end, _)| body[..end].replace(MARK, ""));
            let marked: Vec<String> = match provider {
                Provider::Anthropic => ends.collect(),
                _ => vec![plain.clone()],
            };
            if let Some(before) = &before {
                prefixes += common(before, &plain);
                let found = kept.iter().map(|kept| match provider {
                    // Only at the very place of a mark.
                    Provider::Anthropic => {
                        if marked.contains(kept) {
                            kept.len()
                        } else {
                            0
                        }
                    }
                    _ => common(kept, &plain),
                });
                read += found.max().unwrap_or_default();
            }
            kept.extend(marked);
            before = Some(plain);
        }
        let share = read * 100 / prefixes;
        assert!(share >= 90, "{provider}: {read} of {prefixes} bytes, {share} %");
    }
}
