//! What a request says of how the model is to write.

use serde_json::json;

use super::{Answer, HELLO, Server, ask_with, client, settings};
use crate::api::WireFormat;
use crate::api::settings::ApiSettings;
use crate::chat::{
    ChatReply, ChatRequest, MAX_EXTRA_KEYS, MAX_REPLIES, MAX_STOPS, Piece, RequestOptions, ResponseFormat,
};
use crate::{ApiModel, ChatModel as _, Error, Message, Provider};

#[tokio::test]
async fn parameters_are_sent_and_absent_ones_are_not() {
    let extra = json!({"reasoning_effort": "low", "messages": [], "temperature": 2, "response_format": {"type": "text"}});
    let parameters = RequestOptions {
        temperature: Some(0.2),
        top_p: Some(0.9),
        max_tokens: Some(512),
        stop: vec!["END".to_owned()],
        seed: Some(-7),
        extra: extra.as_object().cloned().unwrap(),
        ..RequestOptions::default()
    };
    let server = Server::start(vec![Answer::events(&HELLO, true)]).await;
    ask_with(settings(&server).with_parameters(parameters)).await.0.unwrap();
    let sent = server.received()[0].json();
    let messages = sent["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "own keys win");
    assert_eq!(
        json!([sent["temperature"], sent["top_p"], sent["max_tokens"], sent["stop"], sent["seed"]]),
        json!([0.2, 0.9, 512, ["END"], -7])
    );
    assert_eq!(json!([sent["reasoning_effort"], sent["response_format"]]), json!(["low", {"type": "text"}]));
    // The beginning of a request stays the same from turn to turn.
    let body = &server.received()[0].body;
    assert!(body.find("\"seed\"") < body.find("\"messages\""), "{body}");
}

/// Sends a request with options to a server that answers like this, and returns the request and the reply.
async fn ask_for(options: &RequestOptions, answer: Answer) -> (serde_json::Value, ChatReply) {
    let server = Server::start(vec![answer]).await;
    let endpoint = RequestOptions { temperature: Some(1.0), seed: Some(1), ..RequestOptions::default() };
    let settings = settings(&server).with_parameters(endpoint);
    let model = ApiModel::new(settings, &client()).unwrap();
    let messages = [Message::user("Hi")];
    let request = ChatRequest { options: Some(options), ..ChatRequest::new("m", &messages) };
    let reply = model.complete(&request, &mut |_| ()).await.unwrap();
    (server.received()[0].json(), reply)
}

#[tokio::test]
async fn the_options_of_a_request_override_those_of_the_model() {
    let options = RequestOptions {
        temperature: Some(0.0),
        top_p: Some(0.5),
        max_tokens: Some(64),
        stop: vec!["END".to_owned()],
        response_format: Some(ResponseFormat::JsonSchema {
            name: "answer".to_owned(),
            schema: json!({"type": "object"}).as_object().cloned().unwrap(),
            strict: Some(true),
        }),
        logprobs: Some(true),
        extra: json!({"reasoning_effort": "low", "logprobs": false}).as_object().cloned().unwrap(),
        ..RequestOptions::default()
    };
    let (sent, _) = ask_for(&options, Answer::events(&HELLO, true)).await;
    insta::assert_snapshot!(sent, @r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0.0,"top_p":0.5,"max_tokens":64,"stop":["END"],"seed":1,"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"},"strict":true}},"logprobs":true,"reasoning_effort":"low","messages":[{"role":"user","content":"Hi"}]}"#);
    let other =
        RequestOptions { response_format: Some(ResponseFormat::JsonObject), ..RequestOptions::default() };
    let (sent, _) = ask_for(&other, Answer::events(&HELLO, true)).await;
    insta::assert_snapshot!(sent, @r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":1.0,"seed":1,"response_format":{"type":"json_object"},"messages":[{"role":"user","content":"Hi"}]}"#);
}

#[tokio::test]
async fn several_replies_are_asked_for_at_once_and_come_with_their_log_probabilities() {
    let choice = |index: u32, text: &str, logprobs: &[f64]| {
        let tokens: Vec<_> =
            logprobs.iter().map(|logprob| json!({"token": "x", "logprob": logprob})).collect();
        json!({
            "index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop",
            "logprobs": {"content": tokens},
        })
    };
    let choices = [
        choice(1, "two", &[-3.0]),
        choice(0, "one", &[-0.5, -1.5]),
        choice(2, "three", &[]),
        choice(3, "too many", &[]),
    ];
    let answer =
        Answer::json(&json!({"choices": choices, "usage": {"prompt_tokens": 1, "completion_tokens": 9}}));
    let options = RequestOptions { n: Some(3), logprobs: Some(true), ..RequestOptions::default() };
    let (sent, reply) = ask_for(&options, answer).await;
    assert_eq!(json!([sent["n"], sent["stream"], sent["logprobs"]]), json!([3, false, true]));
    assert_eq!((reply.content.as_str(), reply.mean_log_probability), ("one", Some(-1.0)));
    assert_eq!(reply.usage.completion_tokens, 9);
    let others = reply.alternatives.iter().map(|other| (other.content.as_str(), other.mean_log_probability));
    assert_eq!(others.collect::<Vec<_>>(), [("two", Some(-3.0)), ("three", None)]);
}

