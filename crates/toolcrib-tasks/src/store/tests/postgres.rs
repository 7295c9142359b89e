//! A store in a database of a server, which `cargo xtask test` starts: processes that share it, leases by the clock of the
//! server, and connections that break.

use std::collections::BTreeSet;
use std::process::Command;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Executor as _, PgConnection};
use tokio::sync::watch;
use toolcrib_io::table::{RowLock, SharedTable};
use toolcrib_model::Secret;

use super::put;
use crate::id::random_id;
use crate::store::record::MAX_RECORD_BYTES;
use crate::store::{
    AuditRow, AuditTable, Change, LazyStore, PostgresStore, Record, RecordKind, RecordTable, Store,
    StoreError,
};

pub(super) const SERVER: &str = "TOOLCRIB_TEST_POSTGRES";

/// A server that tests may kill. It is started again.
const VICTIM: &str = "TOOLCRIB_TEST_POSTGRES_VICTIM";

/// The time in which a server that was killed is there again.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// The URL of a new database on the server that a variable names. A stranger's machine has no server.
async fn new_database(variable: &str) -> Option<Secret> {
    let Ok(server) = std::env::var(variable) else {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!is_ci, "{variable} names no server, and CI=true leaves nothing out");
        eprintln!("left out: {variable} names no server");
        return None;
    };
    let name = random_id("store").unwrap();
    let mut url = url::Url::parse(&server).unwrap();
    let mut connection = connect(&Secret::new(server)).await;
    connection.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
    url.set_path(&name);
    Some(Secret::new(url))
}

/// A store in a new database.
pub(super) async fn new_store() -> Option<PostgresStore> {
    let url = new_database(SERVER).await?;
    Some(PostgresStore::open(&url).await.unwrap())
}

/// The URL of a new database.
pub(super) async fn new_server_database() -> Option<Secret> {
    new_database(SERVER).await
}

/// A connection of another program.
pub(super) async fn connect(url: &Secret) -> PgConnection {
    PgConnectOptions::from_str(url.expose()).unwrap().connect().await.unwrap()
}

pub(super) async fn ids(store: &PostgresStore) -> BTreeSet<String> {
    store.load(RecordKind::Schedule).await.unwrap().into_iter().map(|record| record.id).collect()
}

#[tokio::test]
async fn records_of_one_process_are_read_by_another_and_survive_both() {
    let Some(url) = new_database(SERVER).await else { return };
    let (one, two) = tokio::join!(PostgresStore::open(&url), PostgresStore::open(&url));
    let (one, two) = (one.unwrap(), two.unwrap());
    one.apply(vec![put("a", 1)]).await.unwrap();
    assert_eq!(ids(&two).await, ["a".to_owned()].into());
    assert!(two.is_durable());
    one.close().await;
    assert!(matches!(one.apply(vec![put("b", 2)]).await, Err(StoreError::Closed)));
    assert!(matches!(one.load(RecordKind::Schedule).await, Err(StoreError::Closed)));
    two.close().await;
    assert_eq!(ids(&PostgresStore::open(&url).await.unwrap()).await, ["a".to_owned()].into());
}

#[tokio::test]
async fn changes_of_other_processes_are_noticed_and_those_of_this_one_are_not() {
    let Some(url) = new_database(SERVER).await else { return };
    let one = PostgresStore::open(&url).await.unwrap();
    let two = PostgresStore::open(&url).await.unwrap();
    assert!(!one.has_changed().await.unwrap());
    one.apply(vec![put("a", 1)]).await.unwrap();
    assert!(!one.has_changed().await.unwrap());
    two.apply(vec![put("b", 2)]).await.unwrap();
    one.apply(vec![put("c", 3)]).await.unwrap();
    assert!(one.has_changed().await.unwrap());
    assert!(!one.has_changed().await.unwrap());
    two.apply(vec![Change::remove(RecordKind::Schedule, "b")]).await.unwrap();
    assert!(one.has_changed().await.unwrap());
}

