//! Approvals and questions that are answered by the user of a client.
//!
//! The user is asked through the client that made the call, by elicitation. Clients before revision 2026-07-28 receive
//! an elicitation request while they wait for their call. Later ones receive an
//! [answer](rmcp::model::InputRequiredResult) that lists the questions, and repeat the call with the answers. Meanwhile
//! the call is suspended and not started again: the steps before the question do not run twice.

mod answer_queue;
mod call_answer;
mod channels;
mod elicitation;
mod form;
mod links;
mod operator_queue;
mod push;
mod resumption;
mod suspended_calls;
#[cfg(test)]
mod tests;
mod user_questions;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_policy::{OPERATOR, Question};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext};

pub use answer_queue::AnswerOutcome;
pub(crate) use answer_queue::{Acceptance, OperatorQuestion};
pub use call_answer::OperatorAnswer;
pub(crate) use call_answer::{CallAnswer, MAX_FEEDBACK_CHARS};
pub(crate) use channels::LINK_PATH;
pub use elicitation::MAX_QUESTIONS;
pub(crate) use elicitation::{EarlyAnswers, ElicitationKinds, ElicitationMode, ElicitationSession};
pub(crate) use links::{ApprovalLink, LinkDecision, LinkError};
pub(crate) use operator_queue::CALLS;
pub use operator_queue::{OperatorPresence, PendingApprovals};
pub(crate) use push::SubscribeError;
pub(crate) use resumption::LinkedCall;
pub(crate) use suspended_calls::{RequestKey, SUSPENSION_TIME, SuspendedCalls, refused};
pub(crate) use user_questions::check_answer;

/// An approver that asks the user of the client that made a call. It asks a fallback approver if that client cannot
/// ask, or if no client made the call.
pub struct ClientApprover {
    operator: Arc<dyn Approver>,
}

impl ClientApprover {
    /// Creates an approver with `operator` as the fallback when no client can answer.
    #[expect(clippy::new_ret_no_self, reason = "it is only ever used as an approver")]
    pub fn new(operator: Arc<dyn Approver>) -> Arc<dyn Approver> {
        Arc::new(Self { operator })
    }
}

#[async_trait]
impl Approver for ClientApprover {
    async fn ask(&self, batch: &mut [ApprovalRequest], context: &CallContext) {
        // The user of the client makes the call.
        let needs_another = batch.iter().any(|asked| asked.question().requirement.four_eyes);
        if needs_another && batch.len() > 1 {
            let each = batch.chunks_mut(1).map(|asked| self.ask(asked, context));
            futures::future::join_all(each).await;
            return;
        }
        let approved_by = BTreeSet::new();
        if batch.iter().any(|asked| asked.question().requirement.refusal(OPERATOR, &approved_by).is_some()) {
            // The operator makes the call, and may not answer it either.
            for asked in batch {
                asked.answer = Some(Answer::Nobody);
            }
            return;
        }
        let asked = match context.reply_to.as_ref().filter(|_| !needs_another) {
            Some(client) => client.ask(batch).await,
            None => false,
        };
        if asked {
            name_approver(batch, |question| question.requirement.requester.as_str());
        } else {
            self.operator.ask(batch, context).await;
            name_approver(batch, |_| OPERATOR);
        }
    }

    async fn available(&self) {
        self.operator.available().await;
    }

    async fn ask_user(&self, question: &UserQuestion, context: &CallContext) -> UserAnswer {
        let answer = match &context.reply_to {
            Some(client) => client.ask_user(question).await,
            None => None,
        };
        match answer {
            Some(answer) => answer,
            None => self.operator.ask_user(question, context).await,
        }
    }

    /// Returns true. Clients connect and disconnect, and some can ask. An upstream server learns this value once,
    /// possibly before any client is connected; the client is determined when a call asks.
    fn has_user(&self) -> bool {
        true
    }
}

/// Names the person who has approved calls.
fn name_approver(batch: &mut [ApprovalRequest], person: impl Fn(&Question) -> &str) {
    for asked in batch {
        let approval = match &asked.answer {
            Some(Answer::Approved(approval)) => approval.clone(),
            _ => continue,
        };
        asked.answer = Some(Answer::Approved(approval.by(person(asked.question()))));
    }
}