#[tokio::test]
async fn log_probabilities_of_a_stream_are_added_up() {
    let piece = |text: &str, logprob: f64| {
        json!({"choices": [{
            "index": 0, "delta": {"content": text}, "logprobs": {"content": [{"token": text, "logprob": logprob}]},
        }]})
        .to_string()
    };
    let pieces = [piece("a", -1.0), piece("b", -2.0)];
    let answer = Answer::events(&[pieces[0].as_str(), pieces[1].as_str(), "[DONE]"], true);
    let (_, reply) =
        ask_for(&RequestOptions { logprobs: Some(true), ..RequestOptions::default() }, answer).await;
    assert_eq!((reply.content.as_str(), reply.mean_log_probability), ("ab", Some(-1.5)));
}

#[tokio::test]
async fn an_option_that_no_server_takes_is_not_sent() {
    let server = Server::start(Vec::new()).await;
    let model = ApiModel::new(settings(&server), &client()).unwrap();
    let options = RequestOptions { n: Some(0), ..RequestOptions::default() };
    let request = ChatRequest { options: Some(&options), ..ChatRequest::new("m", &[]) };
    let error = model.complete(&request, &mut |_| ()).await.unwrap_err();
    assert_eq!(error.to_string(), "the request has an invalid `n`: `n` has to be from 1 to 32");
    assert!(server.received().is_empty());
}

#[test]
fn the_most_tokens_have_the_key_that_the_server_knows() {
    for (base_url, key) in [(None, "max_completion_tokens"), (Some("http://localhost:1/v1"), "max_tokens")] {
        let mut settings = ApiSettings::new(Provider::OpenAi)
            .with_api_key(toolcrib_model::Secret::new("sk"))
            .with_parameters(RequestOptions { max_tokens: Some(5), ..RequestOptions::default() });
        settings.base_url = base_url.map(str::to_owned);
        let model = ApiModel::new(settings, &client()).unwrap();
        let (endpoint, request) = (&model.endpoint, ChatRequest::new("m", &[]));
        let body = WireFormat::ChatCompletions.body(&request, &endpoint.parameters, true, endpoint).unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body[key], 5);
    }
}

#[test]
fn parameters_that_no_server_takes_are_refused() {
    let extra = |value: serde_json::Value| value.as_object().cloned().unwrap();
    let many = (0..=MAX_EXTRA_KEYS).map(|key| (key.to_string(), json!(1))).collect();
    let named = |name: &str| ResponseFormat::JsonSchema {
        name: name.to_owned(),
        schema: toolcrib_model::JsonObject::new(),
        strict: None,
    };
    let default = RequestOptions::default;
    assert_eq!(default().problem(), None);
    for (parameters, key) in [
        (RequestOptions { temperature: Some(2.1), ..default() }, "temperature"),
        (RequestOptions { temperature: Some(f64::NAN), ..default() }, "temperature"),
        (RequestOptions { top_p: Some(-0.1), ..default() }, "top_p"),
        (RequestOptions { max_tokens: Some(0), ..default() }, "max_tokens"),
        (RequestOptions { stop: vec![String::new()], ..default() }, "stop"),
        (RequestOptions { stop: vec!["x".to_owned(); MAX_STOPS + 1], ..default() }, "stop"),
        (RequestOptions { extra: extra(json!({"messages": []})), ..default() }, "extra"),
        (RequestOptions { extra: extra(json!({"x": "y".repeat(17_000)})), ..default() }, "extra"),
        (RequestOptions { extra: many, ..default() }, "extra"),
        (RequestOptions { n: Some(MAX_REPLIES + 1), ..default() }, "n"),
        (RequestOptions { response_format: Some(named("a b")), ..default() }, "response_format"),
    ] {
        assert_eq!(parameters.problem().unwrap().0, key, "{parameters:?}");
    }
}

#[tokio::test]
async fn an_account_without_quota_is_not_asked_again() {
    let quota = json!({"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota",
        "code": "insufficient_quota"}});
    let credit = json!({"error": {"message": "Insufficient Balance"}});
    for (status, body) in [("429 Too Many Requests", quota), ("402 Payment Required", credit)] {
        let server = Server::start(vec![Answer::new(status, "", &body.to_string())]).await;
        let error = ask_with(settings(&server)).await.0.unwrap_err();
        assert!(matches!(error, Error::QuotaExhausted { .. }), "{error}");
        assert!(error.to_string().contains("has no quota left") && error.concerns_the_server());
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn another_attempt_is_told_before_it_is_made() {
    let busy = Answer::new("503 Service Unavailable", "", r#"{"error": "busy"}"#);
    let server = Server::start(vec![busy, Answer::events(&HELLO, true)]).await;
    let model = ApiModel::new(settings(&server), &client()).unwrap();
    let messages = [Message::user("Hi")];
    let request = ChatRequest::new("m", &messages);
    let mut notices = Vec::new();
    let mut sink = |piece: Piece<'_>| {
        if let Piece::Notice(notice) = piece {
            notices.push(notice.to_owned());
        }
    };
    assert_eq!(model.complete(&request, &mut sink).await.unwrap().content, "Hello");
    assert_eq!(notices.len(), 1);
    assert!(
        notices[0].contains("answered 503: busy") && notices[0].contains("asking again in 0."),
        "{notices:?}"
    );
}

#[tokio::test]
async fn a_refusal_is_told_apart_from_an_answer() {
    for refusal in [
        r#"{"choices":[{"index":0,"delta":{"refusal":"I cannot."},"finish_reason":"stop"}]}"#,
        r#"{"choices":[{"index":0,"message":{"content":null,"refusal":"I cannot."},"finish_reason":"stop"}]}"#,
    ] {
        let server = Server::start(vec![Answer::events(&[refusal, "[DONE]"], true)]).await;
        let reply = ask_with(settings(&server)).await.0.unwrap();
        assert_eq!((reply.content.as_str(), reply.finish_reason.as_deref()), ("I cannot.", Some("refusal")));
    }
}
