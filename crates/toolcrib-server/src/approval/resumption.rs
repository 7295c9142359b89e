//! Links to calls that wait, here, in another process, or for their callers to make them again.

use toolcrib_policy::Question;
use toolcrib_port::{Answer, CallContext};

use super::answer_queue::{AnswerOutcome, PendingQuestion};
use super::call_answer::{CallAnswer, OperatorAnswer};
use super::links::ApprovalLink;
use super::operator_queue::{OperatorQueue, PendingApprovals};
use crate::Error;
use crate::operator::WaitingCall;
use crate::replica::resumable::QuestionPlace;

/// The call that a link answers.
#[derive(Debug)]
pub(crate) enum LinkedCall {
    /// The call waits, under this id here.
    Waiting(u64, WaitingCall),
    /// The process that asked has ended, and its caller makes the call again.
    Interrupted(WaitingCall),
    /// The process that asked has ended, and the call with it.
    Lost,
    /// The call does not wait.
    Gone,
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
        let replica = self.replica.get()?;
        if context.journal.is_none() || question.requirement.channels.is_empty() {
            return None;
        }
        // The runs of a schedule make the same call.
        let key = format!("{}.{}", question.key(), context.run_key.as_deref().unwrap_or_default());
        match replica.take_over(key, shown).await {
            Ok(answer) => answer.map(|answer| answer.to(question)),
            Err(error) => Some(Answer::Unavailable(error.to_string())),
        }
    }
}
