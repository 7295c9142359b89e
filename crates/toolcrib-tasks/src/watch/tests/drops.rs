//! Requests about watchers whose futures are dropped.

use std::time::Duration;

use toolcrib_testkit::dropped_after;

use super::*;
use crate::testing::YieldingStore;

/// The most polls that a request of these tests takes.
const MAX_POLLS: usize = 200;

/// A process that shares a slow store with others.
async fn office() -> Office {
    Setup { store: Arc::new(YieldingStore::default()), is_shared: true, ..Setup::default() }.open().await
}

/// Lets what can go on without time passing do so.
async fn settle() {
    pass(Duration::from_millis(2)).await;
}

/// Lets time pass on the paused clock.
async fn pass(time: Duration) {
    let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
}

/// Returns the states of the watchers as the process knows them, after it has checked that the store has the same and that no
/// lease is left.
async fn states(office: &Office, polls: usize) -> Vec<WatcherState> {
    settle().await;
    let known = office.watchers.all();
    let mut states = Vec::new();
    for WithOwner { task, .. } in &known {
        let id = &task.watcher_id;
        let is_free = office.store.lease(id, "other", Duration::from_secs(1)).await;
        assert!(is_free.unwrap(), "a lease is left after {polls} polls");
        office.store.release(id, "other").await.unwrap();
        states.push(task.status);
    }
    let stored = office.store.load(RecordKind::Watcher).await.unwrap();
    let stored: Vec<_> = stored.iter().map(|record| record.body["state"].clone()).collect();
    assert_eq!(stored, states.iter().map(|state| json!(state)).collect::<Vec<_>>(), "after {polls} polls");
    states
}

#[tokio::test(start_paused = true)]
async fn starting_a_watcher_that_is_dropped_at_any_await_starts_it_whole_or_not_at_all() {
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let office = office().await;
        let started = dropped_after(polls, office.try_start(json!({}))).await;
        let states = states(&office, polls).await;
        assert_eq!(office.plant.calls(), states.len(), "it checks nothing after {polls} polls");
        if let Some(started) = started {
            started.unwrap();
            return assert_eq!(states, [WatcherState::Active]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn stopping_a_watcher_that_is_dropped_at_any_await_stops_it_whole_or_not_at_all() {
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let office = office().await;
        let id = office.start(json!({})).await;
        settle().await;
        let stopped = dropped_after(polls, office.watchers.stop(&id, &context())).await;
        let states = states(&office, polls).await;
        pass(Duration::from_secs(11)).await;
        assert_eq!(office.plant.calls(), 1 + states.len(), "after {polls} polls");
        if let Some(stopped) = stopped {
            return assert_eq!((stopped.unwrap().status, states), (WatcherState::Ended, vec![]));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pausing_a_watcher_that_is_dropped_at_any_await_pauses_it_whole_or_not_at_all() {
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let office = office().await;
        let id = office.start(json!({})).await;
        settle().await;
        let paused = dropped_after(polls, office.watchers.pause(&id, &context())).await;
        let after = states(&office, polls).await;
        pass(Duration::from_secs(11)).await;
        let is_paused = after == [WatcherState::Paused];
        assert_eq!(office.plant.calls(), if is_paused { 1 } else { 2 }, "after {polls} polls");
        if let Some(paused) = paused {
            assert_eq!((paused.unwrap().status, is_paused), (WatcherState::Paused, true));
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn unpausing_a_watcher_that_is_dropped_at_any_await_lets_it_go_on_or_leaves_it_paused() {
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let office = office().await;
        let id = office.start(json!({})).await;
        settle().await;
        office.watchers.pause(&id, &context()).await.unwrap();
        pass(Duration::from_secs(11)).await;
        let unpaused = dropped_after(polls, office.watchers.unpause(&id, &context())).await;
        let after = states(&office, polls).await;
        let is_active = after == [WatcherState::Active];
        // One that goes on checks at once.
        assert_eq!(office.plant.calls(), if is_active { 2 } else { 1 }, "after {polls} polls");
        if let Some(unpaused) = unpaused {
            unpaused.unwrap();
            return assert!(is_active);
        }
    }
}
