//! Approvals and questions that are answered by the user of a client.
//!
//! The user is asked through the client that made the call, by elicitation. Clients before revision 2026-07-28 receive
//! an elicitation request while they wait for their call. Later ones receive an
//! [answer](rmcp::model::InputRequiredResult) that lists the questions, and repeat the call with the answers. Meanwhile
//! the call is suspended and not started again: the steps before the question do not run twice.

mod answer_queue;
mod elicitation;
mod form;
mod operator_queue;
mod suspended_calls;
#[cfg(test)]
mod tests;
mod user_questions;

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_port::{ApprovalRequest, Approver, CallContext};

pub use elicitation::MAX_QUESTIONS;
pub(crate) use elicitation::{EarlyAnswers, ElicitationKinds, ElicitationMode, ElicitationSession};
pub(crate) use operator_queue::MAX_FEEDBACK_CHARS;
pub use operator_queue::{AnswerOutcome, OperatorAnswer, OperatorPresence, PendingApprovals};
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
        let asked = match &context.reply_to {
            Some(client) => client.ask(batch).await,
            None => false,
        };
        if !asked {
            self.operator.ask(batch, context).await;
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
