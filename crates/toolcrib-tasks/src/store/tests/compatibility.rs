//! Processes of two versions on one store, as during an update.

use std::time::Duration;

use sqlx::Executor as _;

use super::postgres::{connect, ids, new_server_database};
use super::{put, record};
use crate::store::postgres::MIGRATIONS;
use crate::store::{Change, PostgresStore, RecordKind, Store, StoreError, sqlite};

#[tokio::test]
async fn processes_of_this_version_and_of_the_one_before_share_a_store() {
    let Some(url) = new_server_database().await else { return };
    let (_, before) = MIGRATIONS.split_last().unwrap();
    let old = PostgresStore::open_with(&url, before).await.unwrap();
    old.apply(vec![put("a", 1)]).await.unwrap();
    let minute = Duration::from_mins(1);
    assert!(old.lease("run", "old", minute).await.unwrap());
    let new = PostgresStore::open(&url).await.unwrap();
    assert_eq!(ids(&new).await, ["a".to_owned()].into());
    // One of the version before can be started again too.
    let again = PostgresStore::open_with(&url, before).await.unwrap();
    let pairs = [("b", &old, &new), ("c", &new, &old), ("d", &again, &new), ("e", &new, &again)];
    for (id, writer, reader) in pairs {
        writer.apply(vec![put(id, 1)]).await.unwrap();
        assert!(reader.get(RecordKind::Schedule, id).await.unwrap().is_some(), "{id}");
        let short = record(RecordKind::Message, id, serde_json::json!({}));
        writer.apply(vec![Change::PutFor { record: short, lifetime: minute }]).await.unwrap();
        reader.apply(vec![Change::take(RecordKind::Message, id)]).await.unwrap();
        let taken = writer.apply(vec![Change::take(RecordKind::Message, id)]).await;
        assert!(matches!(taken, Err(StoreError::Taken { .. })), "{taken:?}");
    }
    assert!(!new.lease("run", "new", minute).await.unwrap());
    let fence = Change::Fence { id: "run".into(), owner: "new".into() };
    assert!(matches!(new.apply(vec![fence]).await, Err(StoreError::LeaseLost { .. })));
    old.release("run", "old").await.unwrap();
    assert!(new.lease("run", "new", minute).await.unwrap());
    new.remove_ended().await.unwrap();
    assert_eq!(ids(&old).await.len(), 5);
}

#[tokio::test]
async fn the_tables_of_a_version_beyond_the_next_are_refused_and_left_alone() {
    let Some(url) = new_server_database().await else { return };
    PostgresStore::open(&url).await.unwrap().close().await;
    let supported = i64::try_from(MIGRATIONS.len()).unwrap() + 1;
    let (_, before) = MIGRATIONS.split_last().unwrap();
    let (_, long_before) = before.split_last().unwrap();
    let refused = PostgresStore::open_with(&url, long_before).await.err();
    assert!(matches!(refused, Some(StoreError::NewerVersion { .. })), "{refused:?}");
    for version in [supported + 1, 99] {
        let sql = format!("UPDATE toolcrib_store SET version = {version}");
        connect(&url).await.execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
        let refused = PostgresStore::open(&url).await.err().unwrap().to_string();
        let said = format!(
            "was written by a newer version in format {version}; this version supports formats up to {supported}"
        );
        assert!(refused.contains(&said), "{refused}");
    }
    let found: i64 = sqlx::query_scalar("SELECT version FROM toolcrib_store")
        .fetch_one(&mut connect(&url).await)
        .await
        .unwrap();
    assert_eq!(found, 99);
}

/// Returns true if programs of the version before work with the tables after a statement.
fn only_adds(statement: &str) -> bool {
    let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ").to_uppercase();
    let begins = |words: &str| statement.starts_with(words);
    let column = begins("ALTER TABLE ") && statement.contains(" ADD COLUMN ");
    let is_known = column && (!statement.contains("NOT NULL") || statement.contains("DEFAULT"))
        || ["CREATE TABLE ", "CREATE INDEX ", "PRAGMA USER_VERSION"].into_iter().any(begins);
    let changes = ["DROP ", "RENAME ", "ALTER COLUMN ", "UNIQUE", "REFERENCES "];
    is_known && !(column && changes.into_iter().any(|words| statement.contains(words)))
}

#[test]
fn migrations_only_add_what_the_version_before_need_not_know() {
    for step in MIGRATIONS.iter().chain(&sqlite::MIGRATIONS) {
        for statement in *step {
            assert!(only_adds(statement), "{statement}");
        }
    }
    for statement in [
        "DROP TABLE toolcrib_rates",
        "ALTER TABLE toolcrib_records DROP COLUMN ends",
        "ALTER TABLE toolcrib_records RENAME COLUMN ends TO until",
        "ALTER TABLE toolcrib_records RENAME TO records",
        "ALTER TABLE toolcrib_records ADD COLUMN owner TEXT NOT NULL",
        "ALTER TABLE toolcrib_records ADD COLUMN owner TEXT, DROP COLUMN session",
        "ALTER TABLE toolcrib_records ADD COLUMN owner TEXT UNIQUE",
        "ALTER TABLE toolcrib_records ALTER COLUMN ends SET NOT NULL",
        "CREATE UNIQUE INDEX one ON toolcrib_records (session)",
        "DELETE FROM toolcrib_leases",
    ] {
        assert!(!only_adds(statement), "{statement}");
    }
    assert!(only_adds("ALTER TABLE toolcrib_records ADD COLUMN owner TEXT NOT NULL DEFAULT ''"));
}
