//! Approvals that wait for the operator, on the status page or in `toolcrib approve`.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_policy::{Question, Remember, question_id};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext};

use super::answer_queue::AnswerQueue;

/// The maximum number of calls that wait for the operator. Further ones go to the other approvers only.
const MAX_WAITING: usize = 256;

/// The maximum number of questions to the user that wait for the operator. Further ones go to the other approvers only.
pub(crate) const MAX_WAITING_QUESTIONS: usize = 64;

/// The time for which an operator counts as present after viewing the page. A call that no other approver can answer
/// waits only during this time.
const PRESENCE: Duration = Duration::from_mins(30);

/// The maximum length of the operator's feedback to a model, in characters.
pub(crate) const MAX_FEEDBACK_CHARS: usize = 1_000;

/// The approvals of a server that wait for its operator. A clone shares them.
///
/// ```
/// # use std::sync::Arc;
/// # use toolcrib_exec::DenyAll;
/// use toolcrib_server::approval::{AnswerOutcome, OperatorAnswer, PendingApprovals};
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
pub struct PendingApprovals(Arc<OperatorQueue>);

struct OperatorQueue {
    presence: Mutex<Presence>,
    /// Notified when a question is added or removed, or when an operator comes or leaves.
    changed: watch::Sender<()>,
    calls: AnswerQueue<Question, Answer>,
    /// The questions of agents and servers to their user.
    questions_to_user: AnswerQueue<UserQuestion, UserAnswer>,
}

impl Default for OperatorQueue {
    fn default() -> Self {
        let changed = watch::Sender::default();
        Self {
            presence: Mutex::default(),
            calls: AnswerQueue::new(MAX_WAITING, changed.clone()),
            questions_to_user: AnswerQueue::new(MAX_WAITING_QUESTIONS, changed.clone()),
            changed,
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Presence {
    /// The time of the operator's last view of the page.
    seen: Option<Instant>,
    /// The number of attached operators.
    attached: usize,
}

/// An operator's answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperatorAnswer {
    /// Allows this call.
    Once,
    /// Allows this call and later calls of the same tool in the same session.
    Tool,
    /// Denies the call, with feedback for the model.
    Deny(Option<String>),
}

impl OperatorAnswer {
    /// Returns a denial. The feedback is truncated to its maximum length, and omitted if it is empty.
    pub fn deny(feedback: &str) -> Self {
        let feedback: String = feedback.trim().chars().take(MAX_FEEDBACK_CHARS).collect();
        Self::Deny((!feedback.is_empty()).then_some(feedback))
    }
}

/// The effect of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// The answer was accepted.
    Accepted,
    /// The question was answered by another approver or withdrawn before.
    TooLate,
}

/// The presence of an operator, which ends when this is dropped.
pub struct OperatorPresence(PendingApprovals);

impl Drop for OperatorPresence {
    fn drop(&mut self) {
        {
            let mut state = self.0.0.presence.lock();
            state.attached = state.attached.saturating_sub(1);
        }
        self.0.0.changed.send_replace(());
    }
}

impl PendingApprovals {
    /// Returns an approver that asks the operator and the given approver at the same time while an operator is present.
    /// The first answer counts.
    pub fn approver(&self, others: Arc<dyn Approver>) -> Arc<dyn Approver> {
        Arc::new(OperatorApprover { queue: Arc::clone(&self.0), others })
    }

    /// Marks an operator as present, until the guard is dropped.
    #[must_use = "the operator leaves when the guard is dropped"]
    pub fn attach(&self) -> OperatorPresence {
        self.0.presence.lock().attached += 1;
        self.0.changed.send_replace(());
        OperatorPresence(self.clone())
    }

    /// Marks an operator as present for [`PRESENCE`].
    pub(crate) fn saw_page(&self) {
        self.0.presence.lock().seen = Some(Instant::now());
        self.0.changed.send_replace(());
    }

