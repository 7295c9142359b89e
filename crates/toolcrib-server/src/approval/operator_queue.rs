//! Approvals that wait for the operator, on the console or in `toolcrib approve`.

#[cfg(test)]
mod people_tests;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use toolcrib_app::App;
use toolcrib_app::sections::approvals::ApprovalChannels;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_policy::{OPERATOR, question_id};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext};

use super::answer_queue::{AnswerOutcome, AnswerQueue, FirstAnswer, JoinedReplica, OperatorQuestion};
use super::call_answer::{CallAnswer, OperatorAnswer, approver_of};
use super::channels::Messenger;
use super::links::{ApprovalLink, LinkError, LinkSigner};
use super::push::PushSubscriptions;
use crate::Error;
use crate::app_version::{Listener, Switch};
use crate::operator::{WaitingCall, WaitingQuestion};
use crate::replica::Replica;

/// The maximum number of calls that wait for the operator. Further ones go to the other approvers only.
const MAX_WAITING: usize = 256;

/// The maximum number of questions to the user that wait for the operator. Further ones go to the other approvers only.
pub(crate) const MAX_WAITING_QUESTIONS: usize = 64;

/// The time for which an operator counts as present after viewing the page. A call that no other approver can answer
/// waits only during this time.
const PRESENCE: Duration = Duration::from_mins(30);

/// The name of the queue of calls in the store.
pub(crate) const CALLS: &str = <WaitingCall as OperatorQuestion<CallAnswer>>::QUEUE;

/// The interval at which the presence of operators at other processes is looked up.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

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
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// for call in pending.questions() {
///     let outcome = pending.answer(call.id, OperatorAnswer::Once).await.unwrap();
///     assert_eq!(outcome, AnswerOutcome::Accepted);
/// }
/// # });
/// # drop((approver, presence));
/// ```
#[derive(Clone, Default)]
pub struct PendingApprovals(pub(super) Arc<OperatorQueue>);

pub(super) struct OperatorQueue {
    presence: Mutex<Presence>,
    /// Notified when a question is added or removed, or when an operator comes or leaves.
    changed: watch::Sender<()>,
    pub(super) calls: AnswerQueue<WaitingCall, CallAnswer>,
    /// The questions of agents and servers to their user.
    questions_to_user: AnswerQueue<UserQuestion, UserAnswer>,
    /// This process among others that share the store.
    pub(super) replica: JoinedReplica,
    /// The signer of links, once the app is served.
    pub(super) signer: OnceLock<Arc<LinkSigner>>,
    /// The channels of the current version of the app, once it is served.
    messenger: watch::Sender<Option<Arc<Messenger>>>,
    /// The browsers that get push messages.
    pub(super) push: Arc<PushSubscriptions>,
}

