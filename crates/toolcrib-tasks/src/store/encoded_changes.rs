//! The changes of one caller in the encoding of a database.

use sqlx::SqliteConnection;
use tokio::sync::oneshot;

use super::{Change, Record, RecordKind, StoreError};

/// The id of the lease that refused the changes of a caller.
pub(super) type Refused = Option<String>;

/// The changes of one caller, who waits for the result.
pub(super) struct PendingWrite {
    pub(super) changes: EncodedChanges,
    pub(super) answer: oneshot::Sender<Result<(), StoreError>>,
}

impl PendingWrite {
    /// Answers the callers of a batch. A caller has stopped waiting if its answer cannot be sent.
    pub(super) fn answer_all(batch: Vec<Self>, written: &Result<Vec<Refused>, StoreError>) {
        let mut refused = written.as_ref().map_or_else(|_| Vec::new(), Clone::clone).into_iter();
        for Self { answer, .. } in batch {
            let refused = refused.next().flatten().map_or(Ok(()), |id| Err(StoreError::LeaseLost { id }));
            let _ = answer.send(written.clone().and(refused));
        }
    }
}

/// Changes in the encoding of a database.
pub(super) struct EncodedChanges(pub(super) Vec<EncodedChange>);

pub(super) enum EncodedChange {
    /// Stores the session and the JSON of a record.
    Put {
        kind: RecordKind,
        id: String,
        session: String,
        body: String,
    },
    Remove {
        kind: RecordKind,
        id: String,
    },
    Fence {
        id: String,
        owner: String,
    },
}

impl EncodedChanges {
    /// Encodes changes. Returns an error if a record exceeds the size limit.
    pub(super) fn new(changes: Vec<Change>) -> Result<Self, StoreError> {
        changes.into_iter().map(EncodedChange::new).collect::<Result<_, _>>().map(Self)
    }

    /// Writes the changes within a transaction of SQLite, unless a fence refuses them.
    pub(super) async fn write(&self, connection: &mut SqliteConnection) -> Result<Refused, sqlx::Error> {
        for change in &self.0 {
            if let EncodedChange::Fence { id, owner } = change {
                let lost: Refused = sqlx::query_scalar("SELECT id FROM leases WHERE id = ? AND owner <> ?")
                    .bind(id)
                    .bind(owner)
                    .fetch_optional(&mut *connection)
                    .await?;
                if lost.is_some() {
                    return Ok(lost);
                }
            }
        }
        for change in &self.0 {
            change.write(connection).await?;
        }
        Ok(None)
    }
}

impl EncodedChange {
    fn new(change: Change) -> Result<Self, StoreError> {
        let Record { kind, id, session, body } = match change {
            Change::Put(record) => record,
            Change::Remove { kind, id } => return Ok(Self::Remove { kind, id }),
            Change::Fence { id, owner } => return Ok(Self::Fence { id, owner }),
        };
        let body = body.to_string();
        if body.len() > kind.max_bytes() {
            let (kind, bytes, limit) = (kind.as_str(), body.len(), kind.max_bytes());
            return Err(StoreError::TooLarge { kind, id, bytes, limit });
        }
        Ok(Self::Put { kind, id, session, body })
    }

    async fn write(&self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let statement = match self {
            Self::Put { kind, id, session, body } => sqlx::query(
                "INSERT INTO records (kind, id, session, body) VALUES (?, ?, ?, ?)
                 ON CONFLICT (kind, id) DO UPDATE SET session = excluded.session, body = excluded.body",
            )
            .bind(kind.as_str())
            .bind(id)
            .bind(session)
            .bind(body),
            Self::Remove { kind, id } => {
                sqlx::query("DELETE FROM leases WHERE id = ?").bind(id).execute(&mut *connection).await?;
                sqlx::query("DELETE FROM records WHERE kind = ? AND id = ?").bind(kind.as_str()).bind(id)
            }
            Self::Fence { .. } => return Ok(()),
        };
        statement.execute(connection).await.map(drop)
    }
}
