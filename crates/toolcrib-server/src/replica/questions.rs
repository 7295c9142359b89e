//! Questions to people as records, which an operator at any of the processes answers.

use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_tasks::store::{Change, Record, RecordKind, StoreError};

use super::Replica;
use super::mail::{ReplicaMessage, sending};
use crate::Error;
use crate::approval::AnswerOutcome;

/// The time for which a question exists if its process ends without withdrawing it. It is not shown after that end.
pub(super) const QUESTION_LIFETIME: Duration = Duration::from_hours(24);

/// A question of another process.
pub(crate) struct ForeignQuestion {
    /// The id of its record.
    pub(crate) row: String,
    /// The process that asks.
    pub(crate) process: String,
    /// The queue of the question there.
    pub(crate) queue: String,
    /// Its id there.
    pub(crate) id: u64,
    pub(crate) waiting: Duration,
    pub(crate) question: Value,
}

/// The body of the record of a question.
#[derive(Serialize, Deserialize)]
pub(super) struct Body {
    queue: String,
    id: u64,
    /// The time at which it was asked, in milliseconds since 1970 by the clock of its process.
    asked: u64,
    pub(super) question: Value,
}

impl Replica {
    /// Stores a question of this process, and returns the id of its record.
    pub(crate) async fn put_question(
        &self,
        queue: &str,
        id: u64,
        question: Value,
    ) -> Result<String, StoreError> {
        let row = row_of(self.id(), queue, id);
        let body = json!(Body::new(queue, id, question));
        let record = Record { kind: RecordKind::Question, id: row.clone(), session: String::new(), body };
        self.store().apply(vec![Change::PutFor { record, lifetime: QUESTION_LIFETIME }]).await?;
        self.wake();
        Ok(row)
    }

    /// Returns the questions of the other processes that are alive.
    pub(crate) async fn questions_elsewhere(&self) -> Result<Vec<ForeignQuestion>, StoreError> {
        if self.is_alone() {
            return Ok(Vec::new());
        }
        let store = self.store();
        let records = store.load(RecordKind::Question).await?;
        let alive = store.load(RecordKind::Process).await?;
        let alive: HashSet<&str> = alive.iter().map(|record| record.id.as_str()).collect();
        let foreign = |Record { id: row, body, .. }: Record| {
            let process = row.split('.').next()?.to_owned();
            if process == self.id() || !alive.contains(process.as_str()) {
                return None;
            }
            let Body { queue, id, asked, question } = serde_json::from_value(body).ok()?;
            let waiting = Duration::from_millis(now().saturating_sub(asked));
            Some(ForeignQuestion { row, process, queue, id, waiting, question })
        };
        Ok(records.into_iter().filter_map(foreign).collect())
    }

    /// Answers a question of another process.
    pub(crate) async fn answer(
        &self,
        question: &ForeignQuestion,
        answer: Value,
    ) -> Result<AnswerOutcome, Error> {
        let taken = Change::take(RecordKind::Question, question.row.as_str());
        let is_first =
            self.apply(vec![taken, sending(&question.process, &question.answered(answer))?]).await?;
        Ok(if is_first { AnswerOutcome::Accepted } else { AnswerOutcome::TooLate })
    }

    /// Passes an answer on to the process that asks, which counts the answers of several people.
    pub(crate) async fn pass_on(
        &self,
        question: &ForeignQuestion,
        answer: Value,
    ) -> Result<AnswerOutcome, Error> {
        if self.store().get(RecordKind::Question, &question.row).await?.is_none() {
            return Ok(AnswerOutcome::TooLate);
        }
        self.send(&question.process, &question.answered(answer)).await?;
        Ok(AnswerOutcome::Recorded)
    }
}

impl Body {
    pub(super) fn new(queue: &str, id: u64, question: Value) -> Self {
        Self { queue: queue.to_owned(), id, asked: now(), question }
    }
}

impl ForeignQuestion {
    /// Returns the message that answers the question.
    fn answered(&self, answer: Value) -> ReplicaMessage {
        ReplicaMessage::Answer { queue: self.queue.clone(), question: self.id, answer }
    }
}

/// Returns the id of the record of a question.
pub(super) fn row_of(process: &str, queue: &str, question: u64) -> String {
    format!("{process}.{queue}.{question}")
}

/// Returns the time in milliseconds since 1970.
fn now() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
