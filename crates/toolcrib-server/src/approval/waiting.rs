//! Questions that wait for the operator, at the status page or at `toolcrib approve`.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_policy::{Question, Remember};
use toolcrib_port::{Answer, Approver, Asked};

/// The most questions that wait for the operator. One more is put to others only.
pub const MAX_WAITING: usize = 256;

/// How long an operator who looked at the page counts as being there. A call that nobody else can answer for waits only then.
pub const PRESENCE: Duration = Duration::from_mins(30);

/// The longest that the operator's word to a model may be, in characters.
pub(crate) const MAX_FEEDBACK_CHARS: usize = 1_000;

/// The calls of a server that wait for its operator. A clone is the same.
#[derive(Clone, Default)]
pub struct WaitingCalls(Arc<Waiting>);

/// The questions that wait, by their ids.
#[derive(Default)]
pub(crate) struct Waiting {
    desk: Mutex<Desk>,
    /// Told whenever a question comes or goes, or an operator leaves.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Desk {
    /// When the operator last looked at the page.
    seen: Option<Instant>,
    /// How many operators are attached.
    attached: usize,
    questions: BTreeMap<u64, (Question, Instant, oneshot::Sender<Answer>)>,
}

/// What the operator says to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// This call may run.
    Once,
    /// So may later ones of its tool, in its session.
    Tool,
    /// It may not, with what the model is told.
    Deny(Option<String>),
}

impl Said {
    /// A no, with a word that is bounded and left out where it is empty.
    pub(crate) fn no(feedback: &str) -> Self {
        let feedback: String = feedback.trim().chars().take(MAX_FEEDBACK_CHARS).collect();
        Self::Deny((!feedback.is_empty()).then_some(feedback))
    }
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It counts.
    Taken,
    /// The question does not wait any more.
    Gone,
}

/// A question that waits, and is taken back when nobody waits for its answer any more.
struct Parked<'a> {
    waiting: &'a Waiting,
    id: u64,
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.waiting.desk().questions.remove(&self.id);
        self.waiting.changed.send_replace(());
    }
}

/// An operator who is there until this is dropped.
pub(crate) struct Attached(Arc<Waiting>);

impl Drop for Attached {
    fn drop(&mut self) {
        {
            let mut desk = self.0.desk();
            desk.attached = desk.attached.saturating_sub(1);
        }
        self.0.changed.send_replace(());
    }
}

impl WaitingCalls {
    /// Puts questions to the operator as well as to these, as long as an operator is there. The first answer counts.
    pub fn approver(&self, others: Arc<dyn Approver>) -> Arc<dyn Approver> {
        Arc::new(OperatorApprover { waiting: Arc::clone(&self.0), others })
    }

    pub(crate) fn room(&self) -> Arc<Waiting> {
        Arc::clone(&self.0)
    }
}

impl Waiting {
    /// The operator looks at the page.
    pub(crate) fn attend(&self) {
        self.desk().seen = Some(Instant::now());
    }

    /// An operator comes, and stays.
    pub(crate) fn attach(self: &Arc<Self>) -> Attached {
        self.desk().attached += 1;
        Attached(Arc::clone(self))
    }

    /// Whether an operator is there.
    fn is_attended(&self) -> bool {
        let desk = self.desk();
        desk.attached > 0 || desk.seen.is_some_and(|seen| seen.elapsed() < PRESENCE)
    }

    /// Waits until no operator is there.
    async fn is_left(&self) {
        let mut changed = self.changed.subscribe();
        while self.is_attended() {
            let looked = {
                let desk = self.desk();
                desk.seen.filter(|_| desk.attached == 0)
            };
            let forgotten = async {
                match looked {
                    Some(looked) => tokio::time::sleep_until(looked + PRESENCE).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // The sender is there as long as this is.
                _ = changed.changed() => {}
                () = forgotten => {}
            }
        }
    }

    /// Tells whoever has it that something changed.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The questions that wait and since when, the oldest first.
    pub(crate) fn questions(&self) -> Vec<(Question, Duration)> {
        self.new_to(&BTreeSet::new())
    }

    /// Those of them that are not known, by their ids.
    pub(crate) fn new_to(&self, known: &BTreeSet<u64>) -> Vec<(Question, Duration)> {
        let desk = self.desk();
        let new = desk.questions.values().filter(|(question, ..)| !known.contains(&question.id));
        new.map(|(question, since, _)| (question.clone(), since.elapsed())).collect()
    }

    /// Whether a question waits.
    pub(crate) fn has(&self, id: u64) -> bool {
        self.desk().questions.contains_key(&id)
    }

    /// Answers a question, for the call that it was asked about.
    pub(crate) fn answer(&self, id: u64, said: Said) -> Settled {
        let Some((question, _, sender)) = self.desk().questions.remove(&id) else { return Settled::Gone };
        let answer = match said {
            Said::Once => Answer::Approved(question.approve()),
            Said::Tool => Answer::Approved(question.approve().remember(Remember::Tool)),
            Said::Deny(feedback) => Answer::Denied(feedback),
        };
        if sender.send(answer).is_ok() { Settled::Taken } else { Settled::Gone }
    }

    /// Asks here and elsewhere, and takes the first answer. That nobody is elsewhere is none, until nobody is here either.
    async fn ask(&self, asked: &mut Asked, others: &dyn Approver) {
        let Some((_parked, answer)) = self.park(asked.question()) else {
            return others.ask(std::slice::from_mut(asked)).await;
        };
        let mut elsewhere = asked.clone();
        let elsewhere = async {
            others.ask(std::slice::from_mut(&mut elsewhere)).await;
            match elsewhere.answer {
                None | Some(Answer::Nobody) => {
                    self.is_left().await;
                    Some(Answer::Nobody)
                }
                answered => answered,
            }
        };
        asked.answer = tokio::select! {
            biased;
            answer = answer => answer.ok(),
            answer = elsewhere => answer,
        };
    }

    fn park(&self, question: &Question) -> Option<(Parked<'_>, oneshot::Receiver<Answer>)> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut desk = self.desk();
            if desk.questions.len() >= MAX_WAITING {
                return None;
            }
            desk.questions.insert(question.id, (question.clone(), Instant::now(), sender));
        }
        self.changed.send_replace(());
        Some((Parked { waiting: self, id: question.id }, receiver))
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the operator, and others.
struct OperatorApprover {
    waiting: Arc<Waiting>,
    others: Arc<dyn Approver>,
}

#[async_trait]
impl Approver for OperatorApprover {
    async fn ask(&self, batch: &mut [Asked]) {
        if !self.waiting.is_attended() {
            return self.others.ask(batch).await;
        }
        // Each by itself, so that one may be answered here and the next one elsewhere.
        let asking = batch.iter_mut().map(|asked| self.waiting.ask(asked, self.others.as_ref()));
        futures::future::join_all(asking).await;
    }

    async fn ask_user(&self, question: &UserQuestion) -> UserAnswer {
        self.others.ask_user(question).await
    }

    fn has_user(&self) -> bool {
        self.others.has_user()
    }
}
