//! Questions of agents and servers to their user that wait for the operator.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use toolcrib_model::{JsonObject, UserAnswer, UserQuestion};
use toolcrib_policy::question_id;

/// The maximum number of questions that wait for the operator. Further ones go to the other approvers only.
pub const MAX_WAITING_QUESTIONS: usize = 64;

/// A question that waits for the operator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingQuestion {
    /// The id, which is unique among the questions and the waiting calls.
    pub(crate) id: u64,
    pub(crate) question: UserQuestion,
    /// The time that it has been waiting.
    pub(crate) waiting: Duration,
}

/// The waiting questions, by id.
#[derive(Default)]
pub(crate) struct UserQuestions(Mutex<BTreeMap<u64, QueuedQuestion>>);

struct QueuedQuestion {
    question: UserQuestion,
    since: Instant,
    sender: oneshot::Sender<UserAnswer>,
}

/// Withdraws a question when dropped, because its asker no longer waits.
struct QueuedQuestionGuard<'a> {
    questions: &'a UserQuestions,
    changed: &'a watch::Sender<()>,
    id: u64,
}

impl Drop for QueuedQuestionGuard<'_> {
    fn drop(&mut self) {
        self.questions.lock().remove(&self.id);
        self.changed.send_replace(());
    }
}

impl UserQuestions {
    /// Asks the operator and the other approvers, and takes the first answer. No answer from the other approvers
    /// does not count before the operator has left. Notifies `changed` of changes.
    pub(super) async fn ask(
        &self,
        question: &UserQuestion,
        others: impl Future<Output = UserAnswer>,
        changed: &watch::Sender<()>,
        left: impl Future<Output = ()>,
    ) -> UserAnswer {
        let Some((_guard, answer)) = self.push(question, changed) else {
            return others.await;
        };
        let elsewhere = async {
            match others.await {
                UserAnswer::Nobody => {
                    left.await;
                    UserAnswer::Nobody
                }
                answer => answer,
            }
        };
        tokio::select! {
            biased;
            Ok(answer) = answer => answer,
            answer = elsewhere => answer,
        }
    }

    fn push<'a>(
        &'a self,
        question: &UserQuestion,
        changed: &'a watch::Sender<()>,
    ) -> Option<(QueuedQuestionGuard<'a>, oneshot::Receiver<UserAnswer>)> {
        let (sender, receiver) = oneshot::channel();
        let id = question_id();
        {
            let mut waiting = self.lock();
            if waiting.len() >= MAX_WAITING_QUESTIONS {
                return None;
            }
            waiting.insert(id, QueuedQuestion { question: question.clone(), since: Instant::now(), sender });
        }
        changed.send_replace(());
        Some((QueuedQuestionGuard { questions: self, changed, id }, receiver))
    }

    /// Returns the waiting questions, the oldest first.
    pub(crate) fn all(&self) -> Vec<PendingQuestion> {
        self.new_to(&BTreeSet::new())
    }

    /// Returns the waiting questions whose ids are not in `known`.
    pub(crate) fn new_to(&self, known: &BTreeSet<u64>) -> Vec<PendingQuestion> {
        let waiting = self.lock();
        let new = waiting.iter().filter(|(id, _)| !known.contains(id));
        let pending = |(id, entry): (&u64, &QueuedQuestion)| PendingQuestion {
            id: *id,
            question: entry.question.clone(),
            waiting: entry.since.elapsed(),
        };
        new.map(pending).collect()
    }

    /// Returns the question with this id if it is waiting.
    pub(crate) fn get(&self, id: u64) -> Option<UserQuestion> {
        self.lock().get(&id).map(|entry| entry.question.clone())
    }

    /// Answers a question. Returns false if it was answered by another approver or withdrawn before.
    pub(crate) fn answer(&self, id: u64, answer: UserAnswer) -> bool {
        let entry = self.lock().remove(&id);
        entry.is_some_and(|entry| entry.sender.send(answer).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, QueuedQuestion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks an answer against its question.
pub(crate) fn check_answer(question: &UserQuestion, answer: &UserAnswer) -> Result<(), String> {
    let UserAnswer::Approved { choice, fields, .. } = answer else { return Ok(()) };
    let is_picked = choice.as_ref().is_some_and(|choice| question.choices.contains(choice));
    if !question.choices.is_empty() && !is_picked {
        return Err("pick one of the choices".to_owned());
    }
    check_fields(question, fields)
}

fn check_fields(question: &UserQuestion, given: &JsonObject) -> Result<(), String> {
    for field in &question.fields {
        match given.get(&field.name) {
            Some(value) if !field.kind.accepts(value) => {
                return Err(format!("the field `{}` cannot hold that", field.label));
            }
            None if field.required && field.default.is_none() => {
                return Err(format!("the field `{}` has to be filled in", field.label));
            }
            _ => {}
        }
    }
    let is_known = |name: &String| question.fields.iter().any(|field| field.name == *name);
    match given.iter().find(|(name, _): &(&String, &Value)| !is_known(name)) {
        Some((name, _)) => Err(format!("there is no field `{name}`")),
        None => Ok(()),
    }
}
