//! What holds for every store.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{put, record};
use crate::store::{Change, MemoryStore, RecordKind, SqliteStore, Store, StoreError};
use crate::testing::TestClock;

/// The stores, the one in a file with the folder that it is in. The clock of a database server follows no paused time, so
/// that its leases have tests of their own.
async fn stores() -> Vec<(Box<dyn Store>, Option<tempfile::TempDir>)> {
    let stores = stores_of_this_machine().await;
    #[cfg(feature = "postgres")]
    let stores = {
        let server = super::postgres::new_store().await;
        stores.into_iter().chain(server.map(|store| (Box::new(store) as Box<dyn Store>, None))).collect()
    };
    stores
}

async fn stores_of_this_machine() -> Vec<(Box<dyn Store>, Option<tempfile::TempDir>)> {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(folder.path().join("tasks.db"), false).await.unwrap().store;
    let sqlite = sqlite.with_clock(Arc::new(TestClock::at("2026-03-01T09:00:00Z")));
    vec![(Box::new(MemoryStore::new()), None), (Box::new(sqlite), Some(folder))]
}

#[tokio::test]
async fn records_are_kept_by_kind_and_id_until_they_are_removed() {
    for (store, _folder) in stores().await {
        let first = record(RecordKind::Watcher, "b", json!({"text": "é\u{0}'\"", "numbers": [1, 2.5, null]}));
        let second = record(RecordKind::Watcher, "a", json!({}));
        let other = record(RecordKind::Background, "a", json!({"is": "another kind"}));
        let all = [&first, &second, &other].map(|record| Change::Put(record.clone()));
        store.apply(all.to_vec()).await.unwrap();
        assert_eq!(store.load(RecordKind::Watcher).await.unwrap(), [second.clone(), first.clone()]);
        assert_eq!(store.get(RecordKind::Background, "a").await.unwrap(), Some(other.clone()));
        assert_eq!(store.get(RecordKind::Schedule, "a").await.unwrap(), None);

        let newer = record(RecordKind::Watcher, "b", json!({"newer": true}));
        let changes = vec![
            Change::remove(RecordKind::Watcher, "a"),
            Change::remove(RecordKind::Watcher, "never there"),
            Change::Put(newer.clone()),
        ];
        store.apply(changes).await.unwrap();
        assert_eq!(store.load(RecordKind::Watcher).await.unwrap(), [newer]);
        assert_eq!(store.load(RecordKind::Background).await.unwrap(), [other]);
        store.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_owners_one_has_the_lease_until_it_ends_or_is_given_back() {
    for (store, _folder) in stores_of_this_machine().await {
        let minute = Duration::from_mins(1);
        let pass = |seconds| tokio::time::advance(Duration::from_secs(seconds));
        assert!(store.lease("a", "one", minute).await.unwrap());
        assert!(store.lease("b", "two", minute).await.unwrap(), "it is another");
        pass(59).await;
        assert!(!store.lease("a", "two", minute).await.unwrap());
        assert!(store.lease("a", "one", minute).await.unwrap(), "its owner keeps it");
        pass(2).await;
        assert!(!store.lease("a", "two", minute).await.unwrap());
        pass(58).await;
        assert!(store.lease("a", "two", minute).await.unwrap(), "it has ended");
        store.release("a", "one").await.unwrap();
        assert!(!store.lease("a", "one", minute).await.unwrap(), "only its owner gives it back");
        store.release("a", "two").await.unwrap();
        assert!(store.lease("a", "one", minute).await.unwrap());
        store.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_under_a_lost_lease_is_refused_with_all_that_comes_with_it() {
    for (store, _folder) in stores_of_this_machine().await {
        let minute = Duration::from_mins(1);
        let fenced = |owner: &str, number| {
            let fence = Change::Fence { id: "a".into(), owner: owner.into() };
            store.apply(vec![put("beside", number), fence, put("a", number)])
        };
        let stored = async || {
            let all = store.load(RecordKind::Schedule).await.unwrap();
            all.into_iter().map(|record| record.body["number"].clone()).collect::<Vec<_>>()
        };
        fenced("one", 1).await.unwrap();
        assert!(store.lease("a", "one", minute).await.unwrap());
        tokio::time::advance(minute * 2).await;
        fenced("one", 2).await.unwrap();
        assert!(store.lease("a", "two", minute).await.unwrap(), "it has ended");
        let (refused, other) = tokio::join!(fenced("one", 3), store.apply(vec![put("c", 4)]));
        assert!(matches!(refused, Err(StoreError::LeaseLost { id }) if id == "a"));
        other.unwrap();
        assert_eq!(stored().await, [json!(2), json!(2), json!(4)]);
        store.release("a", "two").await.unwrap();
        fenced("one", 5).await.unwrap_err();
        fenced("two", 6).await.unwrap();
        assert!(store.lease("a", "one", minute).await.unwrap());
        fenced("one", 7).await.unwrap();
        assert_eq!(stored().await, [json!(7), json!(7), json!(4)]);
        store.close().await;
    }
}

#[tokio::test]
async fn of_several_that_take_a_record_one_gets_it_and_the_others_change_nothing() {
    for (store, _folder) in stores().await {
        store.apply(vec![put("a", 1)]).await.unwrap();
        let take = |number: u64| {
            let answer = record(RecordKind::Message, &number.to_string(), json!(number));
            store.apply(vec![Change::Put(answer), Change::take(RecordKind::Schedule, "a")])
        };
        let taken = futures::future::join_all((0..5).map(take)).await;
        let refused =
            |taken: &Result<(), StoreError>| matches!(taken, Err(StoreError::Taken { id, .. }) if id == "a");
        assert_eq!(taken.iter().filter(|taken| taken.is_ok()).count(), 1, "{taken:?}");
        assert_eq!(taken.iter().filter(|taken| refused(taken)).count(), 4, "{taken:?}");
        assert_eq!(store.load(RecordKind::Message).await.unwrap().len(), 1);
        assert_eq!(store.get(RecordKind::Schedule, "a").await.unwrap(), None);
        store.close().await;
    }
}

#[tokio::test]
async fn the_records_whose_ids_begin_with_a_text_are_listed() {
    for (store, _folder) in stores().await {
        let ids = ["a", "a.1", "a.2", "a.\u{1f600}", "a/", "b.1"];
        store.apply(ids.iter().map(|id| put(id, 1)).collect()).await.unwrap();
        let found = store.list(RecordKind::Schedule, "a.").await.unwrap();
        let found: Vec<_> = found.iter().map(|record| record.id.as_str()).collect();
        assert_eq!(found, ["a.1", "a.2", "a.\u{1f600}"]);
        assert_eq!(store.list(RecordKind::Message, "a.").await.unwrap(), []);
        store.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_with_a_lifetime_ends_and_can_neither_be_read_nor_taken_then() {
    for (store, _folder) in stores_of_this_machine().await {
        let short = |id: &str, seconds| {
            let record = record(RecordKind::Message, id, json!({}));
            Change::PutFor { record, lifetime: Duration::from_secs(seconds) }
        };
        let ids = async || {
            let all = store.load(RecordKind::Message).await.unwrap();
            all.into_iter().map(|record| record.id).collect::<Vec<_>>()
        };
        store.apply(vec![short("a", 10), short("b", 20), short("c", 10)]).await.unwrap();
        store.apply(vec![Change::Put(record(RecordKind::Message, "c", json!({})))]).await.unwrap();
        tokio::time::advance(Duration::from_secs(11)).await;
        assert_eq!(ids().await, ["b", "c"], "a record that is put again without a time stays");
        assert_eq!(store.get(RecordKind::Message, "a").await.unwrap(), None);
        let taken = store.apply(vec![Change::take(RecordKind::Message, "a")]).await;
        assert!(matches!(taken, Err(StoreError::Taken { .. })), "{taken:?}");
        store.remove_ended().await.unwrap();
        assert_eq!(ids().await, ["b", "c"]);
        store.close().await;
    }
}

#[tokio::test]
async fn changes_that_come_at_once_are_all_made() {
    for (store, _folder) in stores().await {
        let store = Arc::<dyn Store>::from(store);
        let changes = (0..500).map(|number| {
            let store = Arc::clone(&store);
            async move { store.apply(vec![put(&format!("{number:03}"), number)]).await }
        });
        for applied in futures::future::join_all(changes).await {
            applied.unwrap();
        }
        let kept = store.load(RecordKind::Schedule).await.unwrap();
        assert!(
            kept.iter()
                .map(|record| &record.body["number"])
                .eq(&(0..500).map(|n| json!(n)).collect::<Vec<_>>())
        );
        store.close().await;
    }
}
