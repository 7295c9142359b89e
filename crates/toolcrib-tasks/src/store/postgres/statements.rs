//! The statements of a store in PostgreSQL.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{Connection as _, PgConnection};

use super::hints::CHANNEL;
use crate::store::StoreError;
use crate::store::audit::AuditRow;
use crate::store::encoded_changes::{EncodedChange, EncodedChanges, PendingWrite, Refused};
use crate::store::failpoint::failpoint;

/// The time of the server in milliseconds.
macro_rules! now {
    () => {
        "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT"
    };
}
pub(super) use now;

/// The time of the server in microseconds.
macro_rules! microseconds {
    () => {
        "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT"
    };
}

/// The key of the advisory lock of migrations: `toolcrib` in ASCII.
const MIGRATION_LOCK: i64 = 0x746f_6f6c_6372_6962;

/// The statements that create the table with the version of the others.
const VERSION_TABLE: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS toolcrib_store (
        one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), version BIGINT NOT NULL, changes BIGINT NOT NULL
    )",
    "INSERT INTO toolcrib_store (version, changes) VALUES (0, 0) ON CONFLICT DO NOTHING",
];

/// The statements that migrate a database to the next version.
pub(in crate::store) type Migration = &'static [&'static str];

/// The migrations from each version to the next. A released one is never changed, and each only adds: the programs of the
/// version before use the tables too while an update replaces them.
pub(in crate::store) const MIGRATIONS: [Migration; 4] = [
    &[
        // As in SQLite, ids are sorted by their bytes.
        "CREATE TABLE toolcrib_records (
            kind TEXT NOT NULL, id TEXT COLLATE \"C\" NOT NULL, session TEXT NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (kind, id)
        )",
        "CREATE TABLE toolcrib_leases (id TEXT PRIMARY KEY, owner TEXT NOT NULL, until BIGINT NOT NULL)",
    ],
    &[
        "ALTER TABLE toolcrib_records ADD COLUMN ends BIGINT",
        "CREATE INDEX toolcrib_records_ends ON toolcrib_records (ends) WHERE ends IS NOT NULL",
    ],
    &[
        "CREATE TABLE toolcrib_audit (id TEXT PRIMARY KEY, time TIMESTAMPTZ NOT NULL, record JSON NOT NULL)",
        "CREATE INDEX toolcrib_audit_time ON toolcrib_audit (time)",
    ],
    &["CREATE TABLE toolcrib_rates (id TEXT PRIMARY KEY, on_time BIGINT NOT NULL)"],
];

/// Changes that are written and not committed.
pub(super) struct Prepared {
    pub(super) refused: Vec<Refused>,
    /// The id of the transaction.
    pub(super) transaction: String,
    /// The number of transactions of all processes.
    pub(super) changes: i64,
}

/// Writes the changes of a batch in a transaction, except those that a fence refuses.
pub(super) async fn write_uncommitted(
    connection: &mut PgConnection,
    batch: &[PendingWrite],
) -> sqlx::Result<Prepared> {
    failpoint();
    sqlx::raw_sql("BEGIN; SET LOCAL synchronous_commit = on").execute(&mut *connection).await?;
    failpoint();
    let mut refused = Vec::with_capacity(batch.len());
    for PendingWrite { changes, .. } in batch {
        refused.push(write(connection, changes).await?);
    }
    let hints = hints(batch, &refused);
    if !hints.is_empty() {
        // They are sent at the commit.
        sqlx::query("SELECT pg_notify($1, kind) FROM UNNEST($2::TEXT[]) AS kind")
            .bind(CHANNEL)
            .bind(hints)
            .execute(&mut *connection)
            .await?;
        failpoint();
    }
    // At the end, since other processes wait for this row until the commit.
    let (changes, transaction) = sqlx::query_as(
        "UPDATE toolcrib_store SET changes = changes + 1 RETURNING changes, pg_current_xact_id()::TEXT",
    )
    .fetch_one(connection)
    .await?;
    failpoint();
    Ok(Prepared { refused, transaction, changes })
}

/// Returns the kinds of the records that were put and that other processes get hints about.
fn hints(batch: &[PendingWrite], refused: &[Refused]) -> Vec<&'static str> {
    let written = batch.iter().zip(refused).filter(|(_, refused)| refused.is_none());
    let changes = written.flat_map(|(PendingWrite { changes, .. }, _)| &changes.0);
    let kinds: BTreeSet<_> = changes
        .filter_map(|change| match change {
            EncodedChange::Put { kind, .. } if kind.has_hints() => Some(kind.as_str()),
            _ => None,
        })
        .collect();
    kinds.into_iter().collect()
}

