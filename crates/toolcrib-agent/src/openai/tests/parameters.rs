//! What a request says of how the model is to write.

use serde_json::json;

use super::super::parameters::{MAX_EXTRA_KEYS, MAX_STOPS, Parameters};
use super::{Answer, HELLO, Server, ask_with, client, settings};
use crate::openai::settings::OpenAiSettings;
use crate::{Error, OpenAiModel, Provider};

#[tokio::test]
async fn parameters_are_sent_and_absent_ones_are_not() {
    let extra = json!({"reasoning_effort": "low", "messages": [], "temperature": 2, "response_format": {"type": "text"}});
    let parameters = Parameters {
        temperature: Some(0.2),
        top_p: Some(0.9),
        max_tokens: Some(512),
        stop: vec!["END".to_owned()],
        seed: Some(-7),
        extra: extra.as_object().cloned().unwrap(),
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

#[test]
fn the_most_tokens_have_the_key_that_the_server_knows() {
    for (base_url, key) in [(None, "max_completion_tokens"), (Some("http://localhost:1/v1"), "max_tokens")] {
        let mut settings = OpenAiSettings::new(Provider::OpenAi)
            .with_api_key(toolcrib_model::Secret::new("sk"))
            .with_parameters(Parameters { max_tokens: Some(5), ..Parameters::default() });
        settings.base_url = base_url.map(str::to_owned);
        let model = OpenAiModel::new(settings, &client()).unwrap();
        assert_eq!(model.endpoint.max_tokens_key, key);
    }
}

#[test]
fn parameters_that_no_server_takes_are_refused() {
    let extra = |value: serde_json::Value| value.as_object().cloned().unwrap();
    let many = (0..=MAX_EXTRA_KEYS).map(|key| (key.to_string(), json!(1))).collect();
    let default = Parameters::default;
    assert_eq!(default().problem(), None);
    for (parameters, key) in [
        (Parameters { temperature: Some(2.1), ..default() }, "temperature"),
        (Parameters { temperature: Some(f64::NAN), ..default() }, "temperature"),
        (Parameters { top_p: Some(-0.1), ..default() }, "top_p"),
        (Parameters { max_tokens: Some(0), ..default() }, "max_tokens"),
        (Parameters { stop: vec![String::new()], ..default() }, "stop"),
        (Parameters { stop: vec!["x".to_owned(); MAX_STOPS + 1], ..default() }, "stop"),
        (Parameters { extra: extra(json!({"messages": []})), ..default() }, "extra"),
        (Parameters { extra: extra(json!({"x": "y".repeat(17_000)})), ..default() }, "extra"),
        (Parameters { extra: many, ..default() }, "extra"),
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
    use crate::chat::{ChatRequest, Piece, ToolChoice};
    use crate::{ChatModel as _, Message};
    let busy = Answer::new("503 Service Unavailable", "", r#"{"error": "busy"}"#);
    let server = Server::start(vec![busy, Answer::events(&HELLO, true)]).await;
    let model = OpenAiModel::new(settings(&server), &client()).unwrap();
    let messages = [Message::user("Hi")];
    let request = ChatRequest {
        model: "m",
        system: "",
        tools: &[],
        messages: &messages,
        tool_choice: &ToolChoice::Auto,
    };
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
