//! Approvals that wait for the operator, at the status page or at `toolcrib approve`.

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
use toolcrib_port::{Answer, ApprovalRequest, Approver};

use super::questions::UserQuestions;

/// The most questions that wait for the operator. One more is put to others only.
pub const MAX_WAITING: usize = 256;

/// How long an operator who looked at the page counts as being there. A call that nobody else can answer for waits only then.
pub const PRESENCE: Duration = Duration::from_mins(30);

/// The longest that the operator's word to a model may be, in characters.
pub(crate) const MAX_FEEDBACK_CHARS: usize = 1_000;

/// The approvals of a server that wait for its operator. A clone shares them.
///
/// ```
/// # use std::sync::Arc;
/// # use toolcrib_exec::DenyAll;
/// use toolcrib_server::{AnswerOutcome, OperatorAnswer, PendingApprovals};
///
/// let pending = PendingApprovals::default();
/// let approver = pending.approver(Arc::new(DenyAll));
/// // While an operator is present, calls wait instead of being refused.
/// let presence = pending.attach();
/// for (question, _waiting_for) in pending.questions() {
///     assert_eq!(pending.answer(question.id, OperatorAnswer::Once), AnswerOutcome::Accepted);
/// }
/// # drop((approver, presence));
/// ```
#[derive(Clone, Default)]
pub struct PendingApprovals(Arc<Queue>);

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    /// Notified whenever a question comes or goes, or an operator leaves.
    changed: watch::Sender<()>,
    /// What agents and servers ask their user.
    questions_to_user: UserQuestions,
}

#[derive(Default)]
struct State {
    /// The time at which the operator last looked at the page.
    seen: Option<Instant>,
    /// The number of attached operators.
    attached: usize,
    questions: BTreeMap<u64, (Question, Instant, oneshot::Sender<Answer>)>,
}

/// An operator's answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperatorAnswer {
    /// This call may run.
    Once,
    /// So may later ones of its tool, in its session.
    Tool,
    /// It may not, with what the model is told.
    Deny(Option<String>),
}

impl OperatorAnswer {
    /// Returns a denial. The feedback is cut to a bound, and left out where it is empty.
    pub fn deny(feedback: &str) -> Self {
        let feedback: String = feedback.trim().chars().take(MAX_FEEDBACK_CHARS).collect();
        Self::Deny((!feedback.is_empty()).then_some(feedback))
    }
}

/// The effect of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// It counts.
    Accepted,
    /// The question was answered elsewhere or withdrawn before.
    TooLate,
}

/// Withdraws a question when its asker no longer waits.
struct Pending<'a> {
    queue: &'a Queue,
    id: u64,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.queue.lock().questions.remove(&self.id);
        self.queue.changed.send_replace(());
    }
}

/// Presence of an operator, until it is dropped.
pub struct OperatorPresence(PendingApprovals);

impl Drop for OperatorPresence {
    fn drop(&mut self) {
        {
            let mut state = self.0.0.lock();
            state.attached = state.attached.saturating_sub(1);
        }
        self.0.0.changed.send_replace(());
    }
}

impl PendingApprovals {
    /// Returns an approver that asks the operator and these others at once, as long as an operator is present. The first
    /// answer counts.
    pub fn approver(&self, others: Arc<dyn Approver>) -> Arc<dyn Approver> {
        Arc::new(OperatorApprover { queue: Arc::clone(&self.0), others })
    }

    /// Marks an operator as present, until the guard is dropped.
    #[must_use = "the operator leaves when the guard is dropped"]
    pub fn attach(&self) -> OperatorPresence {
        self.0.lock().attached += 1;
        OperatorPresence(self.clone())
    }

    /// Marks an operator as present for [`PRESENCE`].
    pub(crate) fn saw_page(&self) {
        self.0.lock().seen = Some(Instant::now());
    }

    /// Returns what agents and servers ask their user.
    pub(crate) fn questions_to_user(&self) -> &UserQuestions {
        &self.0.questions_to_user
    }