/// Writes the changes of one caller, unless a fence refuses them.
async fn write(
    connection: &mut PgConnection,
    EncodedChanges(changes): &EncodedChanges,
) -> sqlx::Result<Refused> {
    for change in changes {
        if let EncodedChange::Fence { id, owner } = change {
            // Until the commit, no other process acquires the lease.
            let holder: Option<String> =
                sqlx::query_scalar("SELECT owner FROM toolcrib_leases WHERE id = $1 FOR SHARE")
                    .bind(id)
                    .fetch_optional(&mut *connection)
                    .await?;
            failpoint();
            if holder.is_some_and(|holder| holder != *owner) {
                return Ok(Some(StoreError::LeaseLost { id: id.clone() }));
            }
        }
        if let EncodedChange::Take { kind, id } = change {
            // Another process that takes it too waits for the commit, and does not find it then.
            let found: Option<i32> = sqlx::query_scalar(concat!(
                "SELECT 1 FROM toolcrib_records WHERE kind = $1 AND id = $2 AND (ends IS NULL OR ends > ",
                now!(),
                ") FOR UPDATE",
            ))
            .bind(kind.as_str())
            .bind(id)
            .fetch_optional(&mut *connection)
            .await?;
            failpoint();
            if found.is_none() {
                return Ok(Some(StoreError::Taken { kind: kind.as_str(), id: id.clone() }));
            }
        }
    }
    for change in changes {
        let statement = match change {
            EncodedChange::Put { kind, id, session, body, lifetime } => sqlx::query(concat!(
                "INSERT INTO toolcrib_records (kind, id, session, body, ends) VALUES ($1, $2, $3, $4, ",
                now!(),
                " + $5) ON CONFLICT (kind, id) DO UPDATE
                 SET session = excluded.session, body = excluded.body, ends = excluded.ends",
            ))
            .bind(kind.as_str())
            .bind(id)
            .bind(session)
            .bind(body)
            .bind(lifetime),
            EncodedChange::Remove { kind, id } | EncodedChange::Take { kind, id } => {
                sqlx::query("DELETE FROM toolcrib_leases WHERE id = $1")
                    .bind(id)
                    .execute(&mut *connection)
                    .await?;
                failpoint();
                sqlx::query("DELETE FROM toolcrib_records WHERE kind = $1 AND id = $2")
                    .bind(kind.as_str())
                    .bind(id)
            }
            EncodedChange::Fence { .. } => continue,
        };
        statement.execute(&mut *connection).await?;
        failpoint();
    }
    Ok(None)
}

/// Counts a call of a rate, unless it is early by more than the tolerance. Returns by how many microseconds it is. The time
/// in the row is that at which the next call is on time.
pub(super) async fn count_call(
    connection: &mut PgConnection,
    id: &str,
    (interval, tolerance): (i64, i64),
) -> sqlx::Result<i64> {
    let counted: Option<i64> = sqlx::query_scalar(concat!(
        "INSERT INTO toolcrib_rates AS rate (id, on_time) VALUES ($1, ",
        microseconds!(),
        " + $2) ON CONFLICT (id) DO UPDATE SET on_time = GREATEST(rate.on_time, excluded.on_time - $2) + $2
         WHERE rate.on_time - (excluded.on_time - $2) <= $3 RETURNING on_time",
    ))
    .bind(id)
    .bind(interval)
    .bind(tolerance)
    .fetch_optional(&mut *connection)
    .await?;
    if counted.is_some() {
        return Ok(0);
    }
    let early: Option<i64> = sqlx::query_scalar(concat!(
        "SELECT on_time - $2 - ",
        microseconds!(),
        " FROM toolcrib_rates WHERE id = $1",
    ))
    .bind(id)
    .bind(tolerance)
    .fetch_optional(connection)
    .await?;
    // It may be on time by now.
    Ok(early.unwrap_or_default().max(1))
}

/// Appends audit records, except those that are there already.
pub(super) async fn append_audit(connection: &mut PgConnection, records: &[AuditRow]) -> sqlx::Result<()> {
    let column = |value: fn(&AuditRow) -> &String| records.iter().map(value).collect::<Vec<_>>();
    sqlx::query(
        "INSERT INTO toolcrib_audit (id, time, record)
         SELECT id, time::TIMESTAMPTZ, record::JSON
         FROM UNNEST($1::TEXT[], $2::TEXT[], $3::TEXT[]) AS row (id, time, record) ON CONFLICT DO NOTHING",
    )
    .bind(column(|row| &row.id))
    .bind(column(|row| &row.time))
    .bind(column(|row| &row.record))
    .execute(connection)
    .await?;
    Ok(())
}

/// Migrates the tables, and returns their version before. Those of a newer version are not changed.
pub(super) async fn migrate(connection: &mut PgConnection, migrations: &[Migration]) -> sqlx::Result<i64> {
    let mut transaction = connection.begin().await?;
    // Two processes that start at once would both create the tables.
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(MIGRATION_LOCK).execute(&mut *transaction).await?;
    for statement in VERSION_TABLE {
        sqlx::query(statement).execute(&mut *transaction).await?;
    }
    let version: i64 =
        sqlx::query_scalar("SELECT version FROM toolcrib_store").fetch_one(&mut *transaction).await?;
    for step in migrations.iter().skip(usize::try_from(version).unwrap_or_default()) {
        for statement in *step {
            sqlx::query(*statement).execute(&mut *transaction).await?;
        }
        sqlx::query("UPDATE toolcrib_store SET version = version + 1").execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(version)
}

/// Returns the version of the tables, and the number of records of each kind.
pub(super) async fn status(connection: &mut PgConnection) -> sqlx::Result<(i64, BTreeMap<String, i64>)> {
    let is_there: bool = sqlx::query_scalar("SELECT to_regclass('toolcrib_store') IS NOT NULL")
        .fetch_one(&mut *connection)
        .await?;
    if !is_there {
        return Ok((0, BTreeMap::new()));
    }
    let version: i64 =
        sqlx::query_scalar("SELECT version FROM toolcrib_store").fetch_one(&mut *connection).await?;
    // The first version has no records that end.
    let kinds = if version < 2 {
        "SELECT kind, COUNT(*) FROM toolcrib_records GROUP BY kind"
    } else {
        concat!(
            "SELECT kind, COUNT(*) FROM toolcrib_records WHERE ends IS NULL OR ends > ",
            now!(),
            " GROUP BY kind"
        )
    };
    let records: Vec<(String, i64)> = sqlx::query_as(kinds).fetch_all(connection).await?;
    Ok((version, records.into_iter().collect()))
}
