//! Questions of processes that have ended, whose callers make their calls again.
//!
//! The record of such a question stays. A link answers it, and the answer waits for the caller under the key of the
//! question. A caller that comes back first takes the question over, with the approvals that it has.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_tasks::store::{Change, Record, RecordKind, StoreError};

use super::Replica;
use super::questions::{Body, QUESTION_LIFETIME, row_of};
use crate::Error;
use crate::approval::{Acceptance, AnswerOutcome, CALLS, CallAnswer, OperatorQuestion as _};
use crate::operator::WaitingCall;

/// The maximum number of earlier questions that a question has. The links of older ones have ended.
const MAX_EARLIER: usize = 16;

/// The part of a question by which it is found again after the end of its process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResumableQuestion {
    /// The digest of the call and its caller.
    key: String,
    /// The questions of ended processes about the same call. Their links answer this one.
    earlier: Vec<QuestionPlace>,
}

/// The process that asks a question, and its id there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QuestionPlace {
    pub(crate) process: String,
    pub(crate) question: u64,
}

impl ResumableQuestion {
    /// Creates the question about the call with this key, which takes the place of these.
    pub(crate) fn new(key: String, mut earlier: Vec<QuestionPlace>) -> Self {
        let excess = earlier.len().saturating_sub(MAX_EARLIER);
        earlier.drain(..excess);
        Self { key, earlier }
    }

    /// Returns true if the question is about the call with this key.
    pub(crate) fn has_key(&self, key: &str) -> bool {
        self.key == key
    }

    /// Returns the questions whose place this one takes.
    pub(crate) fn into_earlier(self) -> Vec<QuestionPlace> {
        self.earlier
    }

    /// Returns true if this question has taken the place of another one.
    pub(crate) fn replaces(&self, place: &QuestionPlace) -> bool {
        self.earlier.contains(place)
    }
}

impl Replica {
    /// Takes over the questions that ended processes have asked about a call with this key. Returns the answer if one was
    /// given meanwhile; otherwise the call gets the approvals that they have.
    pub(crate) async fn take_over(
        &self,
        key: String,
        call: &mut WaitingCall,
    ) -> Result<Option<CallAnswer>, StoreError> {
        let (mut earlier, mut approved_by) = (Vec::new(), BTreeSet::new());
        let records = self.store().load(RecordKind::Question).await?;
        for record in records {
            let Some((place, before)) = resumable(&record) else { continue };
            let is_same = before.resumable.as_ref().is_some_and(|question| question.key == key);
            if !is_same || self.is_alive(&place.process).await? {
                continue;
            }
            // Another process, or an answer, may be first.
            if self.take(RecordKind::Question, &record.id).await? {
                earlier.extend(before.resumable.map(|question| question.earlier).unwrap_or_default());
                earlier.push(place);
                approved_by.extend(before.approved_by);
            }
        }
        let answer = self.take_answer(&key).await?;
        if let Some(answer) = answer.filter(|answer| call.refusal(answer).is_none()) {
            return Ok(Some(answer));
        }
        call.take_approvals(approved_by);
        call.resumable = Some(ResumableQuestion::new(key, earlier));
        Ok(None)
    }

    async fn take_answer(&self, key: &str) -> Result<Option<CallAnswer>, StoreError> {
        let Some(record) = self.store().get(RecordKind::Answer, key).await? else { return Ok(None) };
        let is_first = self.take(RecordKind::Answer, key).await?;
        Ok(serde_json::from_value(record.body).ok().filter(|_| is_first))
    }

    /// Returns the question of a process that has ended, if it was not answered or withdrawn.
    pub(crate) async fn question_of_ended(
        &self,
        place: &QuestionPlace,
    ) -> Result<Option<WaitingCall>, StoreError> {
        if self.is_alive(&place.process).await? {
            return Ok(None);
        }
        let row = row_of(&place.process, CALLS, place.question);
        let record = self.store().get(RecordKind::Question, &row).await?;
        Ok(record.and_then(|record| resumable(&record)).map(|(_, call)| call))
    }

    /// Answers the question of a process that has ended. The answer waits for its caller.
    pub(crate) async fn answer_for_later(
        &self,
        place: &QuestionPlace,
        answer: CallAnswer,
    ) -> Result<AnswerOutcome, Error> {
        let call = self.question_of_ended(place).await?;
        let Some(mut call) = call.filter(|call| call.resumable.is_some()) else {
            return Ok(AnswerOutcome::TooLate);
        };
        if let Some(refusal) = call.refusal(&answer) {
            return Ok(AnswerOutcome::Refused(refusal));
        }
        let row = row_of(&place.process, CALLS, place.question);
        let taken = Change::take(RecordKind::Question, row.as_str());
        let (outcome, kind, id, body) = match call.accept(answer) {
            Acceptance::Complete(answer) => {
                let key = call.resumable.map(|question| question.key).unwrap_or_default();
                (AnswerOutcome::Accepted, RecordKind::Answer, key, json!(answer))
            }
            Acceptance::Partial => {
                let body = json!(Body::new(CALLS, place.question, json!(call)));
                (AnswerOutcome::Recorded, RecordKind::Question, row, body)
            }
        };
        let record = Record { kind, id, session: String::new(), body };
        let put = Change::PutFor { record, lifetime: QUESTION_LIFETIME };
        let is_first = self.apply(vec![taken, put]).await?;
        Ok(if is_first { outcome } else { AnswerOutcome::TooLate })
    }
}

/// Returns the call that a record asks about, and its place.
fn resumable(record: &Record) -> Option<(QuestionPlace, WaitingCall)> {
    let mut parts = record.id.split('.');
    let (process, queue, question) = (parts.next()?, parts.next()?, parts.next()?.parse().ok()?);
    let body: Body = serde_json::from_value(record.body.clone()).ok().filter(|_| queue == CALLS)?;
    let place = QuestionPlace { process: process.to_owned(), question };
    Some((place, WaitingCall::decode(&body.question, question)?))
}
