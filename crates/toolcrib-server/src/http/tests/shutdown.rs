//! What the clients of requests that never end read when the server shuts down.

use super::*;

impl Served {
    /// Shuts down as soon as the tool that never ends has begun, and returns what its client reads.
    async fn shut_down_during(self, mut hanging: TcpStream, is_streamed: bool) -> String {
        self.begun.notified().await;
        let notice = self.server.shutdown_notice().unwrap();
        assert_eq!(notice, "waiting up to 10 s for running calls: `shop.hang`");
        if is_streamed {
            // The response has begun.
            hanging.readable().await.unwrap();
        }
        // The time that calls have to end passes at once.
        tokio::time::pause();
        self.leave.notify_one();
        let answer = read(&mut hanging).await;
        tokio::time::resume();
        self.end().await;
        answer
    }
}

fn assert_interrupted(answer: &str) {
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let message = message(answer);
    assert_eq!((&message["id"], &message["error"]["code"]), (&json!(7), &json!(-32603)), "{answer}");
    assert_eq!(
        answer.matches("the server was shut down before the request had ended").count(),
        1,
        "{answer}"
    );
}

#[tokio::test]
async fn a_call_that_the_shutdown_interrupts_is_answered_with_an_error() {
    let served = Served::start().await;
    let hanging = served.send(&call("shop__hang")).await;
    let answer = served.shut_down_during(hanging, false).await;
    assert!(!answer.contains("text/event-stream"), "{answer}");
    assert_interrupted(&answer);
}

#[tokio::test]
async fn a_stream_that_the_shutdown_interrupts_ends_with_an_error() {
    let served = Served::start().await;
    let meta = json!({"progressToken": 1});
    let hanging = served.send(&call_with_meta("shop__hang", &json!({}), &meta)).await;
    let answer = served.shut_down_during(hanging, true).await;
    assert!(answer.contains("notifications/progress"), "{answer}");
    assert_interrupted(&answer);
}

#[tokio::test]
async fn a_call_in_a_session_that_the_shutdown_interrupts_is_answered_with_an_error() {
    let served = Served::start().await;
    let session = served.session("2025-11-25").await;
    let hanging = served.send(&session.call("shop__hang")).await;
    let answer = served.shut_down_during(hanging, true).await;
    assert_interrupted(&answer);
}
