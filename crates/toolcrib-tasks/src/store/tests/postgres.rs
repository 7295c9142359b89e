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
use toolcrib_model::Secret;

use super::put;
use crate::id::random_id;
use crate::store::record::MAX_RECORD_BYTES;
use crate::store::{Change, PostgresStore, Record, RecordKind, Store, StoreError};

const SERVER: &str = "TOOLCRIB_TEST_POSTGRES";

/// A server that tests may kill. It is started again.
const VICTIM: &str = "TOOLCRIB_TEST_POSTGRES_VICTIM";

/// The time in which a server that was killed is there again.
const PATIENCE: Duration = Duration::from_mins(1);

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

/// A connection of another program.
async fn connect(url: &Secret) -> PgConnection {
    PgConnectOptions::from_str(url.expose()).unwrap().connect().await.unwrap()
}

async fn ids(store: &PostgresStore) -> BTreeSet<String> {
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
async fn the_tables_of_a_newer_version_are_left_alone() {
    let Some(url) = new_database(SERVER).await else { return };
    PostgresStore::open(&url).await.unwrap().close().await;
    connect(&url).await.execute("UPDATE toolcrib_store SET version = 99").await.unwrap();
    let refused = PostgresStore::open(&url).await.err();
    assert!(matches!(refused, Some(StoreError::NewerVersion { version: 99, .. })), "{refused:?}");
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