    /// Returns the questions of agents and servers to their user.
    pub(crate) fn questions_to_user(&self) -> &AnswerQueue<UserQuestion, UserAnswer> {
        &self.0.questions_to_user
    }

    /// Returns the calls.
    pub(crate) fn calls(&self) -> &AnswerQueue<Question, Answer> {
        &self.0.calls
    }

    /// Returns a receiver that is notified of changes.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Returns the waiting questions and the time that each has waited, the oldest first.
    pub fn questions(&self) -> Vec<(Question, Duration)> {
        self.0.calls.all().into_iter().map(|pending| (pending.question, pending.waiting)).collect()
    }

    /// Answers the question with this id.
    pub fn answer(&self, id: u64, answer: OperatorAnswer) -> AnswerOutcome {
        let answer = |question: Question| match answer {
            OperatorAnswer::Once => Answer::Approved(question.approve()),
            OperatorAnswer::Tool => Answer::Approved(question.approve().remember(Remember::Tool)),
            OperatorAnswer::Deny(feedback) => Answer::Denied(feedback),
        };
        if self.0.calls.answer(id, answer) { AnswerOutcome::Accepted } else { AnswerOutcome::TooLate }
    }
}

impl OperatorQueue {
    /// Returns true if an operator is present.
    fn is_attended(&self) -> bool {
        let state = self.presence.lock();
        state.attached > 0 || state.seen.is_some_and(|seen| seen.elapsed() < PRESENCE)
    }

    /// Waits until an operator is present.
    async fn operator(&self) {
        let mut changed = self.changed.subscribe();
        while !self.is_attended() {
            // The sender lives as long as this queue.
            let _ = changed.changed().await;
        }
    }

    /// Waits until no operator is present.
    async fn no_operator(&self) {
        let mut changed = self.changed.subscribe();
        while self.is_attended() {
            let looked = {
                let state = self.presence.lock();
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

    /// Asks the operator and the other approvers for the approval of a call.
    async fn ask(&self, asked: &mut ApprovalRequest, others: &dyn Approver, context: &CallContext) {
        let question = asked.question().clone();
        let mut elsewhere = asked.clone();
        let elsewhere = async {
            others.ask(std::slice::from_mut(&mut elsewhere), context).await;
            elsewhere.answer.filter(|answer| *answer != Answer::Nobody)
        };
        let answer = self.calls.ask(question.id, question, elsewhere, self.no_operator()).await;
        asked.answer = Some(answer.unwrap_or(Answer::Nobody));
    }
}

/// An approver that asks the operator and another approver.
struct OperatorApprover {
    queue: Arc<OperatorQueue>,
    others: Arc<dyn Approver>,
}

#[async_trait]
impl Approver for OperatorApprover {
    async fn ask(&self, batch: &mut [ApprovalRequest], context: &CallContext) {
        if !self.queue.is_attended() {
            return self.others.ask(batch, context).await;
        }
        // Each question is separate, so that different approvers can answer different questions.
        let asking = batch.iter_mut().map(|asked| self.queue.ask(asked, self.others.as_ref(), context));
        futures::future::join_all(asking).await;
    }

    async fn available(&self) {
        tokio::select! {
            () = self.queue.operator() => {}
            () = self.others.available() => {}
        }
    }

    async fn ask_user(&self, question: &UserQuestion, context: &CallContext) -> UserAnswer {
        if !self.queue.is_attended() {
            return self.others.ask_user(question, context).await;
        }
        let others = async {
            let answer = self.others.ask_user(question, context).await;
            Some(answer).filter(|answer| *answer != UserAnswer::Nobody)
        };
        let questions = &self.queue.questions_to_user;
        let answer = questions.ask(question_id(), question.clone(), others, self.queue.no_operator()).await;
        answer.unwrap_or(UserAnswer::Nobody)
    }

    fn has_user(&self) -> bool {
        self.others.has_user()
    }
}
