//! Questions that wait for the answer of the operator.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

/// Questions that wait for the operator, by id. Ids are unique among all queues.
pub(crate) struct AnswerQueue<Q, A> {
    /// The maximum number of questions. Further ones go to the other approvers only.
    most: usize,
    waiting: Mutex<BTreeMap<u64, QueuedQuestion<Q, A>>>,
    /// Notified when a question is added or removed.
    changed: watch::Sender<()>,
}

struct QueuedQuestion<Q, A> {
    question: Q,
    since: Instant,
    sender: oneshot::Sender<A>,
}

/// A question that waits for the operator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingQuestion<Q> {
    pub(crate) id: u64,
    pub(crate) question: Q,
    /// The time that it has been waiting.
    pub(crate) waiting: Duration,
}

/// Withdraws a question when dropped, because its asker no longer waits.
struct QueuedQuestionGuard<'a, Q, A> {
    queue: &'a AnswerQueue<Q, A>,
    id: u64,
}

impl<Q, A> Drop for QueuedQuestionGuard<'_, Q, A> {
    fn drop(&mut self) {
        self.queue.waiting.lock().remove(&self.id);
        self.queue.changed.send_replace(());
    }
}

impl<Q: Clone, A> AnswerQueue<Q, A> {
    pub(super) fn new(most: usize, changed: watch::Sender<()>) -> Self {
        Self { most, waiting: Mutex::default(), changed }
    }

    /// Asks the operator and the other approvers, and takes the first answer. No answer from the other approvers does
    /// not count before the operator has left.
    pub(super) async fn ask(
        &self,
        id: u64,
        question: Q,
        others: impl Future<Output = Option<A>>,
        left: impl Future<Output = ()>,
    ) -> Option<A> {
        let Some((_guard, answer)) = self.push(id, question) else { return others.await };
        let elsewhere = async {
            let answer = others.await;
            if answer.is_none() {
                left.await;
            }
            answer
        };
        tokio::select! {
            biased;
            Ok(answer) = answer => Some(answer),
            answer = elsewhere => answer,
        }
    }

    fn push(&self, id: u64, question: Q) -> Option<(QueuedQuestionGuard<'_, Q, A>, oneshot::Receiver<A>)> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock();
            if waiting.len() >= self.most {
                return None;
            }
            waiting.insert(id, QueuedQuestion { question, since: Instant::now(), sender });
        }
        self.changed.send_replace(());
        Some((QueuedQuestionGuard { queue: self, id }, receiver))
    }

    /// Returns the waiting questions, the oldest first.
    pub(crate) fn all(&self) -> Vec<PendingQuestion<Q>> {
        self.new_to(&BTreeSet::new())
    }

    /// Returns the waiting questions whose ids are not in `known`.
    pub(crate) fn new_to(&self, known: &BTreeSet<u64>) -> Vec<PendingQuestion<Q>> {
        let waiting = self.waiting.lock();
        let new = waiting.iter().filter(|(id, _)| !known.contains(id));
        let pending = |(id, entry): (&u64, &QueuedQuestion<Q, A>)| PendingQuestion {
            id: *id,
            question: entry.question.clone(),
            waiting: entry.since.elapsed(),
        };
        new.map(pending).collect()
    }

    /// Returns the question with this id if it is waiting.
    pub(crate) fn get(&self, id: u64) -> Option<Q> {
        self.waiting.lock().get(&id).map(|entry| entry.question.clone())
    }

    /// Answers a question. Returns false if it was answered by another approver or withdrawn before.
    pub(crate) fn answer(&self, id: u64, answer: impl FnOnce(Q) -> A) -> bool {
        let entry = self.waiting.lock().remove(&id);
        entry.is_some_and(|QueuedQuestion { question, sender, .. }| sender.send(answer(question)).is_ok())
    }
}