impl Default for OperatorQueue {
    fn default() -> Self {
        let (changed, replica) = (watch::Sender::default(), JoinedReplica::new(OnceLock::new()));
        Self {
            presence: Mutex::default(),
            calls: AnswerQueue::new(MAX_WAITING, changed.clone(), Arc::clone(&replica)),
            questions_to_user: AnswerQueue::new(MAX_WAITING_QUESTIONS, changed.clone(), Arc::clone(&replica)),
            changed,
            push: Arc::new(PushSubscriptions::new(Arc::clone(&replica))),
            replica,
            signer: OnceLock::new(),
            messenger: watch::Sender::new(None),
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

impl OperatorQuestion<UserAnswer> for UserQuestion {
    const QUEUE: &'static str = "question";

    fn encode(&self, id: u64) -> Option<Value> {
        let shown = WaitingQuestion::new(id, self, Duration::ZERO);
        // Another process could only decline a question without its form.
        shown.form.is_some().then(|| json!(shown))
    }

    fn decode(question: &Value, _id: u64) -> Option<Self> {
        serde_json::from_value::<WaitingQuestion>(question.clone()).ok()?.to_question()
    }
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

    /// Lets people answer by links, and asks them by the channels of an app.
    pub(crate) fn open_channels(&self, app: &App, replica: Option<&Replica>) -> Result<(), Error> {
        // A process opens its channels once.
        let _ = self.0.signer.set(Arc::new(LinkSigner::new(replica)?));
        let messenger = self.0.messenger_of(app)?;
        self.0.messenger.send_replace(messenger);
        Ok(())
    }

    /// Returns the listener that uses the channels of each version of the app.
    pub(crate) fn listener(&self) -> Weak<dyn Listener> {
        Arc::downgrade(&(Arc::clone(&self.0) as Arc<dyn Listener>))
    }

    /// Returns the link of a token.
    pub(crate) fn verify_link(&self, token: &str) -> Result<ApprovalLink, LinkError> {
        self.0.signer.get().ok_or(LinkError::Forged)?.verify(token)
    }

    /// Returns the token of a link.
    #[cfg(test)]
    pub(crate) fn sign_link(&self, link: &ApprovalLink) -> String {
        self.0.signer.get().unwrap().sign(link)
    }

    /// Lets operators at all processes that share the store answer the questions of this one from now on, and those at this
    /// process the questions of the others.
    pub(crate) fn join(&self, replica: &Arc<Replica>) {
        // A process joins once.
        let _ = self.0.replica.set(Arc::clone(replica));
    }

    /// Returns this process among others, once it has joined them.
    pub(crate) fn replica(&self) -> Option<&Arc<Replica>> {
        self.0.replica.get()
    }

    /// Tells the other processes that an operator is present, and reads their questions. Those that were read before stay
    /// if the store cannot be reached.
    pub(crate) async fn refresh(&self) {
        let Some(replica) = self.0.replica.get() else { return };
        if self.is_attended()
            && let Err(error) = replica.tell_attended().await
        {
            tracing::warn!(%error, "the other processes cannot be told that an operator is present");
        }
        match replica.questions_elsewhere().await {
            Ok(found) => {
                let (calls, questions) = found.into_iter().partition(|question| question.queue == CALLS);
                self.0.calls.show_foreign(calls);
                self.0.questions_to_user.show_foreign(questions);
            }
            Err(error) => tracing::warn!(%error, "the questions of other processes cannot be read"),
        }
    }

    /// Gives an answer from another process to the asker in this one.
    pub(crate) fn deliver(&self, queue: &str, question: u64, answer: Value) {
        if queue == CALLS {
            self.0.calls.deliver_encoded(question, answer);
        } else {
            self.0.questions_to_user.deliver_encoded(question, answer);
        }
    }

    /// Keeps the records of the calls that are made again after the end of this process.
    pub(crate) fn end(&self) {
        self.0.calls.end();
    }

    /// Returns true if another process may answer a question of this one.
    pub(crate) fn has_shared(&self) -> bool {
        self.0.calls.has_shared() || self.0.questions_to_user.has_shared()
    }

    /// Returns true if an operator is present at this process.
    pub(crate) fn is_attended(&self) -> bool {
        self.0.is_attended()
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
    pub(crate) fn calls(&self) -> &AnswerQueue<WaitingCall, CallAnswer> {
        &self.0.calls
    }

    /// Returns a receiver that is notified of changes.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Returns the waiting calls, the oldest first.
    pub fn questions(&self) -> Vec<WaitingCall> {
        let pending = self.0.calls.all().into_iter();
        pending
            .map(|pending| WaitingCall { waiting_seconds: pending.waiting.as_secs(), ..pending.question })
            .collect()
    }

    /// Answers the call with this id, as the operator.
    ///
    /// # Errors
    ///
    /// Returns an error if other processes share the store, and it cannot be reached. The answer has no effect then.
    pub async fn answer(&self, id: u64, answer: OperatorAnswer) -> Result<AnswerOutcome, Error> {
        self.answer_as(OPERATOR, id, answer).await
    }

    /// Answers the call with this id, as this person.
    ///
    /// # Errors
    ///
    /// Returns an error if other processes share the store, and it cannot be reached. The answer has no effect then.
    pub async fn answer_as(
        &self,
        person: &str,
        id: u64,
        answer: OperatorAnswer,
    ) -> Result<AnswerOutcome, Error> {
        self.0.calls.answer(id, CallAnswer::new(answer, person)).await
    }
}

impl OperatorQueue {
    /// Returns the messenger of an app with channels.
    fn messenger_of(&self, app: &App) -> Result<Option<Arc<Messenger>>, Error> {
        let (Some(channels), Some(signer)) = (ApprovalChannels::new(app)?, self.signer.get()) else {
            return Ok(None);
        };
        let push = Arc::clone(&self.push);
        Ok(Some(Arc::new(Messenger::new(app.id(), channels, Arc::clone(signer), push))))
    }

    /// Returns the current messenger.
    pub(super) fn messenger(&self) -> Option<Arc<Messenger>> {
        self.messenger.borrow().clone()
    }

    /// Returns true if an operator is present.
    fn is_attended(&self) -> bool {
        let state = self.presence.lock();
        state.attached > 0 || state.seen.is_some_and(|seen| seen.elapsed() < PRESENCE)
    }

    /// Returns true if an operator is present at this process or at another one that shares the store.
    async fn is_attended_anywhere(&self) -> bool {
        if self.is_attended() {
            return true;
        }
        match self.replica.get() {
            // An operator who cannot be reached does not answer.
            Some(replica) => replica.is_attended_elsewhere().await.unwrap_or_default(),
            None => false,
        }
    }

    /// Waits until an operator may have come to another process or left it. Does not complete if there is no other.
    async fn others_may_have_changed(&self) {
        match self.replica.get() {
            Some(_) => tokio::time::sleep(LOOK_INTERVAL).await,
            None => std::future::pending().await,
        }
    }

    /// Waits until an operator is present.
    async fn operator(&self) {
        let mut changed = self.changed.subscribe();
        while !self.is_attended_anywhere().await {
            tokio::select! {
                // The sender lives as long as this queue.
                _ = changed.changed() => {}
                () = self.others_may_have_changed() => {}
            }
        }
    }

    /// Waits until no operator is present.
    async fn no_operator(&self) {
        let mut changed = self.changed.subscribe();
        while self.is_attended_anywhere().await {
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
                () = self.others_may_have_changed() => {}
            }
        }
    }

    /// Counts the approval of another approver among those of several people. Returns other answers.
    async fn count(&self, id: u64, answer: Answer) -> Option<Answer> {
        let Some(person) = approver_of(&answer) else { return Some(answer) };
        match self.calls.answer(id, CallAnswer::new(OperatorAnswer::Once, person)).await {
            Ok(_) => None,
            Err(error) => Some(Answer::Unavailable(error.to_string())),
        }
    }

    /// Asks the operator and the other approvers for the approval of a call.
    async fn ask(
        self: &Arc<Self>,
        asked: &mut ApprovalRequest,
        others: &dyn Approver,
        context: &CallContext,
    ) {
        let question = asked.question().clone();
        let mut shown = WaitingCall::new(&question, Duration::ZERO);
        if let Some(answer) = self.resume(&question, &mut shown, context).await {
            asked.answer = Some(answer);
            return;
        }
        let mut elsewhere = asked.clone();
        let elsewhere = async {
            // It begins when people can answer, and ends with the question.
            let asking = (!question.requirement.channels.is_empty()).then(|| {
                AbortOnDropHandle::new(tokio::spawn(ask_by_channels(Arc::clone(self), shown.clone())))
            });
            others.ask(std::slice::from_mut(&mut elsewhere), context).await;
            let answer = match elsewhere.answer.filter(|answer| *answer != Answer::Nobody) {
                Some(answer) if question.requirement.approvers > 1 => self.count(question.id, answer).await,
                answer => answer,
            };
            if answer.is_some() {
                return answer;
            }
            if let Some(asking) = asking
                && asking.await.unwrap_or_default()
            {
                // A person was asked, who may answer until the time limit.
                std::future::pending::<()>().await;
            }
            None
        };
        let answer = self.calls.ask(question.id, shown.clone(), elsewhere, self.no_operator()).await;
        asked.answer = Some(match answer {
            Ok(Some(FirstAnswer::Operator(answer))) => answer.to(&question),
            Ok(Some(FirstAnswer::Other(answer))) => answer,
            Ok(None) => Answer::Nobody,
            Err(error) => Answer::Unavailable(error.to_string()),
        });
    }
}

impl Listener for OperatorQueue {
    fn prepare(self: Arc<Self>, app: &App) -> Result<Switch, Error> {
        let messenger = self.messenger_of(app)?;
        Ok(Box::new(move |_| {
            self.messenger.send_replace(messenger);
        }))
    }
}

/// Asks people about a call by the channels that the rules name, once the app is served. Returns true if a message was
/// delivered.
async fn ask_by_channels(queue: Arc<OperatorQueue>, call: WaitingCall) -> bool {
    let mut messengers = queue.messenger.subscribe();
    // The sender lives as long as the queue.
    let messenger = messengers.wait_for(Option::is_some).await.ok().and_then(|messenger| messenger.clone());
    match messenger {
        Some(messenger) => messenger.ask(&call).await,
        None => false,
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
        let is_attended = self.queue.is_attended_anywhere().await;
        // One person cannot give the approval of several.
        let is_for_others = |asked: &ApprovalRequest| {
            let requirement = &asked.question().requirement;
            requirement.channels.is_empty() && requirement.approvers <= 1
        };
        if !is_attended && batch.iter().all(is_for_others) {
            return self.others.ask(batch, context).await;
        }
        // Each question is separate, so that different approvers can answer different questions.
        let asking = batch.iter_mut().map(async |asked| {
            if is_attended || !asked.question().requirement.channels.is_empty() {
                self.queue.ask(asked, self.others.as_ref(), context).await;
            } else if is_for_others(asked) {
                self.others.ask(std::slice::from_mut(asked), context).await;
            } else {
                asked.answer = Some(Answer::Nobody);
            }
        });
        futures::future::join_all(asking).await;
    }

    async fn available(&self) {
        tokio::select! {
            () = self.queue.operator() => {}
            () = self.others.available() => {}
        }
    }

    async fn ask_user(&self, question: &UserQuestion, context: &CallContext) -> UserAnswer {
        if !self.queue.is_attended_anywhere().await {
            return self.others.ask_user(question, context).await;
        }
        let others = async {
            let answer = self.others.ask_user(question, context).await;
            Some(answer).filter(|answer| *answer != UserAnswer::Nobody)
        };
        let questions = &self.queue.questions_to_user;
        let answer = questions.ask(question_id(), question.clone(), others, self.queue.no_operator()).await;
        match answer {
            Ok(Some(FirstAnswer::Operator(answer) | FirstAnswer::Other(answer))) => answer,
            Ok(None) => UserAnswer::Nobody,
            Err(error) => {
                tracing::warn!(%error, "a question to the user cannot be asked");
                UserAnswer::Nobody
            }
        }
    }

    fn has_user(&self) -> bool {
        self.others.has_user()
    }
}
