//! Questions that wait for the answer of the operator.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};
use toolcrib_policy::{AnswerRefusal, question_id};
use toolcrib_tasks::store::{RecordKind, StoreError};

use crate::Error;
use crate::replica::Replica;
use crate::replica::questions::ForeignQuestion;

/// The time in which an answer arrives that was given at another process.
const DELIVERY_TIME: Duration = Duration::from_secs(10);

/// A question that people answer, at this process or at another one.
pub(crate) trait OperatorQuestion<A>: Clone {
    /// The name of the queue in the store.
    const QUEUE: &'static str;

    /// Returns true if the process that asks counts the answers of several people. Otherwise the first answer counts.
    fn needs_several(&self) -> bool {
        false
    }

    /// Counts an answer, which was not refused.
    fn accept(&mut self, answer: A) -> Acceptance<A> {
        Acceptance::Complete(answer)
    }

    /// Returns the reason why an answer does not count, if it does not.
    fn refusal(&self, _answer: &A) -> Option<AnswerRefusal> {
        None
    }

    /// Returns true if its record outlasts the process, since its caller asks again.
    fn outlasts_process(&self) -> bool {
        false
    }

    /// Returns the question for other processes, or `None` if only this process can show it.
    fn encode(&self, id: u64) -> Option<Value>;

    /// Returns the question of another process under its id here.
    fn decode(question: &Value, id: u64) -> Option<Self>;
}

/// An answer that was counted.
pub(crate) enum Acceptance<A> {
    /// The question is answered.
    Complete(A),
    /// Another person has to answer too.
    Partial,
}

/// The effect of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerOutcome {
    /// The answer was accepted.
    Accepted,
    /// The approval was recorded, and another person has to approve too.
    Recorded,
    /// The question was answered by another approver or withdrawn before.
    TooLate,
    /// This person may not answer the question, or not in this way.
    Refused(AnswerRefusal),
}

/// The process among others, once it has joined them.
pub(super) type JoinedReplica = Arc<OnceLock<Arc<Replica>>>;

/// Questions that wait for the operator, by id. Ids are unique among all queues.
pub(crate) struct AnswerQueue<Q, A> {
    /// The maximum number of questions. Further ones go to the other approvers only.
    most: usize,
    waiting: Mutex<BTreeMap<u64, QueuedQuestion<Q, A>>>,
    /// The questions of other processes, as they were last read.
    foreign: Mutex<BTreeMap<u64, QueuedForeign<Q>>>,
    /// Notified when a question is added or removed.
    changed: watch::Sender<()>,
    replica: JoinedReplica,
    /// True once the process ends.
    is_ending: AtomicBool,
    /// True while the app is reloaded, which ends the tasks that ask.
    is_reloading: watch::Sender<bool>,
    /// The questions that a reload has withdrawn, and that their callers ask again. The oldest first.
    withdrawn: Mutex<VecDeque<Q>>,
}

struct QueuedQuestion<Q, A> {
    question: Q,
    since: Instant,
    sender: oneshot::Sender<A>,
    row: Row,
}

/// The record of a question.
#[derive(Clone)]
enum Row {
    /// It is only in this process.
    None,
    /// It is being stored. The question is not shown yet.
    Pending,
    Stored(String),
}

struct QueuedForeign<Q> {
    shown: Q,
    since: Instant,
    question: ForeignQuestion,
}

/// A question that waits for the operator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingQuestion<Q> {
    pub(crate) id: u64,
    pub(crate) question: Q,
    /// The time that it has been waiting.
    pub(crate) waiting: Duration,
}

/// The first answer to a question.
pub(super) enum FirstAnswer<A, B> {
    Operator(A),
    Other(B),
}

/// Withdraws a question when dropped, because its asker no longer waits.
struct QueuedQuestionGuard<'a, Q: OperatorQuestion<A>, A> {
    queue: &'a AnswerQueue<Q, A>,
    id: u64,
}

