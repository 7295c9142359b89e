//! What a webhook promises.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::time::Instant;
use toolcrib_io::http::HttpClient;
use toolcrib_model::{ErrorKind, Secret, ToolError};
use toolcrib_port::CallContext;
use toolcrib_testkit::{Canary, Hit};
use url::Url;

use super::WebhookChannel;
use crate::Channel;
use crate::channels::Message;
use crate::channels::retry::{Attempt, DELIVERY_TIME, FIRST_PAUSE, MAX_ATTEMPTS, MAX_PAUSE, deliver};

const SECRET: &str = "a secret that both sides have";

fn channel(url: &str, allow_private: bool) -> WebhookChannel {
    let http = HttpClient::new(WebhookChannel::http_policy(allow_private)).unwrap();
    let channel = WebhookChannel::new(http, Url::parse(url).unwrap(), &Secret::new(SECRET)).unwrap();
    channel.with_first_pause(Duration::from_millis(1))
}

fn message(run_key: Option<&str>) -> Message<'_> {
    Message {
        channel: "ops",
        at: "2026-03-01T09:00:00Z".parse().unwrap(),
        text: "The lamps\nare back.",
        run_key,
        context: CallContext::new("s").with_agent("clerk"),
    }
}

/// Answers the requests in turn with these, and all further ones with the last.
async fn server(answers: &'static [u16]) -> Canary {
    Canary::start(move |hit: &Hit| -> Response {
        let status = answers.get(hit.number - 1).or(answers.last()).unwrap();
        StatusCode::from_u16(*status).unwrap().into_response()
    })
    .await
    .unwrap()
}

fn signed(hit: &Hit) -> String {
    let mut code = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    code.update(format!("{}.{}.", hit.header("webhook-id"), hit.header("webhook-timestamp")).as_bytes());
    code.update(hit.body.as_bytes());
    format!("v1,{}", STANDARD.encode(code.finalize().into_bytes()))
}

#[tokio::test]
async fn a_message_arrives_once_signed_and_under_the_key_of_its_run() {
    let server = server(&[204]).await;
    channel(&server.url("/hook"), true).send(&message(Some("run_1"))).await.unwrap();
    let [hit] = server.hits().try_into().unwrap();
    assert_eq!((hit.method.as_str(), hit.uri.as_str()), ("POST", "/hook"));
    let body: Value = serde_json::from_str(&hit.body).unwrap();
    assert_eq!(
        body,
        json!({"id": "run_1", "at": "2026-03-01T09:00:00Z", "channel": "ops",
               "message": "The lamps\nare back.", "agent": "clerk"})
    );
    assert_eq!([hit.header("webhook-id"), hit.header("idempotency-key")], ["run_1"; 2]);
    assert_eq!(hit.header("content-type"), "application/json");
    assert_eq!(hit.header("webhook-timestamp"), "1772355600");
    assert_eq!(hit.header("webhook-signature"), signed(&hit));
}

#[tokio::test]
async fn what_may_succeed_later_is_sent_again_as_the_same_message() {
    let server = server(&[500, 429, 408, 503, 200]).await;
    channel(&server.url("/"), true).send(&message(Some("run_1"))).await.unwrap();
    let hits = server.hits();
    assert_eq!(hits.len(), 5);
    for hit in &hits {
        assert_eq!((hit.header("webhook-id"), &hit.body), ("run_1", &hits[0].body));
        assert_eq!(hit.header("webhook-signature"), signed(hit));
    }
}

#[tokio::test]
async fn a_message_without_a_run_has_an_id_of_its_own() {
    let server = server(&[500, 200]).await;
    let channel = channel(&server.url("/"), true);
    channel.send(&message(None)).await.unwrap();
    channel.send(&message(None)).await.unwrap();
    let ids: Vec<String> = server.hits().iter().map(|hit| hit.header("webhook-id").to_owned()).collect();
    assert_eq!(ids[0], ids[1], "the second attempt at the first message");
    assert_ne!(ids[1], ids[2]);
}

