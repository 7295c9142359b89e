//! What holds for all kinds of tasks.

use std::sync::Arc;

use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::background::{BackgroundSettings, TaskState};
use crate::schedule::{ScheduleSettings, ScheduleState};
use crate::store::SqliteStore;
use crate::testing::TestClock;
use crate::watch::{WatcherSettings, WatcherState};
use crate::{Background, Schedules, Services, Store, TaskPorts, Watchers};

/// The schema of the first version.
const FIRST_SCHEMA: [&str; 3] = [
    "CREATE TABLE records (
        kind TEXT NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (kind, id)
    ) WITHOUT ROWID, STRICT",
    "CREATE TABLE leases (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL)
        WITHOUT ROWID, STRICT",
    "PRAGMA user_version = 1",
];

/// The records as the first version wrote them.
fn first_records() -> Vec<(&'static str, &'static str, Value)> {
    let owner = json!({"session": "s", "agent": "clerk"});
    let schedule = json!({
        "form": 1, "owner": owner, "when": {"type": "cron", "pattern": "0 10 * * *", "time_zone": "UTC"},
        "action": {"type": "notification", "message": "Stand up!"}, "overlap": "skip", "catch_up": 3600,
        "state": "active", "created": "2026-02-01T09:00:00Z", "next": "2026-03-01T10:00:00Z",
        "runs": 3, "missed": 1, "skipped": 0,
    });
    let watcher = json!({
        "owner": owner, "request": {"name": "plant.gauge", "params": {}, "interval": 10, "notify_when": "on_change"},
        "state": "paused", "created": "2026-02-01T09:00:00Z", "is_under_way": false, "baseline": 1,
        "is_held": false, "errors_in_row": 0,
        "metrics": {"checks": 4, "changes": 1, "errors": 0, "notifications": 1, "last_ms": 1, "total_ms": 4, "max_ms": 2},
        "tally": {"checks": 4, "changes": 1, "errors": 0, "held": 0},
    });
    let call = json!({
        "owner": owner, "tool": "shop.machine", "arguments": {}, "may_repeat": false, "state": "completed",
        "started": "2026-03-01T09:00:00Z", "ended": "2026-03-01T09:01:00Z", "result": {"made": 7},
    });
    vec![
        ("background", "task_1", call),
        ("schedule", "schedule_1", schedule.clone()),
        ("schedule", "schedule_2", schedule),
        ("schedule", "schedule_2.cancelled", json!({})),
        ("watcher", "watch_1", watcher),
    ]
}

#[tokio::test]
async fn what_the_first_version_has_stored_is_there_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let mut first =
        SqliteConnectOptions::new().filename(&path).create_if_missing(true).connect().await.unwrap();
    for statement in FIRST_SCHEMA {
        sqlx::query(statement).execute(&mut first).await.unwrap();
    }
    for (kind, id, body) in first_records() {
        let insert = sqlx::query("INSERT INTO records VALUES (?, ?, 's', ?)");
        insert.bind(kind).bind(id).bind(body.to_string()).execute(&mut first).await.unwrap();
    }
    first.close().await.unwrap();

    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, false).await.unwrap().store);
    let clock = Arc::new(TestClock::at("2026-03-01T09:05:00Z"));
    let services =
        Arc::new(Services::open(Arc::clone(&store), clock, false, TaskPorts::default()).await.unwrap());
    let background = Background::open(Arc::clone(&services), BackgroundSettings::default()).await.unwrap();
    let call = background.status_of_any("task_1").unwrap();
    assert_eq!((call.session.as_str(), call.agent.as_deref()), ("s", Some("clerk")));
    assert_eq!((call.task.status, call.task.result), (TaskState::Completed, Some(json!({"made": 7}))));
    let schedules = Schedules::open(Arc::clone(&services), ScheduleSettings::default()).await.unwrap();
    assert!(schedules.unreadable().is_empty());
    let active = schedules.status_of_any("schedule_1").await.unwrap().task;
    assert_eq!((active.status, active.runs, active.missed), (ScheduleState::Active, 3, 1));
    assert_eq!(active.next_runs[0], "2026-03-01T10:00:00+00:00");
    let cancelled = schedules.status_of_any("schedule_2").await.unwrap().task;
    assert_eq!(cancelled.status, ScheduleState::Cancelled);
    let watchers = Watchers::open(services, WatcherSettings::default()).await.unwrap();
    let watcher = watchers.status_of_any("watch_1").unwrap().task;
    assert_eq!((watcher.status, watcher.metrics.checks), (WatcherState::Paused, 4));
    store.close().await;
}
