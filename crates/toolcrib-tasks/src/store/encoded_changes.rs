//! Changes in the encoding of a database, and the queue of callers that wait for them to be written.

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Change, MAX_BATCH, Record, RecordKind, StoreError, milliseconds};

/// The reason why the changes of a caller were refused.
pub(super) type Refused = Option<StoreError>;

/// The changes of the callers that wait for the connection of a store.
#[derive(Default)]
pub(super) struct WriteQueue(Mutex<Vec<PendingWrite>>);

/// The changes of one caller, who waits for the result.
pub(super) struct PendingWrite {
    pub(super) changes: EncodedChanges,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

impl WriteQueue {
    /// Adds the changes of a caller, and returns what receives the result. Returns an error if a record exceeds the size
    /// limit.
    pub(super) fn push(
        &self,
        changes: Vec<Change>,
    ) -> Result<oneshot::Receiver<Result<(), StoreError>>, StoreError> {
        let changes = EncodedChanges::new(changes)?;
        let (answer, answered) = oneshot::channel();
        self.0.lock().push(PendingWrite { changes, answer });
        Ok(answered)
    }

    /// Takes the changes that are written in the next transaction. The batch is empty if another caller has written them.
    pub(super) fn take_batch(&self) -> Vec<PendingWrite> {
        let mut pending = self.0.lock();
        let count = pending.len().min(MAX_BATCH);
        pending.drain(..count).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

impl PendingWrite {
    /// Answers the callers of a batch. A caller has stopped waiting if its answer cannot be sent.
    pub(super) fn answer_all(batch: Vec<Self>, written: &Result<Vec<Refused>, StoreError>) {
        let mut refused = written.as_ref().map_or_else(|_| Vec::new(), Clone::clone).into_iter();
        for Self { answer, .. } in batch {
            let refused = refused.next().flatten().map_or(Ok(()), Err);
            let _ = answer.send(written.clone().map(drop).and(refused));
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
        /// The milliseconds until it ends.
        lifetime: Option<i64>,
    },
    Remove {
        kind: RecordKind,
        id: String,
    },
    Take {
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
    fn new(changes: Vec<Change>) -> Result<Self, StoreError> {
        changes.into_iter().map(EncodedChange::new).collect::<Result<_, _>>().map(Self)
    }
}

impl EncodedChange {
    fn new(change: Change) -> Result<Self, StoreError> {
        let (Record { kind, id, session, body }, lifetime) = match change {
            Change::Put(record) => (record, None),
            Change::PutFor { record, lifetime } => (record, Some(milliseconds(lifetime))),
            Change::Take { kind, id } => return Ok(Self::Take { kind, id }),
            Change::Remove { kind, id } => return Ok(Self::Remove { kind, id }),
            Change::Fence { id, owner } => return Ok(Self::Fence { id, owner }),
        };
        let body = body.to_string();
        if body.len() > kind.max_bytes() {
            let (kind, bytes, limit) = (kind.as_str(), body.len(), kind.max_bytes());
            return Err(StoreError::TooLarge { kind, id, bytes, limit });
        }
        Ok(Self::Put { kind, id, session, body, lifetime })
    }
}
