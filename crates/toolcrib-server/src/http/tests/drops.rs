//! Requests whose clients go away before they are answered.

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use http_body_util::BodyExt as _;
use toolcrib_testkit::{dropped_after, wait_until};

use super::*;

/// The most polls that a request of these tests takes.
const MAX_POLLS: usize = 200;

/// A request as hyper hands it over, from the text of one.
fn parsed(text: &[u8]) -> http::Request<Body> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let mut words = lines.next().unwrap().split(' ');
    let mut builder = http::Request::builder().method(words.next().unwrap()).uri(words.next().unwrap());
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        builder = builder.header(name, value);
    }
    builder.body(Body::from(body.to_owned())).unwrap()
}

impl Served {
    /// Answers a request as a connection does, to the end of the response.
    async fn respond(&self, text: &[u8]) -> (http::StatusCode, String) {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let response = endpoint::mcp(State(self.state()), ConnectInfo(address), parsed(text)).await;
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// Waits until nothing is left of the requests before.
    async fn becomes_idle(&self, polls: usize) {
        let (shared, state) = (&self.server.shared, self.state());
        let is_idle = || {
            shared.metrics.running.load(std::sync::atomic::Ordering::Relaxed) == 0
                && state.bodies.used() == 0
                && state.rules().rate_limiter.open() == 0
        };
        timeout(PATIENCE, shared.idle()).await.unwrap_or_else(|_| panic!("a call runs after {polls} polls"));
        let what = format!("the end of everything after {polls} polls");
        wait_until(&what, PATIENCE, || Ok(is_idle().then_some(()))).await.unwrap();
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_at_any_await_leaves_nothing_behind() {
    let served = Served::start().await;
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let answered = dropped_after(polls, Box::pin(served.respond(&call("shop__who")))).await;
        served.becomes_idle(polls).await;
        if let Some((status, answer)) = answered {
            assert_eq!((status, message(&answer)["error"].clone()), (http::StatusCode::OK, Value::Null));
            break;
        }
    }
    served.end().await;
}

#[tokio::test]
async fn a_request_in_a_session_that_is_dropped_at_any_await_leaves_its_id_free() {
    let served = Served::start().await;
    let session = served.session("2025-11-25").await;
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let answered = dropped_after(polls, Box::pin(served.respond(&session.call("shop__who")))).await;
        served.becomes_idle(polls).await;
        let (status, again) = served.respond(&session.call("shop__who")).await;
        assert_eq!(status, http::StatusCode::OK, "dropped after {polls} polls: {again}");
        assert!(again.contains("structuredContent"), "dropped after {polls} polls: {again}");
        if answered.is_some() {
            break;
        }
    }
    served.end().await;
}

#[tokio::test]
async fn a_session_whose_beginning_is_dropped_at_any_await_is_not_there() {
    let served = Served::start().await;
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let answered = dropped_after(polls, Box::pin(served.respond(&initialize()))).await;
        served.becomes_idle(polls).await;
        if answered.is_some() {
            break;
        }
        let state = served.state();
        let what = format!("the end of the session after {polls} polls");
        wait_until(&what, PATIENCE, || Ok((state.sessions.count() == 0).then_some(()))).await.unwrap();
    }
    served.end().await;
}

#[tokio::test]
async fn a_call_whose_client_goes_away_ends() {
    let served = Served::start().await;
    let before = Arc::strong_count(&served.begun);
    for meta in [json!({}), json!({"progressToken": 1})] {
        let hanging = served.send(&call_with_meta("shop__hang", &json!({}), &meta)).await;
        served.begun.notified().await;
        assert!(Arc::strong_count(&served.begun) > before);
        drop(hanging);
        served.becomes_idle(0).await;
        assert_eq!(Arc::strong_count(&served.begun), before);
    }
    served.end().await;
}