#[tokio::test]
async fn a_lease_belongs_to_one_process_until_it_ends_or_is_released() {
    let Some(url) = new_database(SERVER).await else { return };
    let one = PostgresStore::open(&url).await.unwrap();
    let two = PostgresStore::open(&url).await.unwrap();
    let (short, long) = (Duration::from_millis(200), Duration::from_mins(10));
    assert!(one.lease("a", "one", short).await.unwrap());
    let taken_over = async { while !two.lease("a", "two", long).await.unwrap() {} };
    tokio::time::timeout(PATIENCE, taken_over).await.expect("the lease ends");
    assert!(!one.lease("a", "one", long).await.unwrap());
    assert!(two.lease("a", "two", long).await.unwrap(), "its owner extends it");
    one.release("a", "one").await.unwrap();
    assert!(!one.lease("a", "one", long).await.unwrap(), "only its owner releases it");
    two.release("a", "two").await.unwrap();
    // Until another process has the lease, its last owner may write.
    two.apply(vec![fence("two"), put("x", 1)]).await.unwrap();
    assert!(one.lease("a", "one", long).await.unwrap());
    let refused = two.apply(vec![put("y", 2), fence("two")]).await;
    assert!(matches!(&refused, Err(StoreError::LeaseLost { id }) if id == "a"), "{refused:?}");
    assert_eq!(ids(&one).await, ["x".to_owned()].into());
}

fn fence(owner: &str) -> Change {
    Change::Fence { id: "a".into(), owner: owner.into() }
}

#[tokio::test]
async fn of_many_processes_that_want_a_lease_at_once_one_has_it() {
    let Some(url) = new_database(SERVER).await else { return };
    let stores =
        futures::future::join_all((0..8).map(async |_| PostgresStore::open(&url).await.unwrap())).await;
    for round in 0..20 {
        let id = format!("run {round}");
        let attempts = stores.iter().enumerate().map(async |(number, store)| {
            store.lease(&id, &format!("process {number}"), Duration::from_mins(1)).await.unwrap()
        });
        let won = futures::future::join_all(attempts).await;
        assert_eq!(won.into_iter().filter(|won| *won).count(), 1);
    }
}

#[tokio::test]
async fn processes_that_write_the_same_records_in_another_order_all_succeed() {
    let Some(url) = new_database(SERVER).await else { return };
    let one = PostgresStore::open(&url).await.unwrap();
    let two = PostgresStore::open(&url).await.unwrap();
    for round in 0..50 {
        let (there, back) = tokio::join!(
            one.apply((0..20).map(|number| put(&format!("{number:02}"), round)).collect()),
            two.apply((0..20).rev().map(|number| put(&format!("{number:02}"), round)).collect()),
        );
        there.unwrap();
        back.unwrap();
    }
    assert_eq!(ids(&one).await.len(), 20);
}

#[tokio::test]
async fn a_record_has_a_limit_and_text_of_any_kind() {
    let Some(store) = new_store().await else { return };
    let body = json!({"text": "\u{0}é\u{1f600}".repeat(1000)});
    let record = Record { kind: RecordKind::Watcher, id: "ä'; --".into(), session: "s\"".into(), body };
    store.apply(vec![Change::Put(record.clone())]).await.unwrap();
    assert_eq!(store.get(RecordKind::Watcher, "ä'; --").await.unwrap(), Some(record.clone()));
    let body = json!("x".repeat(MAX_RECORD_BYTES));
    let refused = store.apply(vec![Change::Put(Record { body, ..record })]).await;
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })), "{refused:?}");
}

#[tokio::test]
async fn an_error_names_the_store_and_never_its_password() {
    let nobody = Secret::new("postgres://ada:sesame@127.0.0.1:1/tasks?sslmode=disable");
    let error = PostgresStore::open(&nobody).await.err().unwrap();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    insta::assert_snapshot!(error);
    let wrong = Secret::new("postgres://ada:sesame@host:port/tasks");
    let error = PostgresStore::open(&wrong).await.err().unwrap().to_string();
    assert!(!error.contains("sesame"), "{error}");
}

