//! Files: gone wrong, in use, full.

use std::fs;
use std::path::Path;

use serde_json::json;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use super::{put, record};
use crate::store::record::MAX_RECORD_BYTES;
use crate::store::{Change, RecordKind, SqliteStore, Store, StoreError};

async fn open(path: &Path) -> SqliteStore {
    let opened = SqliteStore::open(path, false).await.unwrap();
    assert_eq!(opened.quarantined, None);
    opened.store
}

async fn refused(path: &Path, is_shared: bool) -> StoreError {
    match SqliteStore::open(path, is_shared).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

/// A connection of somebody else.
async fn stranger(path: &Path) -> sqlx::SqliteConnection {
    sqlx::sqlite::SqliteConnectOptions::new().filename(path).connect().await.unwrap()
}

/// The first version in which a checkpoint beside a write of another connection cannot corrupt a file in WAL mode.
const FIRST_SOUND_VERSION: [u32; 3] = [3, 51, 3];

#[tokio::test]
async fn the_sqlite_that_is_compiled_in_cannot_corrupt_a_file_that_processes_share() {
    let mut connection = stranger(Path::new(":memory:")).await;
    let version: String =
        sqlx::query_scalar("SELECT sqlite_version()").fetch_one(&mut connection).await.unwrap();
    let numbers: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
    assert!(numbers[..] >= FIRST_SOUND_VERSION[..], "SQLite {version} has the WAL-reset bug");
}

#[tokio::test]
async fn what_was_acknowledged_is_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made/for/it/tasks.db");
    let store = open(&path).await;
    store.apply(vec![put("a", 1), put("b", 2)]).await.unwrap();
    // Not closed: the file is as a process leaves it that was killed.
    let copy = folder.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    fs::copy(folder.path().join("made/for/it/tasks.db-wal"), folder.path().join("copy.db-wal")).unwrap();
    assert_eq!(open(&copy).await.load(RecordKind::Schedule).await.unwrap().len(), 2);
    store.close().await;
    assert!(matches!(store.apply(vec![put("c", 3)]).await, Err(StoreError::Closed)));
    drop(store);
    assert_eq!(open(&path).await.load(RecordKind::Schedule).await.unwrap().len(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("tasks.db")).await;
    store.apply(vec![put("a", 1)]).await.unwrap();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
    }
}

#[tokio::test]
async fn a_second_process_is_refused_unless_both_share_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let store = open(&path).await;
    for is_shared in [false, true] {
        let error = refused(&path, is_shared).await;
        assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    }
    drop(store);
    let one = SqliteStore::open(&path, true).await.unwrap().store;
    let two = SqliteStore::open(&path, true).await.unwrap().store;
    assert!(matches!(refused(&path, false).await, StoreError::InUse { .. }));
    one.apply(vec![put("a", 1)]).await.unwrap();
    two.apply(vec![put("b", 2)]).await.unwrap();
    assert_eq!(one.load(RecordKind::Schedule).await.unwrap().len(), 2);
}

#[tokio::test]
async fn one_that_was_closed_can_be_opened_by_the_next_while_the_first_still_knows_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let first = open(&path).await;
    first.close().await;
    let second = open(&path).await;
    assert!(matches!(refused(&path, false).await, StoreError::InUse { .. }));
    second.close().await;
    first.close().await;
}

#[tokio::test]
async fn a_damaged_database_is_set_aside_and_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    for number in 1..=2 {
        let damaged = format!("this is no database {number}").repeat(100);
        fs::write(&path, &damaged).unwrap();
        let opened = SqliteStore::open(&path, false).await.unwrap();
        let aside = opened.quarantined.unwrap();
        assert!(aside.ends_with(format!("tasks.db.damaged-{number}")));
        assert_eq!(fs::read_to_string(aside).unwrap(), damaged);
        opened.store.apply(vec![put("a", 1)]).await.unwrap();
        opened.store.close().await;
    }
    // One with holes in its middle is found out too.
    let store = open(&path).await;
    let many: Vec<Change> = (0..2_000).map(|number| put(&format!("{number:06}"), number)).collect();
    store.apply(many).await.unwrap();
    store.close().await;
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 20_000].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let opened = SqliteStore::open(&path, false).await.unwrap();
    assert_eq!(fs::read(opened.quarantined.unwrap()).unwrap(), bytes);
    assert_eq!(opened.store.load(RecordKind::Schedule).await.unwrap(), []);
}

#[tokio::test]
async fn one_that_a_newer_version_has_written_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    open(&path).await.close().await;
    let mut stranger = stranger(&path).await;
    stranger.execute("PRAGMA user_version = 99").await.unwrap();
    stranger.close().await.unwrap();
    let error = refused(&path, false).await;
    assert!(matches!(error, StoreError::NewerVersion { version: 99, .. }), "{error}");
}

#[tokio::test]
async fn a_full_disk_is_an_error_after_which_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let store = open(&path).await;
    store.apply(vec![put("a", 1)]).await.unwrap();
    store.limit_pages(20).await;
    let large = |id: &str| Change::Put(record(RecordKind::Background, id, json!("x".repeat(50_000))));
    let error = store.apply(vec![put("b", 2), large("1"), large("2")]).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(store.load(RecordKind::Background).await.unwrap(), [], "all or none");
    assert_eq!(store.load(RecordKind::Schedule).await.unwrap().len(), 1, "all or none");
    store.apply(vec![put("c", 3)]).await.unwrap();
    store.limit_pages(1_000).await;
    store.apply(vec![large("1")]).await.unwrap();
}

#[tokio::test]
async fn a_record_that_is_too_large_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("tasks.db")).await;
    let large = Change::Put(record(RecordKind::Background, "a", json!("x".repeat(MAX_RECORD_BYTES))));
    let error = store.apply(vec![put("b", 1), large]).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
    assert_eq!(store.load(RecordKind::Schedule).await.unwrap(), []);
}

#[tokio::test]
async fn a_place_that_cannot_be_written_to_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = refused(&file.join("tasks.db"), false).await;
    assert!(matches!(error, StoreError::Failed { .. }), "{error:?}");
    let error = refused(Path::new("/proc/tasks.db"), false).await;
    assert!(matches!(error, StoreError::Failed { .. } | StoreError::ReadOnly { .. }), "{error:?}");
}