impl<Q: OperatorQuestion<A>, A> Drop for QueuedQuestionGuard<'_, Q, A> {
    fn drop(&mut self) {
        let is_ending = self.queue.is_ending.load(Ordering::Relaxed);
        let entry = self.queue.waiting.lock().remove(&self.id);
        if let Some(entry) = &entry {
            self.queue.remember_withdrawn(&entry.question);
        }
        let entry = entry.filter(|entry| !is_ending || !entry.question.outlasts_process());
        if let (Some(Row::Stored(row)), Some(replica)) =
            (entry.map(|entry| entry.row), self.queue.replica.get())
        {
            replica.remove_later(RecordKind::Question, row);
        }
        self.queue.changed.send_replace(());
    }
}

impl<Q: OperatorQuestion<A>, A> AnswerQueue<Q, A> {
    /// Remembers a question whose caller asks again after a reload.
    fn remember_withdrawn(&self, question: &Q) {
        if !*self.is_reloading.borrow() || !question.outlasts_process() {
            return;
        }
        let mut withdrawn = self.withdrawn.lock();
        if withdrawn.len() >= self.most {
            withdrawn.pop_front();
        }
        withdrawn.push_back(question.clone());
    }

    /// Begins or ends a reload.
    pub(super) fn set_reloading(&self, is_reloading: bool) {
        self.is_reloading.send_replace(is_reloading);
    }

    /// Waits until no reload is in progress, during which the store is closed.
    pub(super) async fn reload_ended(&self) {
        // The sender lives as long as this queue.
        let _ = self.is_reloading.subscribe().wait_for(|is_reloading| !is_reloading).await;
    }

    /// Takes the questions that a reload has withdrawn and that fulfil a condition.
    pub(super) fn take_withdrawn(&self, is_wanted: impl Fn(&Q) -> bool) -> VecDeque<Q> {
        let mut withdrawn = self.withdrawn.lock();
        let (wanted, others) =
            std::mem::take(&mut *withdrawn).into_iter().partition(|question| is_wanted(question));
        *withdrawn = others;
        wanted
    }

    /// Returns true if a reload has withdrawn a question that fulfils a condition, and that is not asked again yet.
    pub(super) fn has_withdrawn(&self, is_wanted: impl Fn(&Q) -> bool) -> bool {
        self.withdrawn.lock().iter().any(is_wanted)
    }
}

impl<Q: OperatorQuestion<A>, A: Clone + Serialize + DeserializeOwned> AnswerQueue<Q, A> {
    pub(super) fn new(most: usize, changed: watch::Sender<()>, replica: JoinedReplica) -> Self {
        Self {
            most,
            waiting: Mutex::default(),
            foreign: Mutex::default(),
            changed,
            replica,
            is_ending: AtomicBool::new(false),
            is_reloading: watch::Sender::new(false),
            withdrawn: Mutex::default(),
        }
    }

    /// Keeps the records of the questions whose callers ask again after the end of this process.
    pub(super) fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Asks the operator and the other approvers, and takes the first answer. No answer from the other approvers does
    /// not count before the operator has left.
    ///
    /// # Errors
    ///
    /// Returns an error if other processes share the store, and it cannot be told there that the question is asked or
    /// which answer was first.
    pub(super) async fn ask<B>(
        &self,
        id: u64,
        question: Q,
        others: impl Future<Output = Option<B>>,
        left: impl Future<Output = ()>,
    ) -> Result<Option<FirstAnswer<A, B>>, Error> {
        let replica = self.replica.get();
        let encoded = replica.and_then(|replica| Some((replica, question.encode(id)?)));
        let row = if encoded.is_some() { Row::Pending } else { Row::None };
        let Some((_guard, mut answer)) = self.push(id, question, row) else {
            return Ok(others.await.map(FirstAnswer::Other));
        };
        if let Some((replica, encoded)) = &encoded {
            let row = replica.put_question(Q::QUEUE, id, encoded.clone()).await?;
            self.set_row(id, Row::Stored(row));
            self.changed.send_replace(());
        }
        let elsewhere = async {
            let answer = others.await;
            if answer.is_none() {
                left.await;
            }
            answer
        };
        let other = tokio::select! {
            biased;
            Ok(answer) = &mut answer => return Ok(Some(FirstAnswer::Operator(answer))),
            other = elsewhere => other,
        };
        if self.take_row(id).await? {
            return Ok(other.map(FirstAnswer::Other));
        }
        // An operator was first, and the answer is on its way.
        match timeout(DELIVERY_TIME, answer).await {
            Ok(Ok(answer)) => Ok(Some(FirstAnswer::Operator(answer))),
            _ => Err(Error::LostAnswer),
        }
    }