#[tokio::test]
async fn what_was_acknowledged_is_there_though_connections_end_in_the_middle_of_writes() {
    let Some(url) = new_database(SERVER).await else { return };
    let store = Arc::new(PostgresStore::open(&url).await.unwrap());
    let mut other = connect(&url).await;
    let (written, mut writes) = watch::channel(0);
    let writing = tokio::spawn({
        let store = Arc::clone(&store);
        async move {
            let (mut made, mut refused) = (BTreeSet::new(), BTreeSet::new());
            for number in 0..300 {
                let id = format!("{number:04}");
                let is_made = store.apply(vec![put(&id, number)]).await.is_ok();
                if is_made { &mut made } else { &mut refused }.insert(id);
                written.send_replace(number);
            }
            (made, refused)
        }
    });
    // Once for each write, at any point of the next: without a pause, a slow machine would end every connection at its start.
    while writes.changed().await.is_ok() {
        let ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()";
        other.execute(ended).await.unwrap();
    }
    let (made, refused) = writing.await.unwrap();
    let stored = ids(&PostgresStore::open(&url).await.unwrap()).await;
    assert!(made.is_subset(&stored), "{:?}", made.difference(&stored));
    assert!(refused.is_disjoint(&stored), "{:?}", refused.intersection(&stored));
}

#[tokio::test]
async fn a_server_that_is_killed_loses_nothing_that_was_acknowledged_and_is_used_again() {
    let Some(url) = new_database(VICTIM).await else { return };
    let store = PostgresStore::open(&url).await.unwrap();
    let mut other = connect(&url).await;
    let pid: String = sqlx::query_scalar("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)")
        .fetch_one(&mut other)
        .await
        .unwrap();
    let mut made = BTreeSet::new();
    for number in 0..100 {
        let id = format!("{number:04}");
        if number == 50 {
            assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        }
        if store.apply(vec![put(&id, number)]).await.is_ok() {
            made.insert(id);
        }
    }
    assert!(made.len() >= 50, "{}", made.len());
    let back = async { while store.apply(vec![put("last", 0)]).await.is_err() {} };
    tokio::time::timeout(PATIENCE, back).await.expect("the server is back");
    let stored = ids(&store).await;
    assert!(made.is_subset(&stored), "{:?}", made.difference(&stored));
}

#[tokio::test]
async fn a_damaged_record_is_an_error_that_names_it_and_stays_as_it_is() {
    let Some(url) = new_database(SERVER).await else { return };
    let store = PostgresStore::open(&url).await.unwrap();
    store.apply(vec![put("a", 1), put("b", 2)]).await.unwrap();
    let mut other = connect(&url).await;
    other.execute("UPDATE toolcrib_records SET body = left(body, 5) WHERE id = 'a'").await.unwrap();
    for read in
        [store.load(RecordKind::Schedule).await.err(), store.get(RecordKind::Schedule, "a").await.err()]
    {
        let error = read.unwrap().to_string();
        assert!(error.contains("schedule `a` is damaged"), "{error}");
    }
    assert!(store.get(RecordKind::Schedule, "b").await.unwrap().is_some(), "others can be read");
    let body: String = sqlx::query_scalar("SELECT body FROM toolcrib_records WHERE id = 'a'")
        .fetch_one(&mut other)
        .await
        .unwrap();
    assert_eq!(body.len(), 5);
    store.apply(vec![put("a", 3)]).await.unwrap();
    assert_eq!(store.load(RecordKind::Schedule).await.unwrap().len(), 2);
}

fn message(id: &str) -> Change {
    Change::Put(super::record(RecordKind::Message, id, json!({})))
}

