//! The store of an app that starts while another process holds its lock.

use futures::poll;

use super::open;
use crate::store::SqliteStore;
use crate::{StoreLocation, TaskSettings, TaskStore};

#[tokio::test]
async fn a_lock_that_is_released_soon_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let before = SqliteStore::open(&path, false).await.unwrap().store;
    let settings = TaskSettings {
        mode: TaskStore::Resident,
        location: Some(StoreLocation::File(path)),
        ..TaskSettings::default()
    };
    let mut opening = Box::pin(open(&settings));
    assert!(poll!(&mut opening).is_pending());
    drop(before);
    assert_eq!(opening.await.unwrap().warnings, Vec::<String>::new());
}

#[tokio::test]
async fn a_lock_that_stays_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let _before = SqliteStore::open(&path, false).await.unwrap().store;
    let settings = TaskSettings {
        mode: TaskStore::Resident,
        location: Some(StoreLocation::File(path)),
        ..TaskSettings::default()
    };
    let opened = open(&settings).await.unwrap();
    let [warning] = opened.warnings.try_into().expect("one warning");
    assert!(warning.contains("another process uses"), "{warning}");
}