    /// Returns the channel that tells of changes.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Returns the questions that wait and for how long they have, the oldest first.
    pub fn questions(&self) -> Vec<(Question, Duration)> {
        self.new_to(&BTreeSet::new())
    }

    /// Returns those of the questions that are not in the set of known ids.
    pub(crate) fn new_to(&self, known: &BTreeSet<u64>) -> Vec<(Question, Duration)> {
        let state = self.0.lock();
        let new = state.questions.values().filter(|(question, ..)| !known.contains(&question.id));
        new.map(|(question, since, _)| (question.clone(), since.elapsed())).collect()
    }

    /// Returns true if the question waits.
    pub(crate) fn has(&self, id: u64) -> bool {
        self.0.lock().questions.contains_key(&id)
    }

    /// Answers the question with this id.
    pub fn answer(&self, id: u64, answer: OperatorAnswer) -> AnswerOutcome {
        let Some((question, _, sender)) = self.0.lock().questions.remove(&id) else {
            return AnswerOutcome::TooLate;
        };
        let answer = match answer {
            OperatorAnswer::Once => Answer::Approved(question.approve()),
            OperatorAnswer::Tool => Answer::Approved(question.approve().remember(Remember::Tool)),
            OperatorAnswer::Deny(feedback) => Answer::Denied(feedback),
        };
        if sender.send(answer).is_ok() { AnswerOutcome::Accepted } else { AnswerOutcome::TooLate }
    }
}

impl Queue {
    /// Returns true if an operator is present.
    fn is_attended(&self) -> bool {
        let state = self.lock();
        state.attached > 0 || state.seen.is_some_and(|seen| seen.elapsed() < PRESENCE)
    }

    /// Waits until no operator is present.
    async fn no_operator(&self) {
        let mut changed = self.changed.subscribe();
        while self.is_attended() {
            let looked = {
                let state = self.lock();
                state.seen.filter(|_| state.attached == 0)
            };
            let forgotten = async {
                match looked {
                    Some(looked) => tokio::time::sleep_until(looked + PRESENCE).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // The sender lives as long as this queue.
                _ = changed.changed() => {}
                () = forgotten => {}
            }
        }
    }

    /// Asks the operator and the others, and takes the first answer. That the others cannot ask is no answer while an
    /// operator is present.
    async fn ask(&self, asked: &mut ApprovalRequest, others: &dyn Approver) {
        let Some((_pending, answer)) = self.push(asked.question()) else {
            return others.ask(std::slice::from_mut(asked)).await;
        };
        let mut elsewhere = asked.clone();
        let elsewhere = async {
            others.ask(std::slice::from_mut(&mut elsewhere)).await;
            match elsewhere.answer {
                None | Some(Answer::Nobody) => {
                    self.no_operator().await;
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

    fn push(&self, question: &Question) -> Option<(Pending<'_>, oneshot::Receiver<Answer>)> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.lock();
            if state.questions.len() >= MAX_WAITING {
                return None;
            }
            state.questions.insert(question.id, (question.clone(), Instant::now(), sender));
        }
        self.changed.send_replace(());
        Some((Pending { queue: self, id: question.id }, receiver))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the operator, and others.
struct OperatorApprover {
    queue: Arc<Queue>,
    others: Arc<dyn Approver>,
}

#[async_trait]
impl Approver for OperatorApprover {
    async fn ask(&self, batch: &mut [ApprovalRequest]) {
        if !self.queue.is_attended() {
            return self.others.ask(batch).await;
        }
        // Each by itself, so that one may be answered here and the next one elsewhere.
        let asking = batch.iter_mut().map(|asked| self.queue.ask(asked, self.others.as_ref()));
        futures::future::join_all(asking).await;
    }

    async fn ask_user(&self, question: &UserQuestion) -> UserAnswer {
        if !self.queue.is_attended() {
            return self.others.ask_user(question).await;
        }
        let (others, queue) = (self.others.as_ref(), &self.queue);
        queue.questions_to_user.ask(question, others, &queue.changed, queue.no_operator()).await
    }

    fn has_user(&self) -> bool {
        self.others.has_user()
    }
}
