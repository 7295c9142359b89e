//! The form of the database, and how an older one is brought up to it.

use sqlx::SqliteConnection;

use super::fault::Fault;
use crate::store::StoreError;

/// What brings a database from each form to the next. What has been released is never changed.
const STEPS: [&[&str]; 1] = [&[
    "CREATE TABLE records (
        kind TEXT NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (kind, id)
    ) WITHOUT ROWID, STRICT",
    // Moments in nanoseconds do not fit into 64 bits for all years; milliseconds do.
    "CREATE TABLE leases (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL)
        WITHOUT ROWID, STRICT",
    "PRAGMA user_version = 1",
]];

/// Brings a database up to the newest form, in one step that happens or does not.
pub(super) async fn bring_up(connection: &mut SqliteConnection, fault: &Fault<'_>) -> Result<(), StoreError> {
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    let failed = |error: sqlx::Error| fault.of(&error);
    // Held from here on, so that two processes that open it at once do not both do it.
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await.map_err(failed)?;
    let form: i64 =
        sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await.map_err(failed)?;
    if form > known {
        return Err(StoreError::Newer { path: fault.path.to_owned(), form, known });
    }
    for step in STEPS.iter().skip(usize::try_from(form).unwrap_or_default()) {
        for statement in *step {
            sqlx::query(*statement).execute(&mut *connection).await.map_err(failed)?;
        }
    }
    sqlx::query("COMMIT").execute(connection).await.map_err(failed)?;
    Ok(())
}
