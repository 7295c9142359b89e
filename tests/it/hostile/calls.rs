//! Servers that misbehave during a call.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolcrib_model::ErrorKind;
use toolcrib_port::CallContext;

use super::counted;
use super::fixture::Fixture;
use super::resource_counts::peak_memory;

/// The deadline of calls that do not return.
const DEADLINE: Duration = Duration::from_millis(500);

/// How much more memory this process may take at its peak, in bytes: a line of 16 MiB, the room that a buffer which
/// doubles has for it, and some for the rest.
const MAX_GROWTH: u64 = 64 * 1024 * 1024;

/// Far longer than a server takes for what it does without end.
const A_WHILE: Duration = Duration::from_secs(5);

/// How often a future is polled at the most before it is dropped.
const MAX_POLLS: usize = 60;

/// How often a server is called that has to bear it.
const CALLS: usize = 20;

/// Loads a server in this mode and calls a tool. The server does not survive it; the error says all of this, the call was
/// sent once, and nothing is left before anybody closes anything.
async fn does_not_survive(mode: &str, tool: &str, says: &[&str]) -> Fixture {
    let rig = Fixture::new(mode).await;
    rig.load().await;
    let error = rig.fails(tool, &CallContext::new("test")).await;
    assert_eq!(error.kind, ErrorKind::OutcomeUnknown, "{error}");
    assert!(!error.retryable);
    for words in says {
        assert!(error.message.contains(words), "{error}");
    }
    assert_eq!(rig.logged("tools/call").len(), 1, "it is sent once");
    rig.assert_nothing_of_it_is_left().await;
    rig
}

counted!(a_server_that_exits_during_a_call_leaves_its_outcome_unknown_and_is_started_again, async {
    let rig =
        does_not_survive("polite", "bad.exit", &["exited with status 7 during the call", "out of memory"])
            .await;
    assert_eq!(rig.call("bad.echo", "again").await.result, "again");
    assert_eq!(rig.logged("start ").len(), 2);
    rig.close().await;
});

counted!(a_server_that_exits_in_the_middle_of_its_answer_leaves_the_outcome_unknown, async {
    does_not_survive("half-line", "bad.echo", &["exited with status 0 during the call"]).await.close().await;
});

counted!(a_server_that_writes_a_line_without_end_is_ended_within_bounds_of_memory, async {
    let before = peak_memory();
    let rig = does_not_survive("endless-line", "bad.echo", &["a line of more than 16 MiB"]).await;
    let growth = peak_memory() - before;
    assert!(growth < MAX_GROWTH, "{growth} bytes");
    rig.close().await;
});

/// Loads a server in this mode and calls a tool that does not return: the call ends at its deadline.
async fn outlasts_the_deadline(mode: &str, tool: &str) -> Fixture {
    let rig = Fixture::new(mode).await;
    rig.load().await;
    rig.fails_at_deadline(tool, DEADLINE).await;
    rig
}

counted!(a_call_that_does_not_return_ends_at_its_deadline_and_the_server_is_told, async {
    let rig = outlasts_the_deadline("polite", "bad.hang").await;
    rig.assert_logs("notifications/cancelled").await;
    assert_eq!(rig.call("bad.echo", "alive").await.result, "alive");
    assert_eq!(rig.logged("start ").len(), 1);
    rig.close().await;
});

counted!(a_call_that_is_cancelled_ends_and_the_server_is_told, async {
    let rig = Fixture::new("polite").await;
    rig.load().await;
    let cancel = CancellationToken::new();
    let context = CallContext::new("test").with_cancel(cancel.clone());
    let cancelled = async {
        rig.assert_logs("tools/call").await;
        cancel.cancel();
    };
    let (error, ()) = tokio::join!(rig.fails("bad.hang", &context), cancelled);
    assert_eq!(error.kind, ErrorKind::Cancelled);
    rig.assert_logs("notifications/cancelled").await;
    rig.close().await;
});

counted!(calls_that_are_dropped_leave_nothing_behind_and_the_server_is_told_of_each, async {
    let rig = Fixture::new("polite").await;
    rig.load().await;
    assert_eq!(rig.call("bad.echo", "alive").await.result, "alive");
    let open = super::resource_counts::ResourceCounts::settled(rig.folder()).await;
    for sent in 1..=CALLS {
        let hangs = std::pin::pin!(rig.call("bad.hang", "anything"));
        let is_sent = || Ok((rig.logged("tools/call").len() > sent).then_some(()));
        tokio::select! {
            result = hangs => panic!("{result:?}"),
            found = toolcrib_testkit::wait_until("the call", crate::support::PATIENCE, is_sent) => found.unwrap(),
        }
    }
    open.assert_no_more_is_held(rig.folder()).await;
    assert_eq!(rig.logged("notifications/cancelled").len(), CALLS);
    rig.close().await;
});

