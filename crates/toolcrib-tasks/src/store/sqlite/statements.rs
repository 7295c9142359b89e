//! The statements that write to a store in SQLite.

use sqlx::SqliteConnection;

use crate::store::StoreError;
use crate::store::encoded_changes::{EncodedChange, EncodedChanges, PendingWrite, Refused};
use crate::store::failpoint::failpoint;

/// Writes the changes of a batch, except those that a fence refuses.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    batch: &[PendingWrite],
    now: i64,
) -> Result<Vec<Refused>, sqlx::Error> {
    failpoint();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    failpoint();
    let mut refused = Vec::with_capacity(batch.len());
    for PendingWrite { changes, .. } in batch {
        refused.push(write_changes(connection, changes, now).await?);
    }
    sqlx::query("COMMIT").execute(connection).await?;
    failpoint();
    Ok(refused)
}

/// Writes the changes of one caller, unless a fence refuses them.
async fn write_changes(
    connection: &mut SqliteConnection,
    EncodedChanges(changes): &EncodedChanges,
    now: i64,
) -> Result<Refused, sqlx::Error> {
    for change in changes {
        if let EncodedChange::Fence { id, owner } = change {
            let lost: Option<String> =
                sqlx::query_scalar("SELECT id FROM leases WHERE id = ? AND owner <> ?")
                    .bind(id)
                    .bind(owner)
                    .fetch_optional(&mut *connection)
                    .await?;
            failpoint();
            if let Some(id) = lost {
                return Ok(Some(StoreError::LeaseLost { id }));
            }
        }
        if let EncodedChange::Take { kind, id } = change {
            let found: Option<i64> = sqlx::query_scalar(
                "SELECT 1 FROM records WHERE kind = ? AND id = ? AND (ends IS NULL OR ends > ?)",
            )
            .bind(kind.as_str())
            .bind(id)
            .bind(now)
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
            EncodedChange::Put { kind, id, session, body, lifetime } => sqlx::query(
                "INSERT INTO records (kind, id, session, body, ends) VALUES (?, ?, ?, ?, ?)
                 ON CONFLICT (kind, id)
                 DO UPDATE SET session = excluded.session, body = excluded.body, ends = excluded.ends",
            )
            .bind(kind.as_str())
            .bind(id)
            .bind(session)
            .bind(body)
            .bind(lifetime.map(|time| now.saturating_add(time))),
            EncodedChange::Remove { kind, id } | EncodedChange::Take { kind, id } => {
                sqlx::query("DELETE FROM leases WHERE id = ?").bind(id).execute(&mut *connection).await?;
                failpoint();
                sqlx::query("DELETE FROM records WHERE kind = ? AND id = ?").bind(kind.as_str()).bind(id)
            }
            EncodedChange::Fence { .. } => continue,
        };
        statement.execute(&mut *connection).await?;
        failpoint();
    }
    Ok(None)
}
