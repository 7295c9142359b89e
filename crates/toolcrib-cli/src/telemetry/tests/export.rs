//! On the way to a collector.

use std::time::Duration;

use toolcrib_testkit::{Collector, wait_until};
use tracing::info_span;
use tracing::subscriber::with_default;

use super::{flagged, noting};
use crate::telemetry::{FLUSH_TIMEOUT, Sender};

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Something that sends as many spans to an address.
fn sending(endpoint: &str, count: usize) -> Sender {
    let (subscriber, spans, counts) = noting(10_000);
    with_default(subscriber, || (0..count).for_each(|_| drop(info_span!("x"))));
    let settings = flagged(endpoint);
    Sender::start(settings.traces, settings.resource, (spans, counts)).unwrap()
}

#[tokio::test]
async fn all_spans_arrive_in_bounded_batches_before_the_process_ends() {
    let collector = Collector::start().await.unwrap();
    let telemetry = sending(&collector.endpoint(), 1300);
    assert_eq!(telemetry.finish().await, None);
    assert_eq!(collector.spans().len(), 1300);
    assert!(collector.exports().iter().all(|export| export.headers["content-type"] == "application/json"));
    assert!(collector.exports().len() >= 3);
}

#[tokio::test]
async fn spans_are_sent_while_the_process_runs() {
    let collector = Collector::start().await.unwrap();
    let _telemetry = sending(&collector.endpoint(), 1);
    let arrived = || Ok((collector.spans().len() == 1).then_some(()));
    wait_until("the span", PATIENCE, arrived).await.unwrap();
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let busy = Collector::answering([503]).await.unwrap();
    let telemetry = sending(&busy.endpoint(), 1);
    let arrived = || Ok((busy.spans().len() == 1).then_some(()));
    wait_until("the span", PATIENCE, arrived).await.unwrap();
    assert_eq!(telemetry.finish().await, None);
    assert_eq!(busy.exports().len(), 2);

    let refusing = Collector::answering([400]).await.unwrap();
    let unsent = sending(&refusing.endpoint(), 2).finish().await.unwrap();
    assert!(unsent.starts_with("2 spans were not sent to http://127.0.0.1:"), "{unsent}");
    assert!(unsent.ends_with("the collector answered 400 Bad Request"), "{unsent}");
    assert_eq!(refusing.exports().len(), 1);
}

#[tokio::test]
async fn a_dead_collector_is_told_of_and_not_waited_for() {
    // A port where nobody listens.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let telemetry = sending(&format!("http://127.0.0.1:{port}"), 1);
    let finished = tokio::time::timeout(PATIENCE, telemetry.finish()).await.unwrap().unwrap();
    assert!(finished.starts_with("1 span was not sent to http://127.0.0.1:"), "{finished}");
}

#[tokio::test]
async fn a_collector_that_never_answers_is_given_up_in_the_end() {
    let collector = Collector::silent().await.unwrap();
    let telemetry = sending(&collector.endpoint(), 3);
    let asked = || Ok((!collector.exports().is_empty()).then_some(()));
    wait_until("the request", PATIENCE, asked).await.unwrap();
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    let unsent = telemetry.finish().await.unwrap();
    let waited = before.elapsed();
    assert!(waited >= FLUSH_TIMEOUT && waited < FLUSH_TIMEOUT + Duration::from_secs(1), "{waited:?}");
    assert!(unsent.starts_with("3 spans were") && unsent.ends_with("did not answer within 5 s"), "{unsent}");
}
