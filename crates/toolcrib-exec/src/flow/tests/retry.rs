//! What is tried again, and what never is.

use tokio_util::sync::CancellationToken;
use toolcrib_model::ToolError;

use super::*;

/// All kinds that an engine may answer with, as it writes them.
const KINDS: [ErrorKind; 10] = [
    ErrorKind::Timeout,
    ErrorKind::Unavailable,
    ErrorKind::Overloaded,
    ErrorKind::OutcomeUnknown,
    ErrorKind::ToolFailed,
    ErrorKind::InvalidArgs,
    ErrorKind::Cancelled,
    ErrorKind::Internal,
    ErrorKind::NotFound,
    ErrorKind::InputRequired,
];

/// How often a call is attempted that fails so each time, what it came to, and how long that took.
async fn attempts(
    flow: &FlowControl,
    call: &Authorized<Call>,
    error: ToolError,
) -> (usize, ToolResult, Duration) {
    let attempts = Count::default();
    let started = Instant::now();
    let result = flow
        .go(call, within(60), || async {
            attempts.up();
            call.failed(error.clone())
        })
        .await;
    (attempts.get(), result, started.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_idempotent_is_attempted_once_whatever_happens() {
    for tool in [tool("plain"), tool("plain").with_risk(toolcrib_model::Risk::Low)] {
        for kind in KINDS {
            for retryable in [true, false] {
                let call = call(tool.clone(), "far");
                let error = ToolError::new(kind, "as told").with_retryable(retryable);
                let (count, result, took) = attempts(&FlowControl::default(), &call, error.clone()).await;
                assert_eq!((count, took), (1, Duration::ZERO), "{kind}");
                assert_eq!(result.error, Some(error), "what came of it is handed on as it is");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_idempotent_tool_is_tried_again_when_the_failure_may_pass() {
    let call = call(idempotent("plain"), "far");
    for kind in KINDS {
        let (count, result, took) =
            attempts(&FlowControl::default(), &call, ToolError::new(kind, "as told")).await;
        let passes = kind.is_retryable() || kind == ErrorKind::OutcomeUnknown;
        assert_eq!(count, if passes { 3 } else { 1 }, "{kind}");
        assert_eq!(kind_of(&result), Some(kind));
        if passes {
            // Half to all of 200 ms, and of 400 ms.
            assert!((millis(300)..=millis(605)).contains(&took), "{kind}: {took:?}");
            assert_eq!(result.metadata["attempts"], 3);
        }
    }
    let told = ToolError::new(ErrorKind::ToolFailed, "503").with_retryable(true);
    assert_eq!(attempts(&FlowControl::default(), &call, told).await.0, 3);
}

#[tokio::test(start_paused = true)]
async fn the_first_attempt_that_succeeds_is_the_last() {
    let (flow, call, attempts) = (FlowControl::default(), call(idempotent("plain"), "far"), Count::default());
    let result = flow
        .go(&call, within(60), || async {
            if attempts.up() == 2 { call.ok("fine") } else { failure(&call, ErrorKind::Unavailable) }
        })
        .await;
    assert_eq!((result.result, attempts.get()), (json!("fine"), 2));
    assert_eq!(result.metadata["attempts"], 2);
}

#[tokio::test(start_paused = true)]
async fn settings_say_how_often() {
    let call = call(idempotent("plain"), "far");
    for (settings, expected) in [
        (json!({"source": {"retries": 0}}), 1),
        (json!({"source": {"retries": 3}}), 4),
        (json!({"source": {"retries": 3}, "sources": {"far": {"retries": 1}}}), 2),
        (json!({"sources": {"far": {"retries": 1}}, "tools": {"t::plain": {"retries": 2}}}), 3),
        (json!({"source": {"retries": 1000, "breaker": {"failures": 0}}}), 11),
    ] {
        let error = ToolError::new(ErrorKind::Unavailable, "as told");
        assert_eq!(attempts(&flow(settings.clone()), &call, error).await.0, expected, "{settings}");
    }
}

#[tokio::test(start_paused = true)]
async fn there_is_no_retry_that_the_deadline_leaves_no_time_for() {
    let (flow, call, attempts) = (FlowControl::default(), call(idempotent("plain"), "far"), Count::default());
    let (started, deadline) = (Instant::now(), Instant::now() + millis(250));
    let result = flow
        .go(&call, Some(deadline), || async {
            attempts.up();
            failure(&call, ErrorKind::Unavailable)
        })
        .await;
    // After 100 to 200 ms there is a second, and for a third, 200 to 400 ms later, no time.
    assert_eq!((attempts.get(), kind_of(&result)), (2, Some(ErrorKind::Unavailable)));
    assert!(started.elapsed() <= millis(205), "it does not wait for the deadline in vain");
}

#[tokio::test(start_paused = true)]
async fn a_server_says_when_it_wants_to_be_asked_again() {
    let call = call(idempotent("plain"), "far");
    for (asked, expected) in [(3_000, Some(seconds(3))), (60_000, None)] {
        let (flow, attempts, started) = (FlowControl::default(), Count::default(), Instant::now());
        flow.go(&call, within(120), || async {
            if attempts.up() == 1 {
                return failure(&call, ErrorKind::Overloaded).with_metadata("retry_after_ms", asked);
            }
            call.ok("fine")
        })
        .await;
        assert_eq!(attempts.get(), if expected.is_some() { 2 } else { 1 });
        assert_eq!(started.elapsed(), expected.unwrap_or_default());
    }
}

#[tokio::test(start_paused = true)]
async fn retries_stay_a_share_of_all_calls_when_everything_fails() {
    let flow = flow(json!({"source": {"breaker": {"failures": 0}}}));
    let call = call(idempotent("plain"), "far");
    let (attempts, started) = (Count::default(), Instant::now());
    for _ in 0..500 {
        flow.go(&call, None, || async {
            attempts.up();
            failure(&call, ErrorKind::Unavailable)
        })
        .await;
    }
    // A fifth of the calls, the reserve of ten, and what came back of it at one a second.
    let granted = 500 + 100 + 10 + usize::try_from(started.elapsed().as_secs()).unwrap() + 1;
    assert!((601..=granted).contains(&attempts.get()), "{attempts:?} of {granted}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_gives_up_ends_the_pause_before_a_retry() {
    let (flow, call, attempts) = (FlowControl::default(), call(idempotent("plain"), "far"), Count::default());
    let cancel = CancellationToken::new();
    let context = CallContext::new("s").with_cancel(cancel.clone());
    let above = CallChain::default();
    let running = flow.run(&call, &context, &above, within(60), false, |_| async {
        attempts.up();
        failure(&call, ErrorKind::Unavailable)
    });
    let started = Instant::now();
    let (result, ()) = tokio::join!(running, async {
        pass(millis(50)).await;
        cancel.cancel();
    });
    assert_eq!((attempts.get(), started.elapsed()), (1, millis(50)));
    assert_eq!(kind_of(&result), Some(ErrorKind::Unavailable), "what the attempt came to");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_held_during_the_pause_before_a_retry() {
    let flow = flow(json!({"source": {"max_concurrency": 1}}));
    let failing = call(idempotent("plain"), "far");
    let other = call(tool("other"), "far");
    let started = Instant::now();
    let first = flow.go(&failing, within(60), || async { failure(&failing, ErrorKind::Unavailable) });
    let second = async {
        flow.go(&other, within(60), || async { other.ok("fine") }).await;
        started.elapsed()
    };
    let (_, second) = tokio::join!(first, second);
    assert_eq!(second, Duration::ZERO);
}
