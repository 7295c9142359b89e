//! The same call made twice at the same time runs once.

use futures::FutureExt;
use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::*;

fn look() -> Authorized<Call> {
    call(cacheable(json!({"ttl_seconds": 0})), "far")
}

/// Runs the call for a second, and says how many there were.
async fn slowly(call: &Call, attempts: &Count) -> ToolResult {
    let number = attempts.up();
    pass(seconds(1)).await;
    call.ok(number)
}

#[tokio::test(start_paused = true)]
async fn the_same_call_runs_once_at_a_time() {
    let (flow, call, attempts) = (FlowControl::default(), look(), Count::default());
    for round in [1, 2] {
        let results =
            join_all((0..50).map(|_| flow.go(&call, within(60), || slowly(&call, &attempts)))).await;
        assert!(results.iter().all(|result| result.result == round));
        assert!(!results[0].metadata.contains_key("shared"), "the leader's is its own");
        assert!(results[1..].iter().all(|result| result.metadata["shared"] == true));
    }
    assert_eq!(flow.usage(), Usage::default());
}

#[tokio::test(start_paused = true)]
async fn another_principal_runs_its_own() {
    let (flow, call, attempts) = (FlowControl::default(), look(), Count::default());
    let contexts = [CallContext::new("a"), CallContext::new("b"), CallContext::new("a").with_agent("c")];
    let above = CallChain::default();
    let calls = contexts
        .iter()
        .map(|context| flow.run(&call, context, &above, within(60), false, |_| slowly(&call, &attempts)));
    let results = join_all(calls).await;
    assert_eq!(attempts.get(), 3);
    assert!(results.iter().all(|result| !result.metadata.contains_key("shared")));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_dropped_hands_over() {
    let (flow, call, attempts) = (FlowControl::default(), look(), Count::default());
    let leader = flow.go(&call, within(60), || slowly(&call, &attempts));
    let followers = join_all((0..3).map(|_| flow.go(&call, within(60), || slowly(&call, &attempts))));
    let started = Instant::now();
    let (dropped, followers) = tokio::join!(tokio::time::timeout(millis(500), leader), followers);
    assert!(dropped.is_err());
    assert_eq!(started.elapsed(), millis(1_500));
    assert_eq!(attempts.get(), 2);
    assert!(followers.iter().all(|result| result.result == 2));
    assert_eq!(flow.usage(), Usage::default());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_given_up_or_out_of_time_hands_over() {
    for kind in [ErrorKind::Cancelled, ErrorKind::Timeout] {
        let (flow, call, attempts) = (FlowControl::default(), look(), Count::default());
        let leader = flow.go(&call, within(1), || async {
            attempts.up();
            pass(seconds(1)).await;
            failure(&call, kind)
        });
        let follower = flow.go(&call, within(60), || slowly(&call, &attempts));
        let (leader, follower) = tokio::join!(leader, follower);
        assert_eq!(kind_of(&leader), Some(kind));
        assert_eq!(follower.result, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_call_itself_is_everybodys() {
    let (flow, call, attempts) = (FlowControl::default(), look(), Count::default());
    let calls = (0..10).map(|_| {
        flow.go(&call, within(60), || async {
            attempts.up();
            pass(seconds(1)).await;
            failure(&call, ErrorKind::ToolFailed)
        })
    });
    let results = join_all(calls).await;
    assert_eq!(attempts.get(), 1);
    assert!(results.iter().all(|result| kind_of(result) == Some(ErrorKind::ToolFailed)));
}

#[tokio::test(start_paused = true)]
async fn whoever_follows_keeps_its_own_deadline_and_may_give_up() {
    let (flow, call, attempts) = (FlowControl::default(), look(), Count::default());
    let cancel = CancellationToken::new();
    let context = CallContext::new("s").with_cancel(cancel.clone());
    let above = CallChain::default();
    let started = Instant::now();
    let leader = flow.go(&call, within(60), || async {
        attempts.up();
        pass(seconds(30)).await;
        call.ok("late")
    });
    let hurried =
        flow.go(&call, within(5), || slowly(&call, &attempts)).map(|result| (result, started.elapsed()));
    let given_up = flow
        .run(&call, &context, &above, within(60), false, |_| slowly(&call, &attempts))
        .map(|result| (result, started.elapsed()));
    let giving_up = async {
        pass(seconds(7)).await;
        cancel.cancel();
    };
    let (leader, hurried, given_up, ()) = tokio::join!(leader, hurried, given_up, giving_up);
    assert_eq!(leader.result, "late");
    assert_eq!((kind_of(&hurried.0), hurried.1), (Some(ErrorKind::Timeout), seconds(5)));
    assert_eq!((kind_of(&given_up.0), given_up.1), (Some(ErrorKind::Cancelled), seconds(7)));
    assert_eq!(attempts.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn those_who_follow_are_bounded() {
    let flow = flow(json!({"source": {"queue": 5}}));
    let (call, attempts) = (look(), Count::default());
    let results = join_all((0..10).map(|_| flow.go(&call, within(60), || slowly(&call, &attempts)))).await;
    let away = results.iter().filter(|result| kind_of(result) == Some(ErrorKind::Overloaded)).count();
    assert_eq!((attempts.get(), away), (1, 4));
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_too_large_is_not_handed_round() {
    let flow = flow(json!({"cache": {"max_entry_bytes": 1_000}}));
    let (call, attempts) = (look(), Count::default());
    let started = Instant::now();
    let calls = (0..3).map(|_| {
        flow.go(&call, within(60), || async {
            attempts.up();
            pass(seconds(1)).await;
            call.ok("x".repeat(2_000))
        })
    });
    let results = join_all(calls).await;
    assert!(results.iter().all(|result| result.is_ok() && !result.metadata.contains_key("shared")));
    assert_eq!((attempts.get(), started.elapsed()), (3, seconds(2)), "the others run side by side");
}
