//! Servers that do not want to end.

use toolcrib_model::ErrorKind;
use toolcrib_testkit::{Process, processes_of, wait_until};

use super::counted;
use super::fixture::Fixture;
use crate::support::PATIENCE;

/// How often a server that ends again and again does so.
const LIVES: usize = 100;

/// Loads a server that has left two processes behind, and waits for them.
async fn with_descendants() -> Fixture {
    let rig = Fixture::new("forks").await;
    rig.load().await;
    let is_asleep = |process: &&Process| process.command == "sleep 3600";
    let look = || Ok((processes_of(rig.folder())?.iter().filter(is_asleep).count() == 2).then_some(()));
    wait_until("the descendants", PATIENCE, look).await.unwrap();
    rig
}

counted!(a_server_that_ignores_everything_is_killed, async {
    let rig = Fixture::new("ignores-term").await;
    rig.load().await;
    assert_eq!(rig.call("bad.echo", "alive").await.result, "alive");
    let began = tokio::time::Instant::now();
    rig.close().await;
    // It was asked first, twice.
    assert!(began.elapsed() >= 2 * toolcrib_loader_mcp::CLOSE_GRACE);
});

counted!(a_server_that_ignores_everything_is_killed_when_it_is_let_go, async {
    let rig = Fixture::new("ignores-term").await;
    rig.load().await;
    rig.let_go().await;
});

counted!(closing_a_server_ends_what_it_left_behind, async { with_descendants().await.close().await });

counted!(letting_go_of_a_server_ends_what_it_left_behind, async { with_descendants().await.let_go().await });

counted!(what_a_server_left_behind_ends_with_it, async {
    let rig = with_descendants().await;
    assert!(rig.call("bad.exit", "").await.error.is_some());
    rig.assert_nothing_of_it_is_left().await;
    rig.close().await;
});

counted!(a_server_that_ends_and_is_started_again_a_hundred_times_leaves_nothing, async {
    let rig = Fixture::new("forks").await;
    rig.load().await;
    for life in 1..=LIVES {
        let answer = rig.call("bad.echo", "alive").await;
        assert_eq!(answer.result, "alive", "life {life}: {:?}", answer.error);
        let error = rig.call("bad.exit", "").await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::OutcomeUnknown, "life {life}: {error}");
        assert_eq!(rig.logged("start ").len(), life);
    }
    rig.assert_nothing_of_it_is_left().await;
    assert_eq!(rig.call("bad.echo", "still alive").await.result, "still alive");
    rig.close().await;
});