counted!(loads_and_calls_that_are_dropped_at_any_point_leave_nothing_behind, async {
    let rig = Fixture::new("polite").await;
    let mut ended = 0;
    for polls in 0..MAX_POLLS {
        let mut load = Box::pin(rig.registry.refresh());
        ended += usize::from(ends_within(polls, load.as_mut()).await);
        drop(load);
        let mut call = Box::pin(rig.call("bad.echo", "anything"));
        ended += usize::from(ends_within(polls, call.as_mut()).await);
        drop(call);
    }
    assert!(ended > 0, "some are polled to their end");
    rig.load().await;
    assert_eq!(rig.call("bad.echo", "alive").await.result, "alive");
    assert_eq!((rig.logged("start ").len(), rig.logged("\"initialize\"").len()), (1, 1));
    rig.close().await;
});

/// Polls a future so often at most, and says whether it came to its end.
async fn ends_within(polls: usize, mut future: impl Future + Unpin) -> bool {
    for _ in 0..polls {
        if futures::poll!(&mut future).is_ready() {
            return true;
        }
        // The others get their turn, and a moment passes.
        tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
    }
    false
}

counted!(a_server_that_ends_at_every_call_is_left_alone_after_some, async {
    let rig = Fixture::new("polite").await;
    rig.load().await;
    let mut kinds = BTreeMap::new();
    for _ in 0..5 * CALLS {
        let error = rig.call("bad.exit", "").await.error.unwrap();
        *kinds.entry(error.kind.to_string()).or_insert(0_usize) += 1;
    }
    let starts = rig.logged("start ").len();
    assert!(starts <= 10, "{starts} starts; {kinds:?}");
    assert!(kinds[&ErrorKind::Unavailable.to_string()] > 4 * CALLS, "{kinds:?}");
    rig.assert_undisturbed().await;
    rig.close().await;
});

counted!(an_answer_that_drips_ends_at_the_deadline, async {
    outlasts_the_deadline("drip", "bad.echo").await.close().await;
});

counted!(progress_without_end_does_not_outlast_the_deadline_nor_fill_the_memory, async {
    let before = peak_memory();
    let rig = outlasts_the_deadline("progress", "bad.echo").await;
    let growth = peak_memory() - before;
    assert!(growth < MAX_GROWTH, "{growth} bytes");
    rig.close().await;
});

counted!(requests_without_end_whose_answers_nobody_reads_do_not_fill_the_memory, async {
    let before = peak_memory();
    let rig = outlasts_the_deadline("asks", "bad.echo").await;
    // It sends no more when nobody takes it.
    let asked = || Ok((!rig.logged("asked").is_empty()).then_some(()));
    let has_asked = toolcrib_testkit::wait_until("so many requests", A_WHILE, asked).await;
    assert!(has_asked.is_err(), "all of its requests were taken");
    rig.assert_undisturbed().await;
    let growth = peak_memory() - before;
    assert!(growth < MAX_GROWTH, "{growth} bytes");
    rig.close().await;
});

counted!(an_answer_after_the_cancellation_is_nobodys, async {
    let rig = outlasts_the_deadline("late", "bad.hang").await;
    rig.assert_logs("notifications/cancelled").await;
    for text in ["mine", "mine too"] {
        assert_eq!(rig.call("bad.echo", text).await.result, text);
    }
    rig.close().await;
});

/// Loads a server in this mode. Whatever it does, its calls return what they should, side by side too.
async fn serves_all_the_same(mode: &str) {
    let before = peak_memory();
    let rig = Fixture::new(mode).await;
    rig.load().await;
    let texts: Vec<String> = (0..CALLS).map(|number| format!("text {number}")).collect();
    let results = futures::future::join_all(texts.iter().map(|text| rig.call("bad.echo", text))).await;
    for (text, result) in texts.iter().zip(results) {
        assert_eq!(result.result, *text, "{:?}", result.error);
    }
    rig.assert_undisturbed().await;
    assert_eq!(rig.logged("start ").len(), 1);
    let growth = peak_memory() - before;
    assert!(growth < MAX_GROWTH, "{growth} bytes");
    rig.close().await;
}

counted!(what_is_no_message_is_passed_over, serves_all_the_same("garbage"));

counted!(a_server_whose_tools_change_all_the_time_serves_all_the_same, serves_all_the_same("restless"));

counted!(answers_to_nobody_and_second_answers_reach_nobody, serves_all_the_same("wrong-ids"));

counted!(a_flood_on_standard_error_holds_up_nothing_and_fills_nothing, serves_all_the_same("stderr-flood"));
