//! So many at once, so many in a time, so many who wait.

use futures::FutureExt;
use futures::future::join_all;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::*;

#[tokio::test(start_paused = true)]
async fn calls_run_in_the_order_in_which_they_came_and_so_many_at_once() {
    let flow = flow(json!({"sources": {"far": {"max_concurrency": 3}}}));
    let call = plain("far");
    let order = Mutex::new(Vec::new());
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let calls = (0..20).map(|number| {
        let (flow, call, order, running, most) = (&flow, &call, &order, &running, &most);
        flow.go(call, within(60), move || async move {
            order.lock().push(number);
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            pass(seconds(1)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            call.ok(number)
        })
    });
    let results = join_all(calls).await;
    assert_eq!(order.into_inner(), (0..20).collect::<Vec<_>>());
    assert_eq!(most.into_inner(), 3);
    assert_eq!(results[19].metadata["queued_ms"], 6000);
    assert!(!results[0].metadata.contains_key("queued_ms"));
    assert_eq!(flow.usage(), Usage::default());
}

#[tokio::test(start_paused = true)]
async fn when_the_queue_is_full_the_next_call_is_turned_away_at_once() {
    let flow = flow(json!({"source": {"max_concurrency": 1, "queue": 2}}));
    let call = plain("far");
    let started = Instant::now();
    let calls = (0..5).map(|_| {
        flow.go(&call, within(60), || async {
            pass(seconds(1)).await;
            call.ok("fine")
        })
        .map(|result| (result, started.elapsed()))
    });
    let outcomes: Vec<_> =
        join_all(calls).await.into_iter().map(|(result, at)| (kind_of(&result), at.as_secs())).collect();
    // The source has one place, and its two in the queue; so has the tool.
    let away = (Some(ErrorKind::Overloaded), 0);
    assert_eq!(outcomes, [(None, 1), (None, 2), (None, 3), away, away]);
    assert_eq!(flow.usage(), Usage::default());
}

/// The longest that a quick call took, of ten thousand calls of which so many hang.
async fn slowest_beside(hanging: usize) -> Duration {
    let settings = json!({"source": {"queue": 10_000}});
    let flow = flow(settings);
    let started = Instant::now();
    let deadline = within(60);
    let calls: Vec<_> = (0..10_000)
        .map(|number| {
            let hangs = number < hanging;
            let source = if number % 2 == 0 { "far" } else { "further" };
            let name = if hangs { "hang".to_owned() } else { format!("quick_{}", number % 8) };
            (hangs, call(tool(&name), source))
        })
        .collect();
    let running = calls.iter().map(|(hangs, call)| {
        flow.go(call, deadline, move || async move {
            if *hangs {
                tokio::time::timeout_at(deadline.unwrap(), pending::<()>()).await.unwrap_err();
                return failure(call, ErrorKind::Timeout);
            }
            pass(millis(5)).await;
            call.ok("fine")
        })
        .map(move |result| (*hangs, result, started.elapsed()))
    });
    let results = join_all(running).await;
    assert_eq!(results.len(), 10_000);
    assert_eq!(flow.usage(), Usage::default());
    let mut slowest = Duration::ZERO;
    for (hangs, result, took) in results {
        assert_eq!(kind_of(&result), hangs.then_some(ErrorKind::Timeout));
        if !hangs {
            slowest = slowest.max(took);
        }
    }
    slowest
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_leaves_the_others_their_places() {
    let alone = slowest_beside(0).await;
    for hanging in [1, 100, 1_000] {
        let beside = slowest_beside(hanging).await;
        assert!(beside < alone * 2, "{beside:?} beside {hanging} that hang, {alone:?} without");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_or_overdue_while_it_waits_does_not_run() {
    let flow = flow(json!({"source": {"max_concurrency": 1}}));
    let call = plain("far");
    let attempts = Count::default();
    let holder = flow.go(&call, None, || async {
        attempts.up();
        pass(seconds(100)).await;
        call.ok("fine")
    });
    let late = flow.go(&call, within(10), || async {
        attempts.up();
        call.ok("fine")
    });
    let cancel = CancellationToken::new();
    let context = CallContext::new("s").with_cancel(cancel.clone());
    let above = CallChain::default();
    let given_up = flow.run(&call, &context, &above, within(60), false, |_| async {
        attempts.up();
        call.ok("fine")
    });
    let giving_up = async {
        pass(seconds(5)).await;
        cancel.cancel();
    };
    let started = Instant::now();
    let (held, (late, late_at), (given_up, given_up_at), ()) = tokio::join!(
        holder,
        late.map(|result| (error_of(result), started.elapsed())),
        given_up.map(|result| (error_of(result), started.elapsed())),
        giving_up
    );
    assert!(held.is_ok());
    assert_eq!((late.kind, late_at), (ErrorKind::Timeout, seconds(10)));
    assert!(late.retryable, "it did not run");
    assert_eq!((given_up.kind, given_up_at), (ErrorKind::Cancelled, seconds(5)));
    assert_eq!(attempts.get(), 1);
    assert_eq!(flow.usage(), Usage::default());
}

/// At which seconds so many calls start, that are made at once.
async fn starts(flow: &FlowControl, call: &Authorized<Call>, count: usize) -> Vec<u64> {
    let started = Instant::now();
    let calls = (0..count).map(|_| async {
        let mut at = 0;
        flow.go(call, None, || {
            at = started.elapsed().as_secs();
            async { call.ok("fine") }
        })
        .await;
        at
    });
    join_all(calls).await
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_spreads_calls_after_a_burst() {
    let rate = |burst: u32| json!({"calls": 60, "per_seconds": 60, "burst": burst});
    let of_source = |burst| flow(json!({"source": {"rate": rate(burst)}}));
    assert_eq!(starts(&of_source(1), &plain("far"), 4).await, [0, 1, 2, 3]);
    assert_eq!(starts(&of_source(3), &plain("far"), 5).await, [0, 0, 0, 1, 2]);
    let of_tool = flow(json!({"tools": {"t::plain": {"rate": rate(2)}}}));
    assert_eq!(starts(&of_tool, &plain("far"), 4).await, [0, 0, 1, 2]);
    pass(seconds(10)).await;
    assert_eq!(starts(&of_tool, &plain("far"), 3).await, [0, 0, 1], "the burst came back");
    assert_eq!(
        starts(&of_tool, &call(tool("other"), "far"), 4).await,
        [0; 4],
        "another tool is not concerned"
    );
}

#[tokio::test(start_paused = true)]
async fn each_of_several_processes_has_an_equal_share_of_a_rate_limit() {
    let flow = flow(json!({"source": {"rate": {"calls": 60, "per_seconds": 60, "burst": 6}}}));
    flow.processes().set(3);
    assert_eq!(starts(&flow, &plain("far"), 4).await, [0, 0, 3, 6]);
    pass(seconds(60)).await;
    flow.processes().set(100);
    assert_eq!(starts(&flow, &plain("far"), 2).await, [0, 100], "one call at a time is always admitted");
    pass(seconds(100)).await;
    flow.processes().set(0);
    assert_eq!(starts(&flow, &plain("far"), 7).await, [0, 0, 0, 0, 0, 0, 1], "this process alone");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_rate_limit_has_no_time_for_is_told_so_at_once() {
    let flow = flow(json!({"source": {"rate": {"calls": 1, "per_seconds": 30}}}));
    let call = plain("far");
    let started = Instant::now();
    let ask = |deadline| flow.go(&call, deadline, || async { call.ok("fine") });
    assert!(ask(within(10)).await.is_ok());
    let refused = ask(within(10)).await;
    assert_eq!((kind_of(&refused), started.elapsed()), (Some(ErrorKind::Overloaded), Duration::ZERO));
    assert_eq!(refused.metadata["retry_after_ms"], 30_000);
    assert!(ask(within(31)).await.is_ok());
    assert_eq!(started.elapsed(), seconds(30));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_gives_up_takes_no_turn_along() {
    let flow = flow(json!({"source": {"rate": {"calls": 1, "per_seconds": 10}}}));
    let call = plain("far");
    let started = Instant::now();
    flow.go(&call, None, || async { call.ok("first") }).await;
    let impatient = join_all((0..5).map(|_| flow.go(&call, None, || async { call.ok("never") })));
    let patient = flow.go(&call, None, || async { call.ok("second") });
    let (impatient, patient) = tokio::join!(tokio::time::timeout(seconds(3), impatient), patient);
    assert!(impatient.is_err(), "they gave up before it was their turn");
    assert!(patient.is_ok());
    assert_eq!(started.elapsed(), seconds(10));
    assert_eq!(flow.usage(), Usage::default());
}
