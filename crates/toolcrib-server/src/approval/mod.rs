//! Asking the user of a client.
//!
//! Who makes a call is asked about it through the client that it came from, by elicitation. Clients before revision 2026-07-28
//! get a request of ours in the middle of theirs. Later ones get an [answer](rmcp::model::InputRequiredResult) that says what
//! is wanted, and send the call once more with it. The call waits here meanwhile, and is not begun anew: what ran before
//! the question does not run twice.

mod at_desk;
mod desk;
mod form;
mod parked;
mod pending;
mod questions;

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_port::{Answer, ApprovalRequest, Approver};

pub(crate) use at_desk::AtDesk;
use at_desk::only_desk_of;
use desk::Asking;
pub use desk::{APPROVAL_PATIENCE, MAX_QUESTIONS};
pub(crate) use desk::{Desk, Early, Way};
pub use parked::MAX_PARKED_CALLS;
pub(crate) use parked::{Key, Parked};
pub(crate) use pending::MAX_FEEDBACK_CHARS;
pub use pending::{AnswerOutcome, MAX_WAITING, OperatorAnswer, OperatorPresence, PRESENCE, PendingApprovals};
pub use questions::MAX_WAITING_QUESTIONS;
pub(crate) use questions::{PendingQuestion, check_answer};

/// Asks the user of the client that a call came from; where the client cannot ask, or the call came from no client, somebody
/// else is asked.
pub struct ClientApprover {
    operator: Arc<dyn Approver>,
}

impl ClientApprover {
    /// `operator` is who answers where no client can.
    #[expect(clippy::new_ret_no_self, reason = "it is only ever used as an approver")]
    pub fn new(operator: Arc<dyn Approver>) -> Arc<dyn Approver> {
        Arc::new(Self { operator })
    }
}

#[async_trait]
impl Approver for ClientApprover {
    async fn ask(&self, batch: &mut [ApprovalRequest]) {
        let Some(desk) = Desk::current() else { return self.operator.ask(batch).await };
        let forms = batch.iter().map(|asked| form::of_call(asked.question())).collect::<Option<Vec<_>>>();
        let Some(forms) = forms else { return self.operator.ask(batch).await };
        let questions = forms.into_iter().map(|form| Asking { server: None, key: None, form }).collect();
        let asked = desk.ask(questions);
        // Each answer is put down as it comes, so that what is answered by the end of the time counts.
        let answering = batch.iter_mut().zip(asked).map(async |(asked, reply)| {
            asked.answer = Some(match reply.await {
                Some(result) => form::answer_of_call(asked.question(), &result),
                None => Answer::Nobody,
            });
        });
        futures::future::join_all(answering).await;
    }

    async fn ask_user(&self, question: &UserQuestion) -> UserAnswer {
        let desk = Desk::current().or_else(|| only_desk_of(&question.session));
        let Some(desk) = desk else { return self.operator.ask_user(question).await };
        let Some(form) = form::of_user(question) else { return UserAnswer::Nobody };
        let asking = Asking { server: question.server.as_deref(), key: question.key.as_deref(), form };
        let Some(reply) = desk.ask(vec![asking]).pop() else {
            return UserAnswer::Nobody;
        };
        match reply.await {
            Some(result) => form::answer_of_user(question, &result),
            None => UserAnswer::Nobody,
        }
    }

    /// Clients come and go, and some can ask. A server behind us learns it once, when there may be no client yet; who is there
    /// for the call that it asks in is looked for then.
    fn has_user(&self) -> bool {
        true
    }
}