#[tokio::test]
async fn a_message_is_hinted_at_to_other_processes_also_after_the_connection_of_the_hints_was_lost() {
    let Some(url) = new_database(SERVER).await else { return };
    let one = PostgresStore::open(&url).await.unwrap();
    let two = PostgresStore::open(&url).await.unwrap();
    let mut hints = two.hints(RecordKind::Message);
    assert!(hints.are_expected());
    for round in ["a", "b"] {
        // When it begins to listen, it gives a hint, since some may have been missed.
        tokio::time::timeout(PATIENCE, hints.next()).await.expect("it listens");
        one.apply(vec![put("x", 1), message(round)]).await.unwrap();
        tokio::time::timeout(PATIENCE, hints.next()).await.expect("a hint");
        assert!(two.get(RecordKind::Message, round).await.unwrap().is_some(), "it was committed before");
        let lost = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND query LIKE 'LISTEN%'";
        connect(&url).await.execute(lost).await.unwrap();
        one.apply(vec![message("unnoticed")]).await.unwrap();
        assert!(two.get(RecordKind::Message, "unnoticed").await.unwrap().is_some());
    }
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn processes_that_count_calls_of_a_rate_keep_to_it_together() {
    let Some(url) = new_database(SERVER).await else { return };
    let (one, two) = tokio::join!(PostgresStore::open(&url), PostgresStore::open(&url));
    let stores = [one.unwrap(), two.unwrap()];
    // Three at once, and then one in an hour.
    let (interval, tolerance) = (Duration::from_hours(1), Duration::from_hours(2));
    let counted =
        (0..20).map(async |number| stores[number % 2].count_call("a", interval, tolerance).await.unwrap());
    let counted = futures::future::join_all(counted).await;
    assert_eq!(counted.iter().filter(|early| early.is_zero()).count(), 3, "{counted:?}");
    let early = counted.iter().max().unwrap();
    assert!(*early > Duration::from_mins(59) && *early <= interval, "{early:?}");
    assert!(stores[0].count_call("b", interval, tolerance).await.unwrap().is_zero(), "it is another");
    let short = Duration::from_millis(20);
    let counted_again =
        async { while !stores[0].count_call("c", short, Duration::ZERO).await.unwrap().is_zero() {} };
    assert!(stores[1].count_call("c", short, Duration::ZERO).await.unwrap().is_zero());
    tokio::time::timeout(PATIENCE, counted_again).await.expect("it is on time then");
}

#[tokio::test]
async fn audit_records_are_appended_once_whatever_they_contain() {
    let Some(url) = new_database(SERVER).await else { return };
    let table = AuditTable::open(&crate::StoreLocation::Postgres(url.clone())).await.unwrap();
    let row = |id: &str, record: serde_json::Value| AuditRow {
        id: id.into(),
        time: "2026-03-01T09:00:00.123Z".into(),
        record: record.to_string(),
    };
    let odd = json!({"tool": "a::b", "text": "\u{0}'\"\u{1f600}"});
    table.append(&[row("1", odd.clone()), row("2", json!({}))]).await.unwrap();
    table.append(&[row("2", json!({"another": true})), row("3", json!({}))]).await.unwrap();
    let mut other = connect(&url).await;
    let stored: Vec<(String, String)> =
        sqlx::query_as("SELECT id, record::TEXT FROM toolcrib_audit ORDER BY id")
            .fetch_all(&mut other)
            .await
            .unwrap();
    assert_eq!(stored, [("1".into(), odd.to_string()), ("2".into(), "{}".into()), ("3".into(), "{}".into())]);
    table.close().await;
    assert!(AuditTable::open(&crate::StoreLocation::File("tasks.db".into())).await.is_err());
}

#[tokio::test]
async fn a_table_of_a_kind_is_shared_and_its_rows_are_locked_by_one_process() {
    let Some(url) = new_database(SERVER).await else { return };
    let location = crate::StoreLocation::Postgres(url);
    let table = || {
        let store = Arc::new(LazyStore::of_server(&location).unwrap());
        Arc::new(RecordTable::new(store, RecordKind::Token)) as Arc<dyn SharedTable>
    };
    let (one, two) = (table(), table());
    assert_eq!(two.get("a").await.unwrap(), None);
    one.put("a", json!({"row": 1})).await.unwrap();
    assert_eq!(two.get("a").await.unwrap(), Some(json!({"row": 1})));
    let lock = RowLock::acquire(&one, "a", "one".into(), Duration::ZERO).await.unwrap();
    assert!(RowLock::acquire(&two, "a", "two".into(), Duration::ZERO).await.is_err());
    drop(lock);
    RowLock::acquire(&two, "a", "two".into(), PATIENCE).await.unwrap();
    assert!(two.remove("a").await.unwrap());
    assert!(!one.remove("a").await.unwrap());
    let away = crate::StoreLocation::Postgres(Secret::new("postgres://127.0.0.1:1/none"));
    let away = RecordTable::new(Arc::new(LazyStore::of_server(&away).unwrap()), RecordKind::Token);
    assert_eq!(away.get("a").await.unwrap_err().kind(), std::io::ErrorKind::NotConnected);
}
