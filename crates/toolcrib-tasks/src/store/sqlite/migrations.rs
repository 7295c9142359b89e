//! The schema of the database and its migrations.

use sqlx::SqliteConnection;

use super::errors::ErrorContext;
use crate::store::StoreError;

/// The statements that migrate a database from each version to the next. A released migration is never changed.
const MIGRATIONS: [&[&str]; 1] = [&[
    "CREATE TABLE records (
        kind TEXT NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (kind, id)
    ) WITHOUT ROWID, STRICT",
    // Timestamps in nanoseconds do not fit into 64 bits for all years; milliseconds do.
    "CREATE TABLE leases (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL)
        WITHOUT ROWID, STRICT",
    "PRAGMA user_version = 1",
]];

/// Migrates a database to the newest version in one transaction.
pub(super) async fn migrate(
    connection: &mut SqliteConnection,
    error_context: &ErrorContext<'_>,
) -> Result<(), StoreError> {
    let supported = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let failed = |error: sqlx::Error| error_context.convert(&error);
    // The write lock prevents two processes that open the file at once from both migrating it.
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await.map_err(failed)?;
    let version: i64 =
        sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await.map_err(failed)?;
    if version > supported {
        return Err(StoreError::NewerVersion { path: error_context.path.to_owned(), version, supported });
    }
    for step in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or_default()) {
        for statement in *step {
            sqlx::query(*statement).execute(&mut *connection).await.map_err(failed)?;
        }
    }
    sqlx::query("COMMIT").execute(connection).await.map_err(failed)?;
    Ok(())
}
