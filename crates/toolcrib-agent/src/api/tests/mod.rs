//! Against a server on a real socket.

mod deferred;
mod formats;
mod keys;
mod options;
mod pieces;
mod prefixes;
mod profiles;
mod replies;
mod server;
mod tool_forms;

use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use toolcrib_io::http::HttpPolicy;

use self::server::{Answer, Server};
use super::*;
use crate::Message;
use crate::chat::{Piece, RequestedCall, ToolFunction, Usage};

fn client() -> HttpClient {
    HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() }).unwrap()
}

fn settings(server: &Server) -> ApiSettings {
    ApiSettings::new(Provider::OpenAi)
        .with_base_url(&server.base_url)
        .with_api_key(Secret::new("sk-secret\n"))
        .with_retries(4, Duration::from_millis(1))
}

async fn ask_with(settings: ApiSettings) -> (Result<ChatReply, Error>, String) {
    let model = ApiModel::new(settings, &client()).unwrap();
    let messages = [Message::User { content: "Hi".to_owned() }];
    let request = ChatRequest { system: "Be brief.", ..ChatRequest::new("gpt-x", &messages) };
    let mut text = String::new();
    let reply = model
        .complete(&request, &mut |piece| match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Reasoning(piece) => assert!(!piece.is_empty()),
            Piece::Notice(notice) => assert!(notice.contains("asking again"), "{notice}"),
        })
        .await;
    (reply, text)
}

async fn ask(server: &Server) -> (Result<ChatReply, Error>, String) {
    ask_with(settings(server)).await
}

const HELLO: [&str; 5] = [
    r#"{"choices":[{"index":0,"delta":{"role":"oracle","content":""}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"Hel"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#,
    "[DONE]",
];

fn hello() -> ChatReply {
    ChatReply {
        content: "Hello".to_owned(),
        usage: Usage { prompt_tokens: 7, completion_tokens: 2, ..Usage::default() },
        finish_reason: Some("stop".to_owned()),
        ..ChatReply::default()
    }
}

#[tokio::test]
async fn a_streamed_reply_is_put_together() {
    let server = Server::start(vec![Answer::events(&HELLO, true)]).await;
    let (reply, text) = ask(&server).await;
    assert_eq!((reply.unwrap(), text.as_str()), (hello(), "Hello"));
    let received = server.received();
    assert!(received[0].head.starts_with("post /v1/chat/completions "), "{}", received[0].head);
    assert!(received[0].head.contains("authorization: bearer sk-secret\r\n"), "{}", received[0].head);
    assert_eq!(
        received[0].body,
        r#"{"model":"gpt-x","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}"#
    );
}

