//! The task that owns the connection.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use super::errors::ErrorContext;
use crate::store::{Change, MAX_RECORD_BYTES, Record, RecordKind, StoreError};

/// The capacity of the command queue. Callers wait while it is full.
pub(super) const MAX_WAITING: usize = 1_024;

/// The maximum number of callers that share one transaction.
const MAX_BATCH: usize = 256;

/// The channel for the result of a command.
type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

pub(super) enum Command {
    Apply {
        changes: Vec<EncodedChange>,
        answer: Reply<()>,
    },
    Load {
        kind: RecordKind,
        id: Option<String>,
        answer: Reply<Vec<Record>>,
    },
    Lease {
        lease: Lease,
        answer: Reply<bool>,
    },
    Changed {
        answer: Reply<bool>,
    },
    #[cfg(test)]
    Limit {
        pages: u32,
        answer: Reply<()>,
    },
    Close,
}

/// A lease to acquire, or to release if `now` is `None`.
pub(super) struct Lease {
    pub(super) id: String,
    pub(super) owner: String,
    pub(super) now: Option<Timestamp>,
    pub(super) until: Timestamp,
}

/// A change in the encoding of the database.
pub(super) struct EncodedChange {
    kind: RecordKind,
    id: String,
    /// The session and the JSON of the record. `None` removes the record.
    record: Option<(String, String)>,
}

pub(super) fn encode(change: Change) -> Result<EncodedChange, StoreError> {
    let record = match change {
        Change::Remove { kind, id } => return Ok(EncodedChange { kind, id, record: None }),
        Change::Put(record) => record,
    };
    let Record { kind, id, session, body } = record;
    let text = body.to_string();
    if text.len() > MAX_RECORD_BYTES {
        let (kind, bytes, limit) = (kind.as_str(), text.len(), MAX_RECORD_BYTES);
        return Err(StoreError::TooLarge { kind, id, bytes, limit });
    }
    Ok(EncodedChange { kind, id, record: Some((session, text)) })
}

/// Executes commands until [`Command::Close`], or until all senders are dropped.
pub(super) async fn run(
    mut connection: SqliteConnection,
    mut commands: mpsc::Receiver<Command>,
    path: PathBuf,
) {
    let mut next = None;
    let mut version = None;
    loop {
        let command = match next.take() {
            Some(command) => command,
            None => match commands.recv().await {
                Some(command) => command,
                None => break,
            },
        };
        match command {
            Command::Close => break,
            Command::Changed { answer } => {
                // `data_version` changes with commits of other connections only.
                let found: Result<i64, _> =
                    sqlx::query_scalar("PRAGMA data_version").fetch_one(&mut connection).await;
                let changed = found.map(|found| version.replace(found).is_some_and(|before| before != found));
                let _ = answer.send(changed.map_err(|error| ErrorContext { path: &path }.convert(&error)));
            }
            #[cfg(test)]
            Command::Limit { pages, answer } => {
                let limit = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
                let done = sqlx::query(limit).execute(&mut connection).await;
                let _ = answer
                    .send(done.map(|_| ()).map_err(|error| ErrorContext { path: &path }.convert(&error)));
            }
            Command::Load { kind, id, answer } => {
                // Here and below, sending fails only if the caller has stopped waiting.
                let _ = answer.send(load(&mut connection, kind, id.as_deref(), &path).await);
            }
            Command::Lease { lease: wanted, answer } => {
                let _ = answer.send(lease(&mut connection, wanted, &path).await);
            }
            Command::Apply { changes, answer } => {
                let (mut batch, mut waiting) = (changes, vec![answer]);
                while waiting.len() < MAX_BATCH {
                    match commands.try_recv() {
                        Ok(Command::Apply { changes, answer }) => {
                            batch.extend(changes);
                            waiting.push(answer);
                        }
                        Ok(other) => {
                            next = Some(other);
                            break;
                        }
                        Err(_) => break,
                    }
                }
                let applied = apply(&mut connection, &batch, &path).await;
                for answer in waiting {
                    let _ = answer.send(applied.clone());
                }
            }
        }
    }
    commands.close();
    // Changes in the write-ahead log are durable even if closing fails.
    let _ = connection.close().await;
}

async fn apply(
    connection: &mut SqliteConnection,
    batch: &[EncodedChange],
    path: &Path,
) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| ErrorContext { path }.convert(&error);
    match write(connection, batch).await {
        Ok(()) => Ok(()),
        Err(error) => {
            // A full disk has already ended the transaction, which a transaction of `sqlx` would not notice.
            let _ = sqlx::query("ROLLBACK").execute(connection).await;
            Err(failed(error))
        }
    }
}

async fn write(connection: &mut SqliteConnection, batch: &[EncodedChange]) -> Result<(), sqlx::Error> {
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    for EncodedChange { kind, id, record } in batch {
        let statement = match record {
            Some((session, body)) => sqlx::query(
                "INSERT INTO records (kind, id, session, body) VALUES (?, ?, ?, ?)
                 ON CONFLICT (kind, id) DO UPDATE SET session = excluded.session, body = excluded.body",
            )
            .bind(kind.as_str())
            .bind(id)
            .bind(session)
            .bind(body),
            None => sqlx::query("DELETE FROM records WHERE kind = ? AND id = ?").bind(kind.as_str()).bind(id),
        };
        statement.execute(&mut *connection).await?;
    }
    sqlx::query("COMMIT").execute(connection).await?;
    Ok(())
}

async fn load(
    connection: &mut SqliteConnection,
    kind: RecordKind,
    id: Option<&str>,
    path: &Path,
) -> Result<Vec<Record>, StoreError> {
    let rows: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT id, session, body FROM records WHERE kind = ?1 AND (?2 IS NULL OR id = ?2) ORDER BY id",
    )
    .bind(kind.as_str())
    .bind(id)
    .fetch_all(connection)
    .await
    .map_err(|error| ErrorContext { path }.convert(&error))?;
    let record = |(id, session, body): (String, String, String)| {
        let body = serde_json::from_str(&body).map_err(|error| StoreError::Damaged {
            path: path.to_owned(),
            reason: format!("{} `{id}`: {error}", kind.as_str()),
        })?;
        Ok(Record { kind, id, session, body })
    };
    rows.into_iter().map(record).collect()
}

async fn lease(connection: &mut SqliteConnection, lease: Lease, path: &Path) -> Result<bool, StoreError> {
    let Lease { id, owner, now, until } = lease;
    let statement = match now {
        Some(now) => sqlx::query(
            "INSERT INTO leases (id, owner, until) VALUES (?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, until = excluded.until
             WHERE leases.owner = excluded.owner OR leases.until <= ?",
        )
        .bind(id)
        .bind(owner)
        .bind(until.as_millisecond())
        .bind(now.as_millisecond()),
        None => sqlx::query("DELETE FROM leases WHERE id = ? AND owner = ?").bind(id).bind(owner),
    };
    let done = statement.execute(connection).await.map_err(|error| ErrorContext { path }.convert(&error))?;
    Ok(done.rows_affected() > 0)
}
