//! When checks are made, and how they end.

use std::time::Duration;

use jiff::SignedDuration;

use super::*;
use crate::watch::watcher::MAX_WATCHED_BYTES;

#[tokio::test(start_paused = true)]
async fn checks_are_an_interval_apart_and_go_in_by_the_one_entrance_in_the_owners_name() {
    let office = Office::new().await;
    office.plant.shows([json!({"level": 1})]);
    let begun = Instant::now();
    let id = office.start(json!({"interval": 30})).await;
    office.checked(&id, 1).await;
    assert_eq!(begun.elapsed().as_secs(), 0, "the first is made at once");
    office.checked(&id, 4).await;
    assert_eq!(begun.elapsed().as_secs(), 90);
    let keys = office.plant.keys.lock().clone();
    assert!(keys.iter().all(|key| key.starts_with(&id)), "{keys:?}");
    assert_eq!(keys.iter().collect::<std::collections::HashSet<_>>().len(), 4, "each has its own: {keys:?}");
    let status = office.status(&id).await;
    assert_eq!((status.metrics.checks, status.last_value), (4, Some(json!({"level": 1}))));
    assert_eq!(status.next_check.unwrap().to_string(), "2026-03-01T09:02:00Z");
}

#[tokio::test(start_paused = true)]
async fn a_slow_tool_is_not_called_beside_itself_and_the_beats_it_misses_are_left_out() {
    let office = Office::new().await;
    office.plant.is_slow.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    let id = office.start(json!({"interval": 10})).await;
    for check in 1..=3 {
        while office.plant.calls() < check {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(Duration::from_secs(25)).await;
        office.plant.go_on.notify_one();
        office.checked(&id, check as u64).await;
        // The next one is that of 30 s, and not those of 10 s and 20 s.
        let mut calls = office.watchers.inner.ledger.running();
        calls.wait_for(|turns| *turns > 0).await.unwrap();
    }
    assert_eq!(office.plant.most_at_once.load(Ordering::SeqCst), 1);
    assert_eq!(begun.elapsed().as_secs(), 90);
    let status = office.status(&id).await;
    assert_eq!((status.metrics.last_ms / 1_000, status.metrics.mean_ms / 1_000), (25, 25));
    assert_eq!(status.metrics.max_ms / 1_000, 25);
}

#[tokio::test(start_paused = true)]
async fn no_more_checks_are_made_at_once_than_may_be_and_all_have_their_turn() {
    let settings = WatcherSettings { max_checks_at_once: 2, ..WatcherSettings::default() };
    let office = Setup { settings, ..Setup::default() }.open().await;
    office.plant.is_slow.store(true, Ordering::SeqCst);
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(office.start(json!({})).await);
    }
    while office.plant.calls() < 5 {
        office.plant.go_on.notify_one();
        tokio::task::yield_now().await;
    }
    assert_eq!(office.plant.most_at_once.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_leaves_room_for_others() {
    let settings =
        WatcherSettings { max_checks_at_once: 3, max_checks_of_tool: 2, ..WatcherSettings::default() };
    let office = Setup { settings, ..Setup::default() }.open().await;
    office.plant.is_slow.store(true, Ordering::SeqCst);
    for _ in 0..5 {
        office.start(json!({"name": "plant.probe"})).await;
    }
    while office.plant.calls() < 2 {
        tokio::task::yield_now().await;
    }
    office.plant.is_slow.store(false, Ordering::SeqCst);
    let begun = Instant::now();
    let id = office.start(json!({})).await;
    office.checked(&id, 1).await;
    assert_eq!((begun.elapsed().as_secs(), office.plant.calls()), (0, 3));
}

#[tokio::test(start_paused = true)]
async fn after_errors_it_waits_twice_as_long_each_time_and_after_ten_it_pauses_itself_and_says_so() {
    let office = Office::new().await;
    office.plant.fails(&["dead"]);
    let id = office.start(json!({"interval": 60})).await;
    office.checked(&id, 10).await;
    let history = office.watchers.history(&id, &context()).unwrap();
    let at: Vec<Timestamp> = history.iter().rev().map(|check| check.at).collect();
    let waits: Vec<i64> = at.windows(2).map(|two| two[1].duration_since(two[0]).as_secs()).collect();
    assert_eq!(waits, [120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600]);
    let status = office.status(&id).await;
    assert_eq!((status.status, status.next_check, status.metrics.errors), (WatcherState::Paused, None, 10));
    insta::assert_snapshot!(office.told().await.join("\n"), @"The watcher watch_1 (plant.gauge) has paused itself: 10 checks in a row have failed, the last error being tool_failed: dead; `watch_resume` resumes it");
    // Nothing is due any more: an hour later nothing has been called.
    tokio::time::advance(Duration::from_hours(1)).await;
    assert_eq!(office.plant.calls(), 10);
    office.plant.shows([json!(1)]);
    let status = office.watchers.unpause(&id, &context()).await.unwrap();
    assert_eq!((status.status, status.reason), (WatcherState::Active, None));
    office.checked(&id, 11).await;
    assert_eq!(office.status(&id).await.last_value, Some(json!(1)));
}

#[tokio::test(start_paused = true)]
async fn a_success_ends_the_longer_waits() {
    let office = Office::new().await;
    let script = [Err("dead".to_owned()), Err("dead".to_owned()), Ok(json!(1))];
    *office.plant.script.lock() = script.into();
    let begun = Instant::now();
    let id = office.start(json!({"interval": 10})).await;
    office.checked(&id, 4).await;
    assert_eq!(begun.elapsed().as_secs(), 20 + 40 + 10);
}

#[tokio::test(start_paused = true)]
async fn after_its_last_check_it_ends_and_is_remembered_for_a_day() {
    let office = Office::new().await;
    let id = office.start(json!({"max_checks": 3})).await;
    office.checked(&id, 3).await;
    tokio::time::advance(Duration::from_hours(1)).await;
    assert_eq!(office.plant.calls(), 3);
    let status = office.status(&id).await;
    assert_eq!(
        (status.status, status.reason.as_deref()),
        (WatcherState::Ended, Some("it has made all 3 checks"))
    );
    let error = office.watchers.unpause(&id, &context()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    office.clock.jump(SignedDuration::from_hours(24));
    assert_eq!(office.watchers.list(&context()).await, []);
    assert_eq!(office.store.load(RecordKind::Watcher).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_is_taken_back_ends_it_and_that_is_told() {
    let office = Office::new().await;
    let id = office.start(json!({})).await;
    office.checked(&id, 2).await;
    assert_eq!(office.plant.calls(), 2);
    office.gate.is_later.store(true, Ordering::SeqCst);
    office.checked(&id, 3).await;
    tokio::time::advance(Duration::from_hours(2)).await;
    assert_eq!(office.plant.calls(), 2, "what is denied does not run");
    assert_eq!(office.status(&id).await.status, WatcherState::Ended);
    insta::assert_snapshot!(office.told().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn paused_it_does_not_check_and_resumed_it_does_at_once() {
    let office = Office::new().await;
    let id = office.start(json!({})).await;
    office.checked(&id, 1).await;
    let paused = office.watchers.pause(&id, &context()).await.unwrap();
    assert_eq!((paused.status, paused.next_check), (WatcherState::Paused, None));
    tokio::time::advance(Duration::from_hours(1)).await;
    assert_eq!(office.plant.calls(), 1);
    assert!(office.watchers.pause(&id, &context()).await.unwrap().note.is_some(), "it was so already");
    let resumed = Instant::now();
    office.watchers.unpause(&id, &context()).await.unwrap();
    office.checked(&id, 2).await;
    assert_eq!(resumed.elapsed().as_secs(), 0);
    assert_eq!(office.told().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_stopped_in_the_middle_of_a_check_ends_there() {
    let office = Office::new().await;
    office.plant.is_slow.store(true, Ordering::SeqCst);
    let id = office.start(json!({"notify_when": "always"})).await;
    while office.plant.calls() == 0 {
        tokio::task::yield_now().await;
    }
    let stopped = office.watchers.stop(&id, &context()).await.unwrap();
    assert_eq!((stopped.status, stopped.next_check), (WatcherState::Ended, None));
    office.watchers.inner.ledger.running().wait_for(|turns| *turns == 0).await.unwrap();
    assert_eq!(office.told().await, [""; 0]);
    assert_eq!(office.store.load(RecordKind::Watcher).await.unwrap(), []);
    assert_eq!(office.watchers.status(&id, &context()).await.unwrap_err().kind, ErrorKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn the_last_hundred_checks_are_remembered_the_last_one_first() {
    let office = Office::new().await;
    *office.plant.script.lock() = (0..130).map(|number| Ok(json!(number / 2))).collect();
    let id = office.start(json!({"interval": 5})).await;
    office.checked(&id, 130).await;
    let history = office.watchers.history(&id, &context()).unwrap();
    assert_eq!(history.len(), MAX_WATCH_HISTORY);
    let outcomes = history.iter().take(2).map(|check| (check.value.clone(), check.outcome, check.fired));
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        [(Some(json!(64)), CheckOutcome::Unchanged, false), (Some(json!(64)), CheckOutcome::Changed, true)]
    );
    // Values that stay are held once.
    let checks = office.live(&id).unwrap().local.history();
    assert!(Arc::ptr_eq(checks[0].shown.as_ref().unwrap(), checks[1].shown.as_ref().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn what_is_too_large_is_an_error_and_not_kept() {
    let office = Office::new().await;
    let (small, large) = ("x".repeat(9_000), "x".repeat(MAX_WATCHED_BYTES));
    office.plant.shows([json!(small), json!(large)]);
    let id = office.start(json!({})).await;
    office.checked(&id, 1).await;
    let kept = office.store.get(RecordKind::Watcher, &id).await.unwrap().unwrap();
    assert!(kept.body.to_string().len() < 2_000, "only its digest, and its beginning");
    office.checked(&id, 2).await;
    let error = office.status(&id).await.last_error.unwrap();
    assert!(error.starts_with("limit_reached: the result has 1048578 bytes"), "{error}");
    // What conditions compare has to be kept as a whole.
    office.plant.shows([json!(small)]);
    let id = office.start(json!({"condition": "$.price changed"})).await;
    office.checked(&id, 1).await;
    let error = office.status(&id).await.last_error.unwrap();
    assert!(error.contains("9002 bytes; the limit for watched results is 8192"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_changes_nothing() {
    let office = Office::new().await;
    let begun = Instant::now();
    let id = office.start(json!({"interval": 60})).await;
    office.checked(&id, 2).await;
    office.clock.jump(SignedDuration::from_hours(1));
    office.checked(&id, 4).await;
    office.clock.jump(SignedDuration::from_hours(-2));
    office.checked(&id, 6).await;
    assert_eq!((begun.elapsed().as_secs(), office.plant.calls()), (300, 6));
}

#[tokio::test(start_paused = true)]
async fn a_session_and_an_agent_see_only_their_own_and_the_operator_sees_all() {
    let office = Office::new().await;
    office.plant.shows([json!(1), json!(2)]);
    let id = office.start(json!({"label": "mine"})).await;
    for stranger in [CallContext::new("other").with_agent("clerk"), CallContext::new("s").with_agent("other")]
    {
        let watchers = &office.watchers;
        let errors = [
            watchers.status(&id, &stranger).await.unwrap_err(),
            watchers.pause(&id, &stranger).await.unwrap_err(),
            watchers.unpause(&id, &stranger).await.unwrap_err(),
            watchers.stop(&id, &stranger).await.unwrap_err(),
            watchers.history(&id, &stranger).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind, ErrorKind::NotFound);
            assert!(!format!("{error:?}").contains("gauge"), "{error:?}");
        }
        assert_eq!(watchers.list(&stranger).await, []);
    }
    office.checked(&id, 2).await;
    assert_eq!(office.services.notifications.take("other").await, []);
    assert_eq!(office.told().await.len(), 1);
    let operated = &office.watchers;
    assert_eq!(operated.all().iter().map(|one| one.session.as_str()).collect::<Vec<_>>(), ["s"]);
    assert_eq!(operated.status_of_any(&id).unwrap().task.label.as_deref(), Some("mine"));
    assert_eq!(operated.history_of_any(&id).unwrap().len(), 2);
    operated.stop_any(&id).await.unwrap();
    assert_eq!(
        (operated.all(), operated.status_of_any(&id).unwrap_err().kind),
        (vec![], ErrorKind::NotFound)
    );
}

#[tokio::test(start_paused = true)]
async fn there_are_no_more_watchers_than_may_be_and_those_that_ended_make_room() {
    let settings = WatcherSettings { max_per_session: 3, max_watchers: 4, ..WatcherSettings::default() };
    let office = Setup { settings, ..Setup::default() }.open().await;
    let ended = office.start(json!({"max_checks": 1})).await;
    for _ in 0..2 {
        office.start(json!({})).await;
    }
    office.checked(&ended, 1).await;
    office.start(json!({})).await;
    assert_eq!(office.watchers.status(&ended, &context()).await.unwrap_err().kind, ErrorKind::NotFound);
    let refused = office.try_start(json!({})).await.unwrap_err();
    assert_eq!(
        (refused.kind, refused.message.as_str()),
        (ErrorKind::LimitReached, "there are 3 watchers in this session, which is the limit")
    );
    let start = async |session: &str| {
        let request = WatchRequest::new("plant.gauge", JsonObject::new());
        office.watchers.start(request, &CallContext::new(session)).await
    };
    start("t").await.unwrap();
    assert_eq!(start("u").await.unwrap_err().message, "there are 4 watchers, which is the limit");
    assert_eq!(office.store.load(RecordKind::Watcher).await.unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn without_anybody_who_knows_them_the_timer_ends() {
    let office = Office::new().await;
    office.start(json!({})).await;
    let inner = Arc::downgrade(&office.watchers.inner);
    office.watchers.inner.ledger.running().wait_for(|turns| *turns == 0).await.unwrap();
    drop(office);
    while inner.strong_count() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_has_no_more_watchers_in_all_its_sessions_than_it_may() {
    let settings = WatcherSettings { max_per_client: 2, ..WatcherSettings::default() };
    let office = Setup { settings, ..Setup::default() }.open().await;
    let start = async |session: &str| {
        let request = WatchRequest::new("plant.gauge", JsonObject::new());
        office.watchers.start(request, &CallContext::new(session)).await
    };
    for session in ["serve/ci/1", "serve/ci/2"] {
        start(session).await.unwrap();
    }
    insta::assert_snapshot!(start("serve/ci/3").await.unwrap_err(), @"limit_reached: there are 2 watchers of this client, which is the limit (stop one with `watch_stop`; `watch_list` lists them)");
    start("serve/other/1").await.unwrap();
}