#[tokio::test]
async fn a_whole_reply_is_read_whether_it_was_asked_for_or_not() {
    let whole = json!({
        "choices": [{"message": {"content": "Hello", "tool_calls": []}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    });
    for stream in [false, true] {
        let server = Server::start(vec![Answer::json(&whole)]).await;
        let (reply, text) = ask_with(settings(&server).with_stream(stream)).await;
        assert_eq!((reply.unwrap(), text.as_str()), (hello(), "Hello"));
        assert_eq!(server.received()[0].json()["stream"], stream);
        assert_eq!(server.received()[0].json().get("stream_options").is_some(), stream);
    }
}

#[tokio::test]
async fn a_server_without_key_is_sent_none() {
    let server = Server::start(vec![Answer::events(&HELLO, true)]).await;
    let mut settings = settings(&server);
    settings.api_key = None;
    ask_with(settings).await.0.unwrap();
    assert!(!server.received()[0].head.contains("authorization"), "{}", server.received()[0].head);
}

#[tokio::test]
async fn after_429_and_503_and_a_cut_the_request_is_sent_again_as_it_was() {
    let server = Server::start(vec![
        Answer::new("429 Too Many Requests", "retry-after: 0\r\n", r#"{"error": {"message": "slow down"}}"#),
        Answer::new("503 Service Unavailable", "", "<html>"),
        Answer::events(&HELLO[..1], false),
        Answer::events(&HELLO, true),
    ])
    .await;
    let (reply, text) = ask(&server).await;
    assert_eq!((reply.unwrap(), text.as_str()), (hello(), "Hello"));
    let received = server.received();
    assert_eq!(received.len(), 4);
    assert!(received.iter().all(|request| request.body == received[0].body));
}

#[tokio::test]
async fn attempts_are_bounded_and_the_error_says_what_to_do() {
    let body = r#"{"error": {"message": "no quota\nfor sk-secret", "type": "x"}}"#;
    let server = Server::start(vec![Answer::new("429 Too Many Requests", "", body)]).await;
    let error = ask(&server).await.0.unwrap_err();
    assert_eq!(server.received().len(), 4);
    let expected = format!(
        "the model at {}/chat/completions answered 429: no quota for [secret]; too many requests, or no quota left; \
         wait, or check the account",
        server.base_url
    );
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_server_that_wants_to_be_left_alone_for_long_is_not_asked_again() {
    let server =
        Server::start(vec![Answer::new("429 Too Many Requests", "retry-after: 3600\r\n", "{}")]).await;
    let error = ask(&server).await.0.unwrap_err();
    assert!(
        matches!(error, Error::Refused { status: 429, retry_after: Some(wait), .. } if wait.as_secs() == 3600)
    );
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_refused_request_is_not_sent_again() {
    let answer = Answer::new("401 Unauthorized", "", r#"{"error": {"message": "bad key"}}"#);
    let server = Server::start(vec![answer]).await;
    let error = ask(&server).await.0.unwrap_err().to_string();
    assert!(error.ends_with("answered 401: bad key; check the key in OPENAI_API_KEY"), "{error}");
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_stream_that_is_cut_after_some_text_is_an_error_and_not_asked_again() {
    // Once in the middle of the chunks, once at their proper end.
    for is_ended in [false, true] {
        let server = Server::start(vec![Answer::events(&HELLO[..2], is_ended)]).await;
        let (reply, text) = ask(&server).await;
        assert!(matches!(reply, Err(Error::Interrupted { .. })), "{reply:?}");
        assert_eq!((text.as_str(), server.received().len()), ("Hel", 1));
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_given_up() {
    let server = Server::start(vec![Answer::events(&HELLO[..2], false).held()]).await;
    let waited = Duration::from_millis(50);
    let (reply, text) = ask_with(settings(&server).with_idle_timeout(waited)).await;
    assert!(matches!(reply, Err(Error::TimedOut { waited: w, .. }) if w == waited), "{reply:?}");
    assert_eq!(text, "Hel");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_after_a_second_attempt() {
    for stream in [false, true] {
        let server = Server::start(vec![Answer::nothing().held()]).await;
        let mut settings = settings(&server).with_stream(stream);
        (settings.idle_timeout, settings.reply_timeout) =
            (Duration::from_millis(50), Duration::from_millis(50));
        let error = ask_with(settings).await.0.unwrap_err();
        assert!(matches!(error, Error::TimedOut { .. }), "{error}");
        assert_eq!(server.received().len(), 2);
    }
}

#[tokio::test]
async fn nobody_at_the_address_is_an_error_that_names_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let settings =
        ApiSettings::new(Provider::Ollama).with_base_url(&base_url).with_retries(2, Duration::ZERO);
    let error = ask_with(settings).await.0.unwrap_err();
    assert!(error.is_unavailable());
    let error = error.to_string();
    assert!(
        error.starts_with(&format!("cannot reach the model at {base_url}/chat/completions: ")),
        "{error}"
    );
    assert!(error.ends_with("check that the server runs and that `base_url` is right"), "{error}");
}

#[tokio::test]
async fn an_error_inside_of_a_stream_is_an_error() {
    let error = r#"{"error": {"message": "the model crashed", "code": 500}}"#;
    let server = Server::start(vec![Answer::events(&[HELLO[1], error], true)]).await;
    let error = ask(&server).await.0.unwrap_err();
    assert!(
        matches!(&error, Error::Refused { status: 500, message, .. } if message == "the model crashed"),
        "{error}"
    );
}

#[tokio::test]
async fn what_is_no_chat_completion_is_an_error_that_shows_it() {
    for (answer, found) in [
        (Answer::new("200 OK", "content-type: text/html\r\n", "data: <html>\n\n"), "<html>"),
        (Answer::events(&["[1]"], true), "not a JSON object"),
        (Answer::events(&[r#"{"choices":[]}"#, "[DONE]"], true), "no `choices`"),
        (Answer::json(&json!({"hello": 1})), "no `choices`"),
    ] {
        let server = Server::start(vec![answer]).await;
        let error = ask(&server).await.0.unwrap_err();
        assert!(matches!(&error, Error::NotAReply { reason, .. } if reason.contains(found)), "{error}");
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn two_requests_of_a_run_begin_with_the_same_bytes() {
    let server = Server::start(vec![Answer::events(&HELLO, true)]).await;
    let model = ApiModel::new(settings(&server), &client()).unwrap();
    let tools = [ToolFunction {
        name: "notes__search".to_owned(),
        description: "Search.".to_owned(),
        parameters: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
    }];
    let call = RequestedCall {
        id: "a".to_owned(),
        name: "notes__search".to_owned(),
        arguments: "{}".to_owned(),
        problem: None,
    };
    let messages = [
        Message::User { content: "Hi".to_owned() },
        Message::Assistant {
            content: String::new(),
            tool_calls: vec![call],
            reasoning: String::new(),
            written: None,
            provider_items: None,
        },
        Message::tool("a", "notes__search", "found"),
    ];
    for count in [1, 3] {
        let request = ChatRequest {
            model: "gpt-x",
            system: "Be brief.",
            tools: &tools,
            messages: &messages[..count],
            deferred: None,
            tool_choice: &ToolChoice::Auto,
            options: None,
            output: None,
            encoded: None,
        };
        model.complete(&request, &mut |_| ()).await.unwrap();
    }
    let received = server.received();
    let prefix = received[0].body.strip_suffix("]}").unwrap();
    let rest = received[1].body.strip_prefix(prefix).unwrap();
    assert_eq!(
        rest,
        concat!(
            r#",{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":"#,
            r#"{"name":"notes__search","arguments":"{}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"a","content":"found"}]}"#,
        )
    );
    assert_eq!(
        received[0].json()["tools"],
        json!([{
            "type": "function",
            "function": {
                "name": "notes__search",
                "description": "Search.",
                "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
            },
        }])
    );
}

#[test]
fn what_cannot_be_asked_is_refused_before_anything_is_sent() {
    let new = |settings| ApiModel::new(settings, &client()).unwrap_err();
    let of = ApiSettings::new;
    assert_eq!(
        new(of(Provider::Groq)).to_string(),
        "no API key for `groq`; set the environment variable GROQ_API_KEY, or `base_url` for another server"
    );
    assert!(matches!(new(of(Provider::Recorded)), Error::NoServer { .. }));
    assert!(matches!(new(of(Provider::Ollama).with_base_url("localhost")), Error::InvalidBaseUrl { .. }));
    assert!(matches!(new(of(Provider::Ollama).with_base_url("ftp://x/v1")), Error::Forbidden { .. }));
    assert!(matches!(new(of(Provider::Vllm).with_api_key(Secret::new("a\nb"))), Error::InvalidKey { .. }));
    let public_only = HttpClient::new(HttpPolicy::default()).unwrap();
    let private = ApiModel::new(of(Provider::Ollama).with_base_url("http://10.0.0.1/v1"), &public_only);
    assert!(matches!(private, Err(Error::Forbidden { .. })));
}

#[test]
fn an_unknown_provider_is_answered_with_the_nearest() {
    let error = "olama".parse::<Provider>().unwrap_err().to_string();
    assert_eq!(error, "unknown provider `olama`; did you mean `ollama`?");
    let all: Vec<Provider> =
        Provider::ALL.iter().map(|provider| provider.as_str().parse().unwrap()).collect();
    assert_eq!(all, Provider::ALL);
}