    fn push(
        &self,
        id: u64,
        question: Q,
        row: Row,
    ) -> Option<(QueuedQuestionGuard<'_, Q, A>, oneshot::Receiver<A>)> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock();
            if waiting.len() >= self.most {
                return None;
            }
            waiting.insert(id, QueuedQuestion { question, since: Instant::now(), sender, row });
        }
        self.changed.send_replace(());
        Some((QueuedQuestionGuard { queue: self, id }, receiver))
    }

    fn set_row(&self, id: u64, row: Row) {
        if let Some(entry) = self.waiting.lock().get_mut(&id) {
            entry.row = row;
        }
    }

    /// Takes the record of a question of this process, so that no further answer counts. Returns false if another process
    /// has taken it with an answer.
    async fn take_row(&self, id: u64) -> Result<bool, StoreError> {
        let row = self.waiting.lock().get(&id).map(|entry| entry.row.clone());
        let (Some(Row::Stored(row)), Some(replica)) = (row, self.replica.get()) else { return Ok(true) };
        let is_first = replica.take(RecordKind::Question, &row).await?;
        // Otherwise the answer of the other process is expected.
        if is_first {
            self.set_row(id, Row::None);
        }
        Ok(is_first)
    }

    /// Returns the waiting questions: those of this process, then those of others, each the oldest first.
    pub(crate) fn all(&self) -> Vec<PendingQuestion<Q>> {
        self.new_to(&BTreeSet::new())
    }

    /// Returns the waiting questions whose ids are not in `known`.
    pub(crate) fn new_to(&self, known: &BTreeSet<u64>) -> Vec<PendingQuestion<Q>> {
        let mut all = Vec::new();
        for (id, entry) in self.waiting.lock().iter().filter(|(_, entry)| entry.is_shown()) {
            all.push(PendingQuestion {
                id: *id,
                question: entry.question.clone(),
                waiting: entry.since.elapsed(),
            });
        }
        for (id, entry) in self.foreign.lock().iter() {
            all.push(PendingQuestion {
                id: *id,
                question: entry.shown.clone(),
                waiting: entry.since.elapsed(),
            });
        }
        all.retain(|pending| !known.contains(&pending.id));
        all
    }

    /// Returns the id here of a question of another process, as it was last read.
    pub(super) fn foreign_id(&self, process: &str, question: u64) -> Option<u64> {
        let foreign = self.foreign.lock();
        let is_it = |entry: &QueuedForeign<Q>| {
            entry.question.process == process
                && entry.question.id == question
                && entry.question.queue == Q::QUEUE
        };
        foreign.iter().find(|(_, entry)| is_it(entry)).map(|(id, _)| *id)
    }

    /// Returns the name of a question, which is the same at all processes.
    pub(crate) fn place(&self, id: u64) -> String {
        let Some(replica) = self.replica.get().filter(|replica| !replica.is_alone()) else {
            return id.to_string();
        };
        match self.foreign.lock().get(&id) {
            Some(QueuedForeign { question, .. }) => format!("{}.{}", question.process, question.id),
            None => format!("{}.{id}", replica.id()),
        }
    }

    /// Returns the id here of the question with a name, as the questions of other processes were last read.
    pub(crate) fn at(&self, place: &str) -> Option<u64> {
        let Some((process, id)) = place.split_once('.') else { return place.parse().ok() };
        let id = id.parse().ok()?;
        let is_own = self.replica.get().is_some_and(|replica| replica.id() == process);
        if is_own { Some(id) } else { self.foreign_id(process, id) }
    }

    /// Returns the question with this id if it is waiting.
    pub(crate) fn get(&self, id: u64) -> Option<Q> {
        if let Some(entry) = self.waiting.lock().get(&id) {
            return entry.is_shown().then(|| entry.question.clone());
        }
        self.foreign.lock().get(&id).map(|entry| entry.shown.clone())
    }

    /// Answers a question.
    ///
    /// # Errors
    ///
    /// Returns an error if other processes share the store, and it cannot be told there that the answer was given.
    pub(crate) async fn answer(&self, id: u64, answer: A) -> Result<AnswerOutcome, Error> {
        let own =
            self.waiting.lock().get(&id).map(|entry| (entry.is_shown(), entry.question.needs_several()));
        if let Some((is_shown, needs_several)) = own {
            // The answers of several people are counted here, and the first one does not end the question.
            let may_answer = is_shown && (needs_several || self.take_row(id).await?);
            return Ok(if may_answer { self.deliver(id, answer) } else { AnswerOutcome::TooLate });
        }
        let foreign = self.foreign.lock().remove(&id);
        let (Some(mut entry), Some(replica)) = (foreign, self.replica.get()) else {
            return Ok(AnswerOutcome::TooLate);
        };
        let refusal = entry.shown.refusal(&answer);
        let answered = match refusal {
            Some(refusal) => Ok(AnswerOutcome::Refused(refusal)),
            None if entry.shown.needs_several() => replica.pass_on(&entry.question, json!(answer)).await,
            None => replica.answer(&entry.question, json!(answer)).await,
        };
        if matches!(answered, Ok(AnswerOutcome::Recorded)) {
            // The process that asks counts the answers. This copy shows those given here.
            entry.shown.accept(answer);
        }
        if !matches!(answered, Ok(AnswerOutcome::Accepted | AnswerOutcome::TooLate)) {
            // The question still waits, also if the store cannot be reached.
            self.foreign.lock().insert(id, entry);
        }
        self.changed.send_replace(());
        answered
    }

    /// Gives an answer to the asker, once enough people have answered.
    fn deliver(&self, id: u64, answer: A) -> AnswerOutcome {
        let mut waiting = self.waiting.lock();
        let Some(entry) = waiting.get_mut(&id) else { return AnswerOutcome::TooLate };
        if let Some(refusal) = entry.question.refusal(&answer) {
            return AnswerOutcome::Refused(refusal);
        }
        let Acceptance::Complete(answer) = entry.question.accept(answer) else {
            drop(waiting);
            self.changed.send_replace(());
            return AnswerOutcome::Recorded;
        };
        let Some(entry) = waiting.remove(&id) else { return AnswerOutcome::TooLate };
        if let (Row::Stored(row), Some(replica)) = (entry.row, self.replica.get()) {
            replica.remove_later(RecordKind::Question, row);
        }
        if entry.sender.send(answer).is_ok() { AnswerOutcome::Accepted } else { AnswerOutcome::TooLate }
    }

    /// Gives an answer that came from another process to the asker.
    pub(super) fn deliver_encoded(&self, id: u64, answer: Value) {
        match serde_json::from_value(answer) {
            // An asker that no longer waits has withdrawn its question.
            Ok(answer) => {
                self.deliver(id, answer);
            }
            Err(error) => tracing::warn!(%error, "an answer of another process cannot be read"),
        }
    }

    /// Shows these questions of other processes in place of the earlier ones. A question that stays keeps its id.
    pub(super) fn show_foreign(&self, found: Vec<ForeignQuestion>) {
        let mut foreign = self.foreign.lock();
        let rows: BTreeSet<&str> = found.iter().map(|question| question.row.as_str()).collect();
        let before = foreign.len();
        foreign.retain(|_, entry| rows.contains(entry.question.row.as_str()));
        let mut has_changed = foreign.len() != before;
        let known: BTreeSet<String> = foreign.values().map(|entry| entry.question.row.clone()).collect();
        for question in found.into_iter().filter(|question| !known.contains(&question.row)) {
            let id = question_id();
            if foreign.len() < self.most
                && let Some(shown) = Q::decode(&question.question, id)
            {
                let since = Instant::now().checked_sub(question.waiting).unwrap_or_else(Instant::now);
                foreign.insert(id, QueuedForeign { shown, since, question });
                has_changed = true;
            }
        }
        drop(foreign);
        if has_changed {
            self.changed.send_replace(());
        }
    }

    /// Returns true if another process may answer a question of this one.
    pub(super) fn has_shared(&self) -> bool {
        self.waiting.lock().values().any(|entry| !matches!(entry.row, Row::None))
    }
}

impl<Q, A> QueuedQuestion<Q, A> {
    fn is_shown(&self) -> bool {
        !matches!(self.row, Row::Pending)
    }
}