#[tokio::test]
async fn what_is_not_taken_is_not_sent_again() {
    for status in [400, 401, 404, 410, 302, 304, 101] {
        let server = Canary::start(move |_: &Hit| {
            (StatusCode::from_u16(status).unwrap(), [("location", "/elsewhere")]).into_response()
        })
        .await
        .unwrap();
        let error = channel(&server.url("/"), true).send(&message(Some("run_1"))).await.unwrap_err();
        assert_eq!((error.kind, error.retryable), (ErrorKind::ToolFailed, false), "{status}: {error}");
        assert_eq!(server.hits().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_server_that_stays_down_is_given_up_and_its_address_is_not_told() {
    let failing = server(&[503]).await;
    let error =
        channel(&failing.url("/hooks/key-5f2c"), true).send(&message(Some("run_1"))).await.unwrap_err();
    assert_eq!(failing.hits().len(), MAX_ATTEMPTS as usize);
    insta::assert_snapshot!(error.to_string(), @"unavailable: the channel `ops` was not reached in 5 attempts: its server answered with status 503 (it may have arrived anyway; its receiver recognizes it by its id)");
    let port = server(&[200]).await.port();
    let gone = format!("http://127.0.0.1:{port}/hooks/key-5f2c");
    let error = channel(&gone, true).send(&message(Some("run_1"))).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(!error.to_string().contains("key-5f2c"), "{error}");
}

#[tokio::test]
async fn no_private_address_is_reached_unless_that_is_allowed() {
    let server = server(&[200]).await;
    let error = channel(&server.url("/"), false).send(&message(Some("run_1"))).await.unwrap_err();
    assert_eq!((error.kind, error.retryable), (ErrorKind::ToolFailed, false), "{error}");
    assert!(error.message.contains("private addresses must be allowed"), "{error}");
    assert!(server.hits().is_empty());
}

#[tokio::test]
async fn an_id_that_cannot_stand_in_a_header_sends_nothing() {
    let server = server(&[200]).await;
    let error = channel(&server.url("/"), true).send(&message(Some("a\r\nb: c"))).await.unwrap_err();
    assert!(error.message.ends_with("its id is not a valid header value"), "{error}");
    assert!(server.hits().is_empty());
}

/// Delivers by attempts that come out in this way, and says at which second each was made.
async fn attempts(outcome: impl Fn(u32) -> Attempt) -> (Vec<u64>, Result<(), ToolError>) {
    let (began, made) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let attempt = |number| {
        made.lock().push(began.elapsed().as_secs());
        std::future::ready(outcome(number))
    };
    let delivered = deliver("ops", FIRST_PAUSE, attempt).await;
    let made = made.lock().clone();
    (made, delivered)
}

fn failed(wait: Option<u64>) -> Attempt {
    Attempt::Failed { why: "down".to_owned(), wait: wait.map(Duration::from_secs) }
}

#[tokio::test(start_paused = true)]
async fn each_pause_is_twice_as_long_as_the_one_before() {
    let (made, delivered) = attempts(|_| failed(None)).await;
    assert_eq!(made, [0, 1, 3, 7, 15]);
    assert!(delivered.unwrap_err().message.contains("in 5 attempts"));
    let (made, delivered) =
        attempts(|number| if number < 3 { failed(None) } else { Attempt::Delivered }).await;
    assert_eq!((made, delivered), (vec![0, 1, 3], Ok(())));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_wants_a_longer_pause_gets_it_within_bounds() {
    let (made, _) = attempts(|number| failed(Some(if number == 1 { 5 } else { 3_600 }))).await;
    let most = MAX_PAUSE.as_secs();
    assert_eq!(made, [0, 5, 5 + most, 5 + 2 * most, 5 + 3 * most]);
}

#[tokio::test(start_paused = true)]
async fn all_attempts_together_have_their_time() {
    let began = Instant::now();
    let never = |_| std::future::pending::<Attempt>();
    let error = deliver("ops", FIRST_PAUSE, never).await.unwrap_err();
    assert_eq!(began.elapsed().as_secs(), DELIVERY_TIME.as_secs());
    assert!(error.message.ends_with("the time limit of 120 s has passed"), "{error}");
}
