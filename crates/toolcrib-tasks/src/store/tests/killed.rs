//! Processes that are killed before and behind each statement of a write.

use std::process::Command;

use serde_json::json;
use toolcrib_model::Secret;

use super::{put, record};
use crate::StoreLocation;
use crate::store::failpoint::FAILPOINT;
use crate::store::{Change, RecordKind, SqliteStore, Store};

/// The variable with the location of the store of the process that is killed.
const LOCATION: &str = "TOOLCRIB_TEST_FAILPOINT_STORE";

/// What the process prints when its write was acknowledged.
const ACKNOWLEDGED: &str = "the write was acknowledged";

async fn open(location: &StoreLocation) -> Box<dyn Store> {
    match location {
        StoreLocation::File(path) => Box::new(SqliteStore::open(path, false).await.unwrap().store),
        #[cfg(feature = "postgres")]
        StoreLocation::Postgres(url) => Box::new(crate::store::PostgresStore::open(url).await.unwrap()),
        #[cfg(not(feature = "postgres"))]
        StoreLocation::Postgres(_) => unreachable!("only builds with PostgreSQL have such a test"),
    }
}

/// Not a test of its own unless the others run it.
#[tokio::test]
async fn the_writer_of_the_other_tests() {
    let Ok(location) = std::env::var(LOCATION) else { return };
    let location = if location.contains("://") {
        StoreLocation::Postgres(Secret::new(location))
    } else {
        StoreLocation::File(location.into())
    };
    let store = open(&location).await;
    let changes = vec![
        Change::Fence { id: "lease".into(), owner: "writer".into() },
        Change::take(RecordKind::Message, "taken"),
        put("a", 2),
        put("b", 2),
        Change::remove(RecordKind::Schedule, "removed"),
    ];
    store.apply(changes).await.unwrap();
    println!("{ACKNOWLEDGED}");
}

/// Kills a writer at each point in turn. Afterwards the store has all changes or none, and all that were acknowledged.
async fn kill_at_each_point(location: StoreLocation) {
    let path = match &location {
        StoreLocation::File(path) => path.display().to_string(),
        StoreLocation::Postgres(url) => url.expose().to_owned(),
    };
    let (mut without, mut with) = (0, 0);
    for point in 0.. {
        assert!(point < 100, "the points come to an end");
        let store = open(&location).await;
        let before = [
            Change::Put(record(RecordKind::Message, "taken", json!({}))),
            put("a", 1),
            put("b", 1),
            put("removed", 1),
        ];
        store.apply(before.to_vec()).await.unwrap();
        store.close().await;
        let mut writer = Command::new(std::env::current_exe().unwrap());
        writer.args(["--exact", "store::tests::killed::the_writer_of_the_other_tests", "--nocapture"]);
        let ran = writer.env(LOCATION, &path).env(FAILPOINT, point.to_string()).output().unwrap();
        let is_acknowledged = String::from_utf8_lossy(&ran.stdout).contains(ACKNOWLEDGED);
        let store = open(&location).await;
        let schedules = store.load(RecordKind::Schedule).await.unwrap();
        let stored: Vec<_> =
            schedules.iter().map(|record| (record.id.as_str(), record.body["number"].as_u64())).collect();
        let is_taken = store.get(RecordKind::Message, "taken").await.unwrap().is_none();
        let is_made = stored == [("a", Some(2)), ("b", Some(2))] && is_taken;
        let is_unmade = stored == [("a", Some(1)), ("b", Some(1)), ("removed", Some(1))] && !is_taken;
        assert!(is_made || is_unmade, "point {point}: {stored:?}, taken: {is_taken}");
        assert!(is_made || !is_acknowledged, "point {point}");
        store.close().await;
        if ran.status.success() {
            assert!(is_acknowledged, "{ran:?}");
            break;
        }
        assert!(!is_acknowledged, "point {point}: {ran:?}");
        if is_made { with += 1 } else { without += 1 }
    }
    assert!(without > 8 && with > 0, "{without} points before the commit, {with} behind it");
}

#[tokio::test]
async fn a_process_that_is_killed_between_statements_leaves_all_changes_or_none_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    kill_at_each_point(StoreLocation::File(folder.path().join("tasks.db"))).await;
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn a_process_that_is_killed_between_statements_leaves_all_changes_or_none_on_a_server() {
    let Some(url) = super::postgres::new_server_database().await else { return };
    kill_at_each_point(StoreLocation::Postgres(url)).await;
}
