//! What is there again after the program has ended.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::store::{SqliteStore, StoreError};

/// The files of a database as a killed process leaves them.
fn copy(folder: &Path, to: &Path) {
    for part in ["", "-wal"] {
        let name = format!("tasks.db{part}");
        std::fs::copy(folder.join(&name), to.join(&name)).unwrap();
    }
}

async fn open(folder: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(folder.join("tasks.db"), false).await.unwrap().store)
}

#[tokio::test]
async fn after_a_kill_watchers_go_on_from_the_file_and_tell_what_changed_meanwhile() {
    let (folder, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let plant = Arc::new(Plant::default());
    plant.shows([json!({"level": 1})]);
    let setup = |store| Setup { plant: Arc::clone(&plant), store, ..Setup::default() };
    let office = setup(open(folder.path()).await).open().await;
    let id = office.start(json!({"label": "the level", "actions": Office::ring("plant.bell")})).await;
    let paused = office.start(json!({"interval": 5})).await;
    office.checked(&id, 1).await;
    office.checked(&paused, 1).await;
    office.watchers.pause(&paused, &context()).await.unwrap();
    copy(folder.path(), again.path());
    // No more is heard of the first life.
    office.services.stop_intake();
    plant.shows([json!({"level": 2})]);
    let setup = Setup { start: "2026-03-01T12:00:00Z", ..setup(open(again.path()).await) };
    let office = setup.open().await;
    office.checked(&id, 2).await;
    let status = office.status(&id).await;
    assert_eq!(
        (status.label.as_deref(), status.metrics.checks, status.metrics.changes),
        (Some("the level"), 2, 1)
    );
    assert_eq!(office.plant.rings(), [json!({"level": 2})]);
    insta::assert_snapshot!(office.told().await.join("\n"));
    assert_eq!(office.status(&paused).await.status, WatcherState::Paused);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_finds_nothing_new_writes_nothing_and_every_five_minutes_it_is_written_down() {
    let store = Arc::new(crashes::Counting::default());
    let office = Setup { store: Arc::clone(&store) as _, ..Setup::default() }.open().await;
    let id = office.start(json!({"interval": 10})).await;
    office.checked(&id, 1).await;
    let written = store.applied();
    office.checked(&id, 30).await;
    assert_eq!(store.applied(), written);
    office.checked(&id, 33).await;
    assert_eq!(store.applied(), written + 1);
    let kept = store.get(RecordKind::Watcher, &id).await.unwrap().unwrap();
    assert!(kept.body["metrics"]["checks"].as_u64().unwrap() > 30, "{}", kept.body);
}

#[tokio::test(start_paused = true)]
async fn those_that_are_overdue_are_checked_one_after_the_other_and_the_others_when_they_are_due() {
    let settings = WatcherSettings { max_per_session: 100, ..WatcherSettings::default() };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let setup = |start| Setup { store: Arc::clone(&store), settings, start, ..Setup::default() };
    let office = setup(START).open().await;
    let mut ids = Vec::new();
    for _ in 0..40 {
        let id = office.start(json!({"interval": 60})).await;
        office.checked(&id, 1).await;
        ids.push(id);
    }
    let late = office.start(json!({"interval": 3600})).await;
    office.checked(&late, 1).await;
    drop(office);
    // The clock was set back before the program was started again: all wait for their interval.
    let office = setup("2026-03-01T08:00:00Z").open().await;
    let begun = Instant::now();
    office.checked(&ids[0], 2).await;
    assert_eq!(begun.elapsed().as_secs(), 60);
    drop(office);
    let office = setup("2026-03-01T09:30:00Z").open().await;
    let begun = Instant::now();
    while office.plant.calls() < 40 {
        let (before, mut turns) = (office.plant.calls(), office.watchers.inner.ledger.running());
        turns.changed().await.unwrap();
        assert!(office.plant.calls() - before <= 2, "not all at once");
    }
    assert!((900..=1_100).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    office.checked(&late, 2).await;
    assert!((1_799..=1_801).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_kept_is_watched_all_the_same_and_says_so_but_nothing_is_risked_twice() {
    let store = Arc::new(crashes::Counting::default());
    let office = Setup { store: Arc::clone(&store) as _, ..Setup::default() }.open().await;
    store.is_full.store(true, Ordering::SeqCst);
    office.plant.shows([json!(1), json!(2)]);
    let actions =
        json!([{"type": "tool_call", "tool": "plant.bell"}, {"type": "tool_call", "tool": "plant.lamp"}]);
    let status = office.try_start(json!({"actions": actions})).await.unwrap();
    assert!(status.note.unwrap().contains("no room left"));
    office.checked(&status.watcher_id, 2).await;
    assert_eq!(office.plant.rings().len(), 1, "only what may be repeated was called");
    insta::assert_snapshot!(office.told().await.join("\n"));
    let stopped = office.watchers.stop(&status.watcher_id, &context()).await.unwrap();
    assert!(stopped.note.unwrap().contains("restarts with the program"));
    assert!(matches!(store.apply(vec![]).await, Err(StoreError::Full { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_takes_its_watchers_with_it() {
    let office = Office::new().await;
    let id = office.start(json!({})).await;
    office.watchers.end_session("other").await;
    assert_eq!(office.watchers.list(&context()).await.len(), 1);
    office.watchers.end_session("s").await;
    assert_eq!(office.watchers.status(&id, &context()).await.unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(office.store.load(RecordKind::Watcher).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn at_the_end_checks_have_their_time_and_are_cancelled_then_and_all_is_written_down() {
    let office = Office::new().await;
    let quiet = office.start(json!({"interval": 10})).await;
    office.checked(&quiet, 3).await;
    let status = office.status(&quiet).await;
    office.watchers.pause(&quiet, &context()).await.unwrap();
    office.plant.is_slow.store(true, Ordering::SeqCst);
    let probe = office.start(json!({"name": "plant.probe"})).await;
    while office.plant.calls() < 4 {
        tokio::task::yield_now().await;
    }
    office.services.stop_intake();
    let begun = Instant::now();
    office.watchers.close(Duration::from_secs(10)).await;
    assert_eq!(begun.elapsed().as_secs(), 10);
    assert_eq!(office.try_start(json!({})).await.unwrap_err().kind, ErrorKind::Unavailable);
    let kept = office.store.get(RecordKind::Watcher, &quiet).await.unwrap().unwrap();
    assert_eq!(kept.body["metrics"]["checks"], status.metrics.checks);
    // What came of the other is not known, and is not tried again before its time.
    let (plant, store) = (Arc::new(Plant::default()), Arc::clone(&office.store));
    let office = Setup { plant, store, ..Setup::default() }.open().await;
    office.checked(&probe, 1).await;
    assert_eq!(office.plant.calls(), 0);
    let error = office.status(&probe).await.last_error.unwrap();
    assert!(
        error.starts_with("outcome_unknown: the program ended while `plant.probe` was running"),
        "{error}"
    );
    office.checked(&probe, 2).await;
    assert_eq!(office.plant.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_of_a_revoked_client_neither_checks_nor_acts_nor_tells_by_a_channel() {
    let (plant, store): (_, Arc<dyn Store>) = (Arc::new(Plant::default()), Arc::new(MemoryStore::new()));
    plant.shows([json!(1), json!(2), json!(3)]);
    let setup = |is_revoked| Setup {
        plant: Arc::clone(&plant),
        store: Arc::clone(&store),
        is_revoked,
        ..Setup::default()
    };
    let office = setup(false).open().await;
    let always = json!({"notify_when": "always", "channel": "line", "actions": Office::ring("plant.bell")});
    let id = office.start(always).await;
    office.checked(&id, 1).await;
    office.services.stop_intake();
    let (checks, rings) = (plant.calls(), plant.rings().len());
    let office = setup(true).open().await;
    office.checked(&id, 2).await;
    assert_eq!(office.status(&id).await.status, WatcherState::Ended);
    assert_eq!((plant.calls(), plant.rings().len()), (checks, rings));
    assert_eq!(office.line.sent.lock().as_slice(), [""; 0]);
}
