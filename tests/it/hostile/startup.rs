//! Servers that do not get as far as a handshake.

use std::time::Duration;

use toolcrib_port::RejectKind;

use super::counted;
use super::fixture::Fixture;
use super::resource_counts::peak_memory;

/// How long the servers here may take to start.
const STARTUP: Duration = Duration::from_millis(700);

/// How much more memory this process may take at its peak, in bytes: a line of 16 MiB, the room that a buffer which
/// doubles has for it, and some for the rest.
const MAX_GROWTH: u64 = 64 * 1024 * 1024;

/// How often a server that does not start is called.
const CALLS: usize = 100;

/// Loads a server in this mode. It is one reject, which says all of this, and it is gone before anybody closes it.
async fn is_rejected(mode: &str, says: &[&str]) {
    let rig = Fixture::with(mode, |source| source.with_startup_timeout(STARTUP)).await;
    let snapshot = rig.load().await;
    let [reject] = snapshot.rejected() else { panic!("{:?}", snapshot.rejected()) };
    assert_eq!((reject.kind, reject.source.as_str()), (RejectKind::Unavailable, "mcp bad"));
    for words in says {
        assert!(reject.reason.contains(words), "{}", reject.reason);
    }
    rig.assert_undisturbed().await;
    rig.assert_nothing_of_it_is_left().await;
    rig.close().await;
}

counted!(a_silent_server_is_given_up, is_rejected("silent", &["did not answer the handshake within 0.7 s"]));

counted!(
    a_server_that_reads_nothing_is_given_up,
    is_rejected("deaf", &["did not answer the handshake within 0.7 s"])
);

counted!(
    a_server_that_exits_at_once_is_reported_with_status_and_last_words,
    is_rejected("exit-at-once", &["exited with status 3", "no database"])
);

counted!(
    a_server_that_leaves_its_work_to_a_child_has_ended,
    // The child may have answered a first request or two before it was found out.
    is_rejected("exit-for-child", &["exited with status 0"])
);

counted!(a_server_that_writes_no_messages_without_end_and_reads_nothing_is_given_up, async {
    is_rejected("storm", &["did not answer the handshake within 0.7 s"]).await;
});

counted!(a_first_line_without_end_is_given_up_at_its_limit, async {
    let before = peak_memory();
    is_rejected("endless-first-line", &["a line of more than 16 MiB"]).await;
    let growth = peak_memory() - before;
    assert!(growth < MAX_GROWTH, "{growth} bytes");
});

counted!(a_server_that_does_not_start_is_not_started_for_every_call, async {
    let rig = Fixture::new("exit-at-once").await;
    rig.load().await;
    for _ in 0..CALLS {
        assert!(rig.call("bad.echo", "anything").await.error.is_some());
        rig.registry.refresh().await.unwrap();
    }
    // The first waits are half a second, one, two, four; the loop takes far less than their sum.
    let starts = rig.logged("start ").len();
    assert!((1..=5).contains(&starts), "{starts} starts");
    rig.close().await;
});
