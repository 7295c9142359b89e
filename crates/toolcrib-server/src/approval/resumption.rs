//! Links to calls that wait, here, in another process, or for their callers to make them again.

use std::sync::Arc;

use toolcrib_policy::Question;
use toolcrib_port::{Answer, CallContext};

use super::answer_queue::{AnswerOutcome, PendingQuestion};
use super::call_answer::{CallAnswer, OperatorAnswer};
use super::links::ApprovalLink;
use super::operator_queue::{OperatorQueue, PendingApprovals};
use crate::Error;
use crate::operator::WaitingCall;
use crate::replica::resumable::{QuestionPlace, ResumableQuestion};

/// The call that a link answers.
#[derive(Debug)]
pub(crate) enum LinkedCall {
    /// The call waits, under this id here.
    Waiting(u64, WaitingCall),
    /// The process that asked has ended, and its caller makes the call again.
    Interrupted(WaitingCall),
    /// The process that asked has ended, and the call with it.
    Lost,
    /// A reload of the app has interrupted the call, which waits again in a moment.
    Reloading,
    /// The call does not wait.
    Gone,
}

/// A reload of the app, which ends when this is dropped.
pub(crate) struct ReloadGuard(Arc<OperatorQueue>);

impl Drop for ReloadGuard {
    fn drop(&mut self) {
        self.0.calls.set_reloading(false);
    }
}

impl ApprovalLink {
    fn place(&self) -> QuestionPlace {
        QuestionPlace { process: self.process.clone(), question: self.question }
    }
}

impl PendingApprovals {
    /// Returns the call that a link answers.
    ///
    /// # Errors
    ///
    /// Returns an error if the store of its process cannot be read.
    pub(crate) async fn linked_call(&self, link: &ApprovalLink) -> Result<LinkedCall, Error> {
        let place = link.place();
        let is_own = self.0.signer.get().is_some_and(|signer| signer.process() == link.process);
        if let Some(call) = self.waiting_call(&place, is_own) {
            return Ok(call);
        }
        let is_it = |call: &WaitingCall| {
            call.id == link.question || call.resumable.as_ref().is_some_and(|call| call.replaces(&place))
        };
        if is_own && self.0.calls.has_withdrawn(is_it) {
            return Ok(LinkedCall::Reloading);
        }
        let Some(replica) = self.0.replica.get().filter(|_| !is_own) else { return Ok(LinkedCall::Gone) };
        self.refresh().await;
        if let Some(call) = self.waiting_call(&place, false) {
            return Ok(call);
        }
        Ok(match replica.question_of_ended(&place).await? {
            Some(call) if call.resumable.is_some() => LinkedCall::Interrupted(call),
            Some(_) => LinkedCall::Lost,
            None => LinkedCall::Gone,
        })
    }

    fn waiting_call(&self, place: &QuestionPlace, is_own: bool) -> Option<LinkedCall> {
        let calls = &self.0.calls;
        let known =
            if is_own { Some(place.question) } else { calls.foreign_id(&place.process, place.question) };
        let replaces = |call: &WaitingCall| call.resumable.as_ref().is_some_and(|call| call.replaces(place));
        let is_it =
            |pending: &PendingQuestion<WaitingCall>| known == Some(pending.id) || replaces(&pending.question);
        let pending = calls.all().into_iter().find(is_it)?;
        let waiting_seconds = pending.waiting.as_secs();
        Some(LinkedCall::Waiting(pending.id, WaitingCall { waiting_seconds, ..pending.question }))
    }

    /// Remembers the questions of tasks that a reload of the app interrupts, until the guard is dropped, so that their
    /// links answer the questions that the tasks ask again.
    #[must_use = "the reload ends when the guard is dropped"]
    pub(crate) fn begin_reload(&self) -> ReloadGuard {
        self.0.calls.set_reloading(true);
        ReloadGuard(Arc::clone(&self.0))
    }

    /// Answers a call whose process has ended. The answer waits for its caller.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be reached. The answer has no effect then.
    pub(crate) async fn answer_interrupted(
        &self,
        link: &ApprovalLink,
        answer: OperatorAnswer,
    ) -> Result<AnswerOutcome, Error> {
        let Some(replica) = self.0.replica.get() else { return Ok(AnswerOutcome::TooLate) };
        replica.answer_for_later(&link.place(), CallAnswer::new(answer, &link.person)).await
    }
}

impl OperatorQueue {
    /// Resumes the question about a call that its caller makes again. Returns the answer that was given before, if there is
    /// one.
    pub(super) async fn resume(
        &self,
        question: &Question,
        shown: &mut WaitingCall,
        context: &CallContext,
    ) -> Option<Answer> {
        if context.journal.is_none() || question.requirement.channels.is_empty() {
            return None;
        }
        // The tasks of the new version may ask before it is in place.
        self.calls.reload_ended().await;
        // The runs of a schedule make the same call.
        let key = format!("{}.{}", question.key(), context.run_key.as_deref().unwrap_or_default());
        let has_key = |call: &WaitingCall| call.resumable.as_ref().is_some_and(|call| call.has_key(&key));
        let withdrawn = self.calls.take_withdrawn(has_key);
        let answer = match self.replica.get() {
            Some(replica) => replica.take_over(key.clone(), shown).await,
            None => Ok(None),
        };
        match answer {
            Ok(None) => {}
            Ok(Some(answer)) => return Some(answer.to(question)),
            Err(error) => return Some(Answer::Unavailable(error.to_string())),
        }
        let mut earlier = shown.resumable.take().map(ResumableQuestion::into_earlier).unwrap_or_default();
        for call in withdrawn {
            let process = self.signer.get().map(|signer| signer.process().to_owned());
            let place = process.map(|process| QuestionPlace { process, question: call.id });
            earlier.extend(call.resumable.map(ResumableQuestion::into_earlier).unwrap_or_default());
            earlier.extend(place);
            shown.take_approvals(call.approved_by);
        }
        shown.resumable = Some(ResumableQuestion::new(key, earlier));
        None
    }
}
