//! A source that does not answer is left alone for a while.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use toolcrib_model::{ErrorKind, ToolError};

use super::super::circuit_breaker::{AttemptReport, BreakerSettings, CircuitBreaker, CircuitOpen};
use super::*;

/// Plays a script against a breaker that opens after three failures, for 5 to 20 seconds.
///
/// `ok`, `fail`, `nothing`: a call that ends so. `+5`: five seconds pass. `held:5`: a call is held back for five seconds
/// more. `begin`: a call begins; `end:ok`: the one that began first ends.
fn play(script: &str) {
    let rules =
        BreakerSettings { failures: NonZeroU32::new(3).unwrap(), open: seconds(5), max_open: seconds(20) };
    let mut breaker = CircuitBreaker::new(Some(rules));
    let mut now = Instant::now();
    let mut in_flight = VecDeque::new();
    let report = |word| match word {
        "ok" => AttemptReport::Works,
        "fail" => AttemptReport::Fails,
        "nothing" => AttemptReport::Nothing,
        other => panic!("`{other}` is no report"),
    };
    for (position, word) in script.split_whitespace().enumerate() {
        let permit = format!("{script}, word {position}");
        if let Some(passed) = word.strip_prefix('+') {
            now += seconds(passed.parse().unwrap());
        } else if let Some(expected) = word.strip_prefix("held:") {
            let Err(CircuitOpen { retry_after, .. }) = breaker.admit(|| now) else {
                panic!("{permit}: let through")
            };
            assert_eq!(retry_after, seconds(expected.parse().unwrap()), "{permit}");
        } else if word == "begin" {
            in_flight.push_back(breaker.admit(|| now).expect(&permit));
        } else if let Some(end) = word.strip_prefix("end:") {
            breaker.settle(in_flight.pop_front().expect(&permit), report(end), || now);
        } else {
            let ticket = breaker.admit(|| now).expect(&permit);
            breaker.settle(ticket, report(word), || now);
        }
    }
}

#[test]
fn a_circuit_opens_probes_and_closes_by_the_table() {
    for script in [
        // Failures in a row open it, and only those.
        "fail fail fail held:5 +4 held:1",
        "fail fail ok fail fail ok",
        "fail nothing fail nothing fail held:5",
        // One call probes, and the others are held back for as long again at most.
        "fail fail fail +5 begin held:5 +1 held:4 end:ok ok fail fail ok",
        // A probe that fails doubles the time, up to the bound; one that succeeds resets it.
        "fail fail fail +5 fail held:10 +10 fail held:20 +20 fail held:20",
        "fail fail fail +5 fail +10 ok fail fail fail held:5",
        // A probe that reports nothing leaves the probing to the next call.
        "fail fail fail +5 nothing ok fail fail ok",
        "fail fail fail +5 nothing fail held:10",
        // A call from before decides nothing about what came after.
        "begin fail fail fail end:ok held:5",
        "begin fail fail fail end:fail held:5 +5 ok",
        "begin fail fail fail +5 begin end:ok held:5 end:fail held:10",
        "begin fail fail fail +5 begin end:fail held:5 end:ok ok",
        // A probe that is lost is replaced, and decides nothing any more.
        "fail fail fail +5 begin held:5 +5 begin held:5 end:fail held:5 end:ok ok",
        // A failure is forgotten when none follows it for five minutes.
        "fail fail +301 fail fail ok",
        "fail fail +299 fail held:5",
    ] {
        play(script);
    }
}

#[test]
fn only_what_the_source_is_at_fault_for_counts_against_it() {
    let call = plain("far");
    let report = |kind| AttemptReport::of(&failure(&call, kind));
    assert_eq!(AttemptReport::of(&call.ok("fine")), AttemptReport::Works);
    for kind in [ErrorKind::Timeout, ErrorKind::Unavailable, ErrorKind::Overloaded, ErrorKind::OutcomeUnknown]
    {
        assert_eq!(report(kind), AttemptReport::Fails, "{kind}");
    }
    for kind in [ErrorKind::ToolFailed, ErrorKind::InvalidArgs, ErrorKind::NotFound, ErrorKind::InputRequired]
    {
        assert_eq!(report(kind), AttemptReport::Works, "{kind}");
    }
    for kind in [ErrorKind::Cancelled, ErrorKind::Internal, ErrorKind::Denied, ErrorKind::LimitReached] {
        assert_eq!(report(kind), AttemptReport::Nothing, "{kind}");
    }
    let not_installed = ToolError::new(ErrorKind::Unavailable, "no such program").with_retryable(false);
    assert_eq!(AttemptReport::of(&call.failed(not_installed)), AttemptReport::Nothing);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_down_is_left_alone_and_recovers_without_a_restart() {
    let flow = FlowControl::default();
    let (here, there) = (plain("here"), plain("there"));
    let attempts = Count::default();
    let ask = |answer: Option<ErrorKind>| {
        let (flow, attempts, here) = (&flow, &attempts, &here);
        async move {
            flow.go(here, within(60), || async {
                attempts.up();
                answer.map_or_else(|| here.ok("fine"), |kind| failure(here, kind))
            })
            .await
        }
    };
    for _ in 0..5 {
        ask(Some(ErrorKind::Unavailable)).await;
    }
    let held = ask(None).await;
    assert_eq!((kind_of(&held), attempts.get()), (Some(ErrorKind::Unavailable), 5));
    assert_eq!(held.metadata["retry_after_ms"], 5000);
    assert!(error_of(held).retryable);
    let other = flow.go(&there, within(60), || async { there.ok("fine") }).await;
    assert!(other.is_ok(), "another source is not concerned");

    pass(seconds(5)).await;
    assert!(ask(None).await.is_ok(), "the probe");
    assert!(ask(None).await.is_ok(), "and all that follow");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_stays_down_sees_few_attempts() {
    let flow = FlowControl::default();
    let call = call(idempotent("plain"), "down");
    let attempts = Count::default();
    let started = Instant::now();
    while started.elapsed() < seconds(600) {
        flow.go(&call, within(60), || async {
            attempts.up();
            failure(&call, ErrorKind::Unavailable)
        })
        .await;
        pass(millis(100)).await;
    }
    // Five to open it, and one each after 5, 10, 20, 40, 60, 60 … seconds.
    assert!((10..=25).contains(&attempts.get()), "{attempts:?}");
}

#[tokio::test(start_paused = true)]
async fn tools_that_fail_leave_their_source_open() {
    let flow = FlowControl::default();
    let call = plain("far");
    for _ in 0..100 {
        let result = flow.go(&call, within(60), || async { failure(&call, ErrorKind::ToolFailed) }).await;
        assert_eq!(kind_of(&result), Some(ErrorKind::ToolFailed));
    }
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_a_source_learn_that_it_went_down() {
    let flow = flow(json!({"source": {"max_concurrency": 5}}));
    let call = plain("far");
    let attempts = Count::default();
    let started = Instant::now();
    let calls = (0..20).map(|_| {
        flow.go(&call, within(60), || async {
            attempts.up();
            pass(seconds(10)).await;
            failure(&call, ErrorKind::Timeout)
        })
    });
    let results = futures::future::join_all(calls).await;
    assert_eq!((attempts.get(), started.elapsed()), (5, seconds(10)));
    let held = results.iter().filter(|result| kind_of(result) == Some(ErrorKind::Unavailable)).count();
    assert_eq!(held, 15);
}
